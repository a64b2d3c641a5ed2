// definitions/expressions: names that are constants in an expression: keys of members, and parameters.
import type { AnyNode, Expression, MemberExpression, Pattern } from 'acorn'
import { linkOf } from './chains.ts'
import { ExpressionFault } from './expression.ts'
import { literalValue } from './literals.ts'
import { unexpected } from './unexpected.ts'

/** The key of a member expression if it is a constant; undefined if it is computed. */
export function staticKey({ computed, property }: MemberExpression, source: string): string | undefined {
  if (!computed) return property.type === 'Identifier' ? property.name : undefined
  if (property.type !== 'Literal') return undefined
  const value = literalValue(property, source)
  return typeof value === 'string' ? value : undefined
}

/** The name and the constant keys of a member expression, as a list of one path; empty if it begins with no free name. */
export function memberPath(
  node: MemberExpression,
  source: string,
  parameters: ReadonlyMap<string, unknown>,
): string[][] {
  const [object, key] = [linkOf(node.object), staticKey(node, source)]
  if (key === undefined) return []
  if (object.type === 'Identifier') return parameters.has(object.name) ? [] : [[object.name, key]]
  return object.type === 'MemberExpression' ? memberPath(object, source, parameters).map((path) => [...path, key]) : []
}

/**
 * The key of a member of an object literal, which must not be computed.
 * @throws ExpressionFault for another kind of key
 */
export function keyName(key: Expression, source: string): string {
  if (key.type === 'Identifier') return key.name
  if (key.type === 'Literal') return String(literalValue(key, source))
  throw unexpected(source, key.start)
}

/** Whether a node is `$request.headers` or `$response.headers`, in any notation, and no parameter hides the name. */
export function isHeaders(object: AnyNode, source: string, parameters: ReadonlyMap<string, unknown>): boolean {
  const node = linkOf(object)
  return (
    node.type === 'MemberExpression' &&
    staticKey(node, source) === 'headers' &&
    node.object.type === 'Identifier' &&
    !parameters.has(node.object.name) &&
    (node.object.name === '$request' || node.object.name === '$response')
  )
}

/** Maximum number of parameters of an arrow function. */
const MAX_PARAMETERS = 4

/**
 * The names of the parameters of an arrow function.
 * @throws ExpressionFault for too many parameters, equal names, or patterns
 */
export function parameterNames(parameters: readonly Pattern[], start: number): string[] {
  const names = parameters.map((parameter) => (parameter.type === 'Identifier' ? parameter.name : 'undefined'))
  if (names.includes('undefined') || new Set(names).size < names.length || names.length > MAX_PARAMETERS) {
    throw new ExpressionFault(`a function has up to ${MAX_PARAMETERS} parameters, different plain names,`, start)
  }
  return names
}
