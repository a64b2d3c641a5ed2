// definitions/expressions: which secrets an expression names, and whether it only passes them on. While arguments are
// computed, a secret is not there yet, only a reference to it. So an expression may place it, alone or within a text,
// but can't compute with it.
//
// - Where lines compute the arguments of a step, `$secrets.NAME` is a mark with a random number that is drawn after
//   all data that the lines can read was there. The compiler lets expressions only pass it on
//   (`expressions/secret-uses.ts`): what computed with it would compute with the mark.
import type { AnyNode, Expression } from 'acorn'
import { SECRETS, secretNameFault } from '../../model/secret-reference.ts'
import { linkOf } from './chains.ts'
import { staticKey } from './names.ts'
import { parse } from './parse.ts'

export interface SecretUses {
  /** Names of the secrets in it. */
  readonly secrets: readonly string[]
  /** Whether its value contains a secret, named in it or in `carriers`. */
  readonly carries: boolean
  /** What it does with a secret that can't be done; null: nothing. */
  readonly fault: string | null
}

const COMPUTES =
  'a secret can only be passed on, alone or in a text such as `Bearer ${$secrets.NAME}`: nothing can be computed with it before the call'
const UNNAMED = `write ${SECRETS}.NAME: the secrets as a whole are not visible`

/**
 * The uses of secrets in an expression that compiles.
 *
 * @param carriers names whose values contain secrets
 */
export function secretUses(source: string, carriers: ReadonlySet<string>): SecretUses {
  const finder = new Finder(source, carriers)
  finder.place(parse(source).tree, 'value')
  const { secrets, carries, fault } = finder
  return { secrets: [...secrets], carries, fault }
}

/** Where a node's value goes: into the result as it is, or into a text. */
type Position = 'value' | 'text'

class Finder {
  readonly secrets = new Set<string>()
  carries = false
  fault: string | null = null
  readonly #source: string
  readonly #carriers: ReadonlySet<string>

  constructor(source: string, carriers: ReadonlySet<string>) {
    this.#source = source
    this.#carriers = carriers
  }

  /** Follows a node whose value is passed on. */
  place(marked: AnyNode, position: Position): void {
    const node = linkOf(marked)
    switch (node.type) {
      case 'Identifier':
      case 'MemberExpression':
        return this.#reference(node, position)
      case 'TemplateLiteral':
        return this.#all(node.expressions, 'text')
      case 'BinaryExpression':
        if (node.operator !== '+') return this.#computed(node)
        this.place(node.left, 'text')
        return this.place(node.right, 'text')
      case 'ConditionalExpression':
        this.#computed(node.test)
        return this.#all([node.consequent, node.alternate], position)
      case 'LogicalExpression':
        this.#computed(node.left)
        return this.place(node.right, position)
      case 'ArrayExpression':
        for (const element of node.elements)
          if (element !== null) this.#inside(element.type === 'SpreadElement' ? null : element, element, position)
        return
      case 'ObjectExpression':
        for (const property of node.properties)
          this.#inside(property.type === 'SpreadElement' ? null : property.value, property, position)
        return
      default:
        return this.#computed(node)
    }
  }

  #all(nodes: readonly Expression[], position: Position): void {
    for (const node of nodes) this.place(node, position)
  }

  /** A part of a new list or object, which must not become a text. `value` null: a spread. */
  #inside(value: AnyNode | null, whole: AnyNode, position: Position): void {
    if (value === null || position === 'text') this.#computed(whole)
    else this.place(value, position)
  }

  #reference(node: AnyNode, position: Position): void {
    const root = rootOf(node)
    if (root === SECRETS) return this.#secret(node)
    // What carries a secret may be a list or an object, whose text would be JSON.
    if (root !== null && this.#carriers.has(root)) {
      this.carries = true
      if (position === 'text' || readsText(node)) this.fault ??= COMPUTES
    }
    if (node.type === 'MemberExpression' && node.computed) this.#computed(node.property)
    if (root === null) this.#computed(node)
  }

  #secret(node: AnyNode): void {
    const isNamed = node.type === 'MemberExpression' && linkOf(node.object).type === 'Identifier'
    const name = isNamed ? staticKey(node, this.#source) : undefined
    this.carries = true
    if (name === undefined) this.fault ??= UNNAMED
    else {
      this.fault ??= secretNameFault(name)
      this.secrets.add(name)
    }
  }

  /** Looks for secrets in a node that computes with what is in it. */
  #computed(node: AnyNode): void {
    if (node.type === 'Identifier' && (node.name === SECRETS || this.#carriers.has(node.name))) {
      this.carries = true
      this.fault ??= COMPUTES
    }
    for (const part of partsOf(node)) this.#computed(part)
  }
}

/** Whether a path may read a piece of a text, or its length. */
function readsText(node: AnyNode): boolean {
  const at = linkOf(node)
  if (at.type !== 'MemberExpression') return false
  const { property, computed, object } = at
  const isKey = computed
    ? property.type === 'Literal' && typeof property.value === 'string'
    : property.type === 'Identifier' && property.name !== 'length'
  return !isKey || readsText(object)
}

/** The name at which a path such as `a.b['c']` begins; null: it begins with something else. */
function rootOf(node: AnyNode): string | null {
  let at = linkOf(node)
  while (at.type === 'MemberExpression') at = linkOf(at.object)
  return at.type === 'Identifier' ? at.name : null
}

/** The nodes in a node, without those that are only names of members. */
function partsOf(node: AnyNode): AnyNode[] {
  if (node.type === 'MemberExpression') return node.computed ? [node.object, node.property] : [node.object]
  if (node.type === 'Property') return node.computed ? [node.key, node.value] : [node.value]
  return Object.values(node).flatMap((part: unknown) =>
    Array.isArray(part) ? part.filter(isNode) : isNode(part) ? [part] : [],
  )
}

const isNode = (part: unknown): part is AnyNode =>
  typeof part === 'object' && part !== null && 'type' in part && typeof part.type === 'string' && 'start' in part
