// definitions/expressions: which secrets an expression names, and whether it only passes them on. Where lines compute
// the arguments of a step, `$secrets.NAME` is not the secret but a mark, with a random number that is drawn after all
// data that the lines can read was there. So an expression may place it, alone or within a text, but can't compute with
// it.
import type { AnyNode } from 'acorn'
import { SECRETS, secretNameFault } from '../../model/secret-reference.ts'
import { linkOf, pathOf } from './nodes.ts'
import { parse } from './parse.ts'

export interface SecretUses {
  /** Names of the secrets in it. */
  readonly secrets: readonly string[]
  /** What it does with a secret that can't be done; null: nothing. */
  readonly fault: string | null
}

const COMPUTES =
  'a secret can only be passed on, alone or in a text such as `Bearer ${$secrets.NAME}`: nothing can be computed with it before the call'
const UNNAMED = `write ${SECRETS}.NAME: the secrets as a whole are not visible`

/** Where a node's value goes: into the result as it is, into a text, or into a computation. */
type Use = 'value' | 'text' | 'computed'

/** The uses of secrets in an expression that compiles. */
export function secretUses(source: string): SecretUses {
  const secrets = new Set<string>()
  let fault: string | null = null
  const visit = (node: AnyNode, use: Use): void => {
    const path = pathOf(node, new Map())
    const [root = '', name = '', ...more] = path ?? []
    if (root === SECRETS) {
      if (use === 'computed') fault ??= COMPUTES
      else {
        fault ??= name === '' || more.length > 0 ? UNNAMED : secretNameFault(name)
        secrets.add(name)
      }
    } else if (path === null) {
      for (const [part, child] of partsOf(linkOf(node))) visit(child, useOf(linkOf(node), part, use))
    }
  }
  visit(parse(source).tree, 'value')
  return { secrets: [...secrets], fault }
}

/** Where the value of a part of a node goes, if that of the node itself goes to `use`. */
function useOf(node: AnyNode, part: string, use: Use): Use {
  if (use === 'computed') return use
  switch (node.type) {
    case 'TemplateLiteral':
      return 'text'
    case 'BinaryExpression':
      return node.operator === '+' ? 'text' : 'computed'
    case 'ConditionalExpression':
      return part === 'test' ? 'computed' : use
    case 'LogicalExpression':
      return part === 'right' ? use : 'computed'
    case 'ArrayExpression':
    case 'ObjectExpression':
      // Its text would be JSON.
      return use === 'value' ? use : 'computed'
    case 'Property':
      return part === 'value' ? use : 'computed'
    default:
      return 'computed'
  }
}

/** The nodes in a node, without those that are only names of members. */
const partsOf = (node: AnyNode): [string, AnyNode][] =>
  Object.entries(node).flatMap(([part, value]: [string, unknown]) => {
    if ((part === 'property' || part === 'key') && 'computed' in node && !node.computed) return []
    return [value]
      .flat()
      .filter(isNode)
      .map((child): [string, AnyNode] => [part, child])
  })

const isNode = (part: unknown): part is AnyNode =>
  typeof part === 'object' && part !== null && 'type' in part && typeof part.type === 'string' && 'start' in part
