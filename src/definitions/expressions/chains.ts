// definitions/expressions: chains of properties and calls, which a `?.` may cut short. Parentheses around a part change
// nothing.
import type { AnyNode, MemberExpression } from 'acorn'
import type { Invocation } from './calls.ts'
import type { Code, Fields } from './evaluation.ts'

/** What the links of a chain pass on after a `?.` that met null: the rest of the chain is skipped. */
export const SKIPPED: Fields = Object.freeze({})

/** A link of a chain without the mark that a chain ends with it. */
export const linkOf = (node: AnyNode): AnyNode => (node.type === 'ChainExpression' ? node.expression : node)

/** Whether a `?.` in a chain may cut it short. */
export function skips(node: AnyNode): boolean {
  const link = linkOf(node)
  if (link.type === 'CallExpression') return skips(link.callee)
  return link.type === 'MemberExpression' && (link.optional || skips(link.object))
}

export function linked(target: Code, node: MemberExpression, invoke: Invocation): Code {
  if (!skips(node)) return (run) => invoke(run, target(run))
  const { optional } = node
  return (run) => {
    const value = target(run)
    return value === SKIPPED || (optional && (value === null || value === undefined)) ? SKIPPED : invoke(run, value)
  }
}
