// definitions/expressions: what parts of a syntax tree say by themselves: constant keys and paths, literals, chains.
import type { AnyNode, Literal, MemberExpression } from 'acorn'
import { ExpressionFault } from './expression.ts'
import { unexpected } from './parse.ts'

/** The node without the ChainExpression around it, which marks the end of a chain. */
export const linkOf = (node: AnyNode): AnyNode => (node.type === 'ChainExpression' ? node.expression : node)

/** Whether a chain of properties and calls has a `?.`, and can be short-circuited. */
export function skips(node: AnyNode): boolean {
  const link = linkOf(node)
  if (link.type === 'CallExpression') return skips(link.callee)
  return link.type === 'MemberExpression' && (link.optional || skips(link.object))
}

/** The key of a member expression if it is a constant; undefined if it is computed. */
export function staticKey({ computed, property }: MemberExpression): string | undefined {
  if (!computed) return property.type === 'Identifier' ? property.name : undefined
  return property.type === 'Literal' && typeof property.value === 'string' ? property.value : undefined
}

/**
 * The name at which a chain of properties begins, and their constant keys; null if it begins with something else, or
 * has a computed key.
 */
export function pathOf(node: AnyNode, parameters: ReadonlyMap<string, unknown>): string[] | null {
  const link = linkOf(node)
  if (link.type === 'Identifier') return parameters.has(link.name) ? null : [link.name]
  if (link.type !== 'MemberExpression') return null
  const path = pathOf(link.object, parameters)
  const key = staticKey(link)
  if (path === null || key === undefined) return null
  path.push(key)
  return path
}

const NOT_DECIMAL = /^0[\dxob]|_/i
const OCTAL_ESCAPE = /\\(?:[1-9]|0\d)/

/** The value of a literal. Numbers must be decimal. Octal escapes are refused, as in strict mode. */
export function literalValue({ value, raw = '', start }: Literal, source: string): string | number | boolean | null {
  if (typeof value === 'string' && OCTAL_ESCAPE.test(raw.replaceAll('\\\\', '__'))) {
    throw new ExpressionFault(`an octal escape in ${raw}`, start)
  }
  if (typeof value === 'number' && NOT_DECIMAL.test(raw))
    throw new ExpressionFault(`'${raw}' is no decimal number,`, start)
  if (typeof value === 'bigint' || value instanceof RegExp || value === undefined) throw unexpected(source, start)
  return value
}
