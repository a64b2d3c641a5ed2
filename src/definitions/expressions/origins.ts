// definitions/expressions: static analysis of the parts of a request that an expression's value may contain. The result
// may include too many parts, but never too few.
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

/** A part of the request that a value may contain. */
export interface RequestOrigin {
  /** Path within the value. */
  readonly at: readonly string[]
  /** Path within `$request`: empty for all of it, `headers`, `headers` and a name in lower case, … */
  readonly path: readonly string[]
  /**
   * `whole`: the value at `at` is the part itself. `cut`: it is derived from the part, such as a piece of its text.
   * `inside`: the whole part is somewhere below `at`, or in the text there. `returned`: a function that got the part
   * may have returned it.
   */
  readonly kind: 'whole' | 'cut' | 'inside' | 'returned'
}

export type Origins = readonly RequestOrigin[]
/** Returns the origins of the value of a visible name. */
export type Lookup = (name: string) => Origins

export const NO_ORIGINS: Origins = []
/** Maximum number of origins of one value. If there are more, their paths are dropped and only the parts are kept. */
const MAX_ORIGINS = 64
/** Maximum length of the path of an origin. */
const MAX_PATH_NAMES = 16

/** Parts of the request that may contain secrets. The other parts are the sender's data. */
const PARTS: ReadonlySet<string> = new Set(['headers', 'cookies', 'parameters', 'uri'])

/**
 * Methods and functions that return a boolean, a position, a size, keys or a generated value, and nothing of the values
 * that they read.
 */
const CARRIES_NOTHING: ReadonlySet<string> = new Set([
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
/** Functions that return one text made of all their arguments. */
const WRITERS: ReadonlySet<string> = new Set(['json', 'string'])

/** Returns the origins of an expression's value. An expression that can't be parsed has none: it is never evaluated. */
export function expressionOrigins(source: string, lookup: Lookup): Origins {
  try {
    return tidy(new Tracer(lookup).of(parse(source, { pinned: true }).tree))
  } catch {
    return NO_ORIGINS
  }
}

/** Returns the origins of the value at a key, or, for null, at any key or element. */
export const memberOrigins = (origins: Origins, key: string | null): Origins =>
  origins.flatMap((origin) => member(origin, key) ?? [])

/** Returns the origins of one value in which the parts may be anywhere. */
export const mixed = (origins: Origins): Origins =>
  tidy(
    origins.map(({ path, kind }) => ({
      at: [],
      path,
      kind: kind !== 'whole' ? kind : isLeaf(path) ? 'cut' : 'inside',
    })),
  )

/** Returns the origins of what a function may return, given the origins of its arguments. */
export const returned = (origins: Origins): Origins =>
  mixed(origins).map((origin) => (origin.kind === 'cut' ? { ...origin, kind: 'returned' } : origin))

/** Returns the origins of a value that contains this value at a path. */
export const laidAt = (path: readonly string[], origins: Origins): Origins =>
  origins.map((origin) => ({ ...origin, at: [...path, ...origin.at] }))

/** Removes duplicates, and limits the number of the origins and the length of their paths. */
export function tidy(origins: Origins): Origins {
  if (origins.length < 2 && (origins[0]?.at.length ?? 0) <= MAX_PATH_NAMES) return origins
  const distinct = new Map(origins.map((origin) => [JSON.stringify([origin.at, origin.path, origin.kind]), origin]))
  const kept = [...distinct.values()]
  if (kept.length <= MAX_ORIGINS && kept.every(({ at }) => at.length <= MAX_PATH_NAMES)) return kept
  return kept.some(({ at }) => at.length > 0)
    ? mixed(kept)
    : kept.slice(0, 1).map(({ at }) => ({ at, path: [], kind: 'cut' }))
}

/** Whether the path refers to a single value of the request, and not to a collection. */
const isLeaf = ([part, name]: readonly string[]): boolean => name !== undefined || part === 'uri'

function member({ at, path, kind }: RequestOrigin, key: string | null): RequestOrigin | null {
  const [next, ...below] = at
  if (next !== undefined) {
    if (key === null || key === next) return { at: below, path, kind }
    // A name may select an element of a list of named elements.
    return /^\d+$/.test(next) && !/^\d+$/.test(key) && key !== 'length' ? { at: [], path, kind: 'cut' } : null
  }
  if (key === 'length') return null
  if (kind !== 'whole') return { at, path, kind: kind === 'returned' ? 'returned' : 'cut' }
  const [part] = path
  if (part === undefined)
    return key === null ? { at, path, kind: 'inside' } : PARTS.has(key) ? { at, path: [key], kind } : null
  if (isLeaf(path) || key === null || (part !== 'parameters' && /^\d+$/.test(key))) return { at, path, kind: 'cut' }
  // Only names of secrets are tracked; any cookie counts as a secret.
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
      // A literal, or a node that does not compile.
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
        // A computed key may contain a secret, too.
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
      if (CARRIES_NOTHING.has(name)) return NO_ORIGINS
      return WRITERS.has(name) ? mixed(this.#all(args)) : resultOf(this.#all(args))
    }
    const method = keyOf(callee.computed, callee.property) ?? ''
    if (CARRIES_NOTHING.has(method)) return NO_ORIGINS
    const target = this.of(callee.object)
    const [first, ...others] = args
    if (first?.type !== 'ArrowFunctionExpression') return resultOf([...target, ...this.#all(args)])
    const made = this.#callback(first, [...memberOrigins(target, null), ...mixed(target), ...this.#all(others)])
    // The result of `map` comes only from its function; `filter` and others return elements of the list.
    return resultOf(method === 'map' || method === 'flatMap' ? made : [...target, ...made, ...this.#all(others)])
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

/**
 * Origins of the result of a function or method. Headers, cookies and parameters within its arguments count as cut,
 * since results mostly contain pieces of them.
 */
const resultOf = (origins: Origins): Origins =>
  mixed(origins).map((origin) =>
    origin.kind === 'inside' && origin.path.length > 0 ? { ...origin, kind: 'cut' } : origin,
  )

/** The key of a member if it is a constant; null if it is computed. */
function keyOf(computed: boolean, key: AnyNode): string | null {
  if (key.type === 'Literal') return String(key.value)
  return !computed && key.type === 'Identifier' ? key.name : null
}
