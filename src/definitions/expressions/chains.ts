// definitions/expressions: chains of properties and calls, which a `?.` may cut short, and functions among their arguments.
import type { ArrowExpression } from '@jsep-plugin/arrow'
import type jsep from 'jsep'
import type { Invocation } from './calls.ts'
import type { Code, Fields } from './evaluation.ts'
import { isNode } from './parse.ts'

/** What the links of a chain pass on after a `?.` that met null: the rest of the chain is skipped. */
export const SKIPPED: Fields = Object.freeze({})

/** Whether a `?.` in a chain may cut it short. */
export function skips(node: jsep.Expression): boolean {
  if (!isNode(node)) return false
  if (node.type === 'CallExpression') return isNode(node.callee) && node.callee.type === 'MemberExpression' && skips(node.callee)
  return node.type === 'MemberExpression' && (node.optional === true || skips(node.object))
}

export function linked(target: Code, node: jsep.MemberExpression, invoke: Invocation): Code {
  if (!skips(node)) return (run) => invoke(run, target(run))
  const { optional = false } = node
  return (run) => {
    const value = target(run)
    return value === SKIPPED || (optional && (value === null || value === undefined)) ? SKIPPED : invoke(run, value)
  }
}

/** The parser takes `() => a ? b : c` for `(() => a) ? b : c`, which has no meaning here. */
export function arrowOf(node: jsep.Expression): ArrowExpression | undefined {
  if (!isNode(node)) return undefined
  if (node.type === 'ArrowFunctionExpression') return node
  const test = node.type === 'ConditionalExpression' ? arrowOf(node.test) : undefined
  return test && { ...test, body: { ...node, test: test.body } }
}
