// definitions/expressions: the faults of misplaced tokens, and of nodes, functions and methods that the language does
// not support.
import { tokTypes, type AnyNode } from 'acorn'
import { suggestion } from '../../model/nearest.ts'
import { ExpressionFault } from './expression.ts'

const OPERATOR = String.raw`=>|\.\.\.|\?\.(?!\d)|[=!]==?|>>>?=?|(?:<<|\*\*|&&|\|\||\?\?)=?|\+\+|--|[-+*/%&|^<>]=?`
const TOKEN = new RegExp(String.raw`[\p{ID_Continue}$]+|${OPERATOR}|[^]`, 'uy')
const VALUES: ReadonlySet<string> = new Set(['null', 'true', 'false'])
const KEYWORDS = Object.values(tokTypes).flatMap(({ keyword }) => keyword ?? [])
const RESERVED: ReadonlySet<string> = new Set(KEYWORDS.filter((word) => !VALUES.has(word)))

/** Whether a word is reserved in JavaScript and is not a value such as `null`. */
export const isReserved = (word: string): boolean => RESERVED.has(word)

export function unexpected(source: string, at: number): ExpressionFault {
  const token = matchAt(TOKEN, source, at)
  return new ExpressionFault(`unexpected '${token}'${isReserved(token) ? " (a word of JavaScript's own)" : ''}`, at)
}

/** Returns what a sticky pattern matches at an index; empty if nothing. */
export function matchAt(pattern: RegExp, source: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0] ?? ''
}

const AFTER_OPERAND = /[\s)]*/y

/** Index of the token after an operand. */
export function afterOperand(operand: AnyNode | undefined, source: string): number {
  const end = operand?.end ?? 0
  return end + matchAt(AFTER_OPERAND, source, end).length
}

export function refused(node: AnyNode, source: string): ExpressionFault {
  switch (node.type) {
    case 'AssignmentExpression':
      return unexpected(source, afterOperand(node.left, source))
    case 'UpdateExpression':
      return unexpected(source, node.prefix ? node.start : afterOperand(node.argument, source))
    case 'SequenceExpression':
      return unexpected(source, afterOperand(node.expressions[0], source))
    case 'TaggedTemplateExpression':
      return new ExpressionFault('a template with a tag', node.quasi.start)
    default:
      return unexpected(source, node.start)
  }
}

/** The fault of an unknown function or method. `known`: those that exist. */
export const unknownName = (
  kind: string,
  name: string,
  known: readonly string[],
  { start }: AnyNode,
): ExpressionFault =>
  new ExpressionFault(`unknown ${kind} '${name}'${suggestion(name, known)} (there are ${known.join(', ')})`, start)
