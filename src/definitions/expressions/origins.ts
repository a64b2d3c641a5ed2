// definitions/expressions: which parts of a request an expression's value is made of, found without evaluating it. More
// may be said than is so, never less.
import type {
  AnyNode,
  ArrowFunctionExpression,
  BinaryExpression,
  CallExpression,
  LogicalExpression,
  ObjectExpression,
} from 'acorn'
import { isSecretName } from '../../model/secret-names.ts'
import { linkOf } from './chains.ts'
import { parse } from './parse.ts'

/** That a part of the request is carried by a value. */
export interface RequestOrigin {
  /** Where in the value. */
  readonly at: readonly string[]
  /** What of `$request`: empty for all of it, `headers`, `headers` and a name in lower case, … */
  readonly path: readonly string[]
  /**
   * `whole`: what lies at `at` is the part itself. `cut`: something made of it, such as a piece of its text. `inside`:
   * all of it is somewhere below `at`, or in the text there. `returned`: a function that was given it may have passed
   * it on.
   */
  readonly kind: 'whole' | 'cut' | 'inside' | 'returned'
}

export type Origins = readonly RequestOrigin[]
/** What a visible name carries. */
export type Lookup = (name: string) => Origins

export const NO_ORIGINS: Origins = []
/** Origins of one value beyond which only the parts are kept, and not where they lie. */
const MOST = 64
/** Names below which a place isn't told any more. */
const DEEPEST = 16

/** Parts of the request that hold secrets. What lies in the others is the sender's data. */
const PARTS: ReadonlySet<string> = new Set(['headers', 'cookies', 'parameters', 'uri'])

/** Methods and functions that give a truth, a place or a size, and nothing of what they look at. */
const TELLS_NOTHING: ReadonlySet<string> = new Set([
  'includes',
  'indexOf',
  'lastIndexOf',
  'startsWith',
  'endsWith',
  'localeCompare',
  'some',
  'every',
  'findIndex',
  'findLastIndex',
  'size',
  'keys',
  'now',
  'uuid',
  'random',
])
const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '===', '!==', '<', '<=', '>', '>='])
/** Functions that make one text of all that they are given. */
const WRITERS: ReadonlySet<string> = new Set(['json', 'string'])

/** Of what the expression gives. One that can't be parsed carries nothing: it is never evaluated. */
export function expressionOrigins(source: string, lookup: Lookup): Origins {
  try {
    return tidy(new Tracer(lookup).of(parse(source, { pinned: true }).tree))
  } catch {
    return NO_ORIGINS
  }
}

/** Of the value at a key; null: at some key, or element. */
export const memberOrigins = (origins: Origins, key: string | null): Origins =>
  origins.flatMap((origin) => member(origin, key) ?? [])

/** As one value, of which nobody knows where what lies. */
export const mixed = (origins: Origins): Origins =>
  tidy(
    origins.map(({ path, kind }) => ({
      at: [],
      path,
      kind: kind !== 'whole' ? kind : isLeaf(path) ? 'cut' : 'inside',
    })),
  )

/** What a function may make of what it is given. */
export const returned = (origins: Origins): Origins =>
  mixed(origins).map((origin) => (origin.kind === 'cut' ? { ...origin, kind: 'returned' } : origin))

/** The same value, laid into another. */
export const laidAt = (path: readonly string[], origins: Origins): Origins =>
  origins.map((origin) => ({ ...origin, at: [...path, ...origin.at] }))

/** Without what is there twice, and neither too many nor too deep. */
export function tidy(origins: Origins): Origins {
  if (origins.length < 2 && (origins[0]?.at.length ?? 0) <= DEEPEST) return origins
  const distinct = new Map(origins.map((origin) => [JSON.stringify([origin.at, origin.path, origin.kind]), origin]))
  const kept = [...distinct.values()]
  if (kept.length <= MOST && kept.every(({ at }) => at.length <= DEEPEST)) return kept
  return kept.some(({ at }) => at.length > 0)
    ? mixed(kept)
    : kept.slice(0, 1).map(({ at }) => ({ at, path: [], kind: 'cut' }))
}

/** One value of a request, and no collection of them. */
const isLeaf = ([part, name]: readonly string[]): boolean => name !== undefined || part === 'uri'

function member({ at, path, kind }: RequestOrigin, key: string | null): RequestOrigin | null {
  const [next, ...below] = at
  if (next !== undefined) {
    if (key === null || key === next) return { at: below, path, kind }
    // A list of named elements is read by their names.
    return /^\d+$/.test(next) && !/^\d+$/.test(key) && key !== 'length' ? { at: [], path, kind: 'cut' } : null
  }
  if (key === 'length') return null
  if (kind !== 'whole') return { at, path, kind: kind === 'returned' ? 'returned' : 'cut' }
  const [part] = path
  if (part === undefined)
    return key === null ? { at, path, kind: 'inside' } : PARTS.has(key) ? { at, path: [key], kind } : null
  if (isLeaf(path) || key === null || (part !== 'parameters' && /^\d+$/.test(key))) return { at, path, kind: 'cut' }
  // Of a name that says nothing of a secret; any cookie is one.
  return part === 'cookies' || isSecretName(key)
    ? { at, path: [part, part === 'headers' ? key.toLowerCase() : key], kind }
    : null
}

class Tracer {
  readonly #lookup: Lookup
  #parameters: ReadonlyMap<string, Origins> = new Map()

  constructor(lookup: Lookup) {
    this.#lookup = lookup
  }

  of(node: AnyNode | null): Origins {
    switch (node?.type) {
      case 'Identifier':
        return this.#parameters.get(node.name) ?? this.#lookup(node.name)
      case 'MemberExpression':
        return memberOrigins(this.of(node.object), keyOf(node.computed, node.property))
      case 'ChainExpression':
        return this.of(node.expression)
      case 'CallExpression':
        return this.#call(node)
      case 'UnaryExpression':
        return node.operator === '!' ? NO_ORIGINS : mixed(this.of(node.argument))
      case 'BinaryExpression':
        return this.#binary(node)
      case 'LogicalExpression':
        return this.#both(node)
      case 'ConditionalExpression':
        return [...this.of(node.consequent), ...this.of(node.alternate)]
      case 'ArrayExpression':
        return this.#list(node.elements)
      case 'ObjectExpression':
        return this.#object(node)
      case 'TemplateLiteral':
        return mixed(this.#all(node.expressions))
      case 'ArrowFunctionExpression':
        return this.of(node.body)
      case 'SpreadElement':
        return mixed(this.of(node.argument))
      // A literal, or what doesn't compile.
      default:
        return NO_ORIGINS
    }
  }

  #all(nodes: readonly (AnyNode | null)[]): Origins {
    return nodes.flatMap((node) => this.of(node))
  }

  #both({ left, right }: BinaryExpression | LogicalExpression): Origins {
    return [...this.of(left), ...this.of(right)]
  }

  #binary(node: BinaryExpression): Origins {
    return COMPARISONS.has(node.operator) ? NO_ORIGINS : mixed(this.#both(node))
  }

  #list(elements: readonly (AnyNode | null)[]): Origins {
    const isSpread = elements.some((element) => element?.type === 'SpreadElement')
    return tidy(
      isSpread
        ? mixed(this.#all(elements))
        : elements.flatMap((element, index) => laidAt([String(index)], this.of(element))),
    )
  }

  #object({ properties }: ObjectExpression): Origins {
    return tidy(
      properties.flatMap((property) => {
        if (property.type === 'SpreadElement') return mixed(this.of(property))
        const name = keyOf(property.computed, property.key)
        // A key may be made of a secret, too.
        return name === null
          ? mixed([...this.of(property.key), ...this.of(property.value)])
          : laidAt([name], this.of(property.value))
      }),
    )
  }

  #call({ callee: marked, arguments: args }: CallExpression): Origins {
    const callee = linkOf(marked)
    if (callee.type !== 'MemberExpression') {
      const name = callee.type === 'Identifier' ? callee.name : ''
      if (TELLS_NOTHING.has(name)) return NO_ORIGINS
      return WRITERS.has(name) ? mixed(this.#all(args)) : taken(this.#all(args))
    }
    const method = keyOf(callee.computed, callee.property) ?? ''
    if (TELLS_NOTHING.has(method)) return NO_ORIGINS
    const target = this.of(callee.object)
    const [first, ...others] = args
    if (first?.type !== 'ArrowFunctionExpression') return taken([...target, ...this.#all(args)])
    const made = this.#callback(first, [...memberOrigins(target, null), ...mixed(target), ...this.#all(others)])
    // What `map` makes comes from its function alone, `filter` and others choose.
    return taken(method === 'map' || method === 'flatMap' ? made : [...target, ...made, ...this.#all(others)])
  }

  #callback({ params, body }: ArrowFunctionExpression, given: Origins): Origins {
    const outer = this.#parameters
    const own = params.flatMap((param) => (param.type === 'Identifier' ? [[param.name, tidy(given)] as const] : []))
    this.#parameters = new Map([...outer, ...own])
    const made = this.of(body)
    this.#parameters = outer
    return made
  }
}

/** What functions and methods make of headers, cookies and parameters are texts of them, more often than not. */
const taken = (origins: Origins): Origins =>
  mixed(origins).map((origin) =>
    origin.kind === 'inside' && origin.path.length > 0 ? { ...origin, kind: 'cut' } : origin,
  )

/** The key of a member that is written out; null: it is worked out. */
function keyOf(computed: boolean, key: AnyNode): string | null {
  if (key.type === 'Literal') return String(key.value)
  return !computed && key.type === 'Identifier' ? key.name : null
}
