// definitions/expressions: from source to syntax tree. jsep keeps its operators and plugins for the whole process: they are registered here, once.
import arrow from '@jsep-plugin/arrow'
import type { ArrowExpression } from '@jsep-plugin/arrow'
import object from '@jsep-plugin/object'
import type { ObjectExpression, Property } from '@jsep-plugin/object'
import spread from '@jsep-plugin/spread'
import type { SpreadElement } from '@jsep-plugin/spread'
import template from '@jsep-plugin/template'
import type { TemplateLiteral } from '@jsep-plugin/template'
import jsep from 'jsep'
import { ExpressionFault } from './expression.ts'
import { MAX_LENGTH, scan } from './scan.ts'

jsep.plugins.register(template, object, arrow, spread)

/** The nodes that make up the language. */
export type Node =
  | jsep.Literal | jsep.Identifier | jsep.MemberExpression | jsep.CallExpression | jsep.UnaryExpression | jsep.BinaryExpression
  | jsep.ConditionalExpression | jsep.ArrayExpression | ObjectExpression | TemplateLiteral | ArrowExpression | SpreadElement

const NODE_TYPES: ReadonlySet<string> = new Set<Node['type']>([
  'Literal', 'Identifier', 'MemberExpression', 'CallExpression', 'UnaryExpression', 'BinaryExpression',
  'ConditionalExpression', 'ArrayExpression', 'ObjectExpression', 'TemplateLiteral', 'ArrowFunctionExpression', 'SpreadElement',
])

/** False for what the parser knows and the language doesn't: `this`, sequences, tagged templates, … */
export const isNode = (node: jsep.Expression): node is Node => NODE_TYPES.has(node.type)

export const isProperty = (node: jsep.Expression): node is Property => node.type === 'Property'

export interface Syntax {
  readonly tree: jsep.Expression
  /** Where each token first stands. */
  readonly places: ReadonlyMap<string, number>
}

/** @throws ExpressionFault */
export function parse(source: string): Syntax {
  if (source.length > MAX_LENGTH) throw new ExpressionFault(`an expression longer than ${MAX_LENGTH} characters`, MAX_LENGTH)
  const { places } = scan(source)
  try {
    return { tree: jsep(source), places }
  } catch (error) {
    throw error instanceof Error && 'description' in error && 'index' in error
      ? new ExpressionFault(String(error.description), Number(error.index))
      : new ExpressionFault('an expression that can\'t be read', 0)
  }
}
