// definitions/expressions: chains of properties and calls, which `?.` can short-circuit. Unlike in JavaScript,
// parentheses around a part do not limit that.
import type { AnyNode, MemberExpression } from 'acorn'
import type { Invocation } from './calls.ts'
import type { Code, Fields } from './evaluation.ts'

/**
 * The value that the links of a chain pass on after `?.` found null or undefined, so that the rest of the chain is
 * skipped.
 */
export const SKIPPED: Fields = Object.freeze({})

/** The node without the ChainExpression around it, which marks the end of a chain. */
export const linkOf = (node: AnyNode): AnyNode => (node.type === 'ChainExpression' ? node.expression : node)

/** Whether a chain has a `?.`, and can be short-circuited. */
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
