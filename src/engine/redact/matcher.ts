// engine/redact: finds many patterns in a text in one pass (Aho and Corasick, 1975). The work is linear in the sizes of
// the text and of the patterns, not in their product.
import { REDACTED } from '../../model/secret-names.ts'
import { SEED, type PieceTable } from './pieces.ts'

/**
 * Maximum length of a pattern that matches only if no letter or digit is adjacent: `abc` in `key abc`, not in `abcdef`.
 */
export const SHORT = 7

export interface Matcher {
  /**
   * The text with each occurrence of a pattern replaced; the same string if there is none. `looked`: the text that is
   * searched instead, of the same length (in lower case, for example).
   */
  hide(text: string, looked?: string): string
}

/** The patterns to search for. */
export interface Patterns {
  /** Patterns that match anywhere. */
  readonly anywhere: Iterable<string>
  /** Patterns of at most 7 characters that match only if no letter or digit is adjacent. */
  readonly alone: Iterable<string>
  /** Pieces of one length that match anywhere. */
  readonly pieces: PieceTable
}

interface Tree {
  /** The next node, by node and character. */
  readonly edges: Edges
  /** By node: the node of its longest proper suffix that is in the tree. */
  readonly links: Int32Array
  /** By node: length of the longest `anywhere` pattern that ends there; 0: none. */
  readonly longest: Int32Array
  /** By node: a bit for each length of the `alone` patterns that end there. */
  readonly alone: Uint8Array
  readonly pieces: PieceTable
}

export function matcherOf(patterns: Patterns): Matcher {
  const tree = buildTree(patterns)
  return {
    hide: (text, looked = text) =>
      looked.length === text.length ? replaced(text, looked, tree) : replaced(text, text, tree),
  }
}

/** A hash table in typed arrays, because a client can send patterns of some hundred thousand characters. */
class Edges {
  readonly #froms: Int32Array
  readonly #codes: Uint16Array
  /** 0: there is no edge, because none leads to the root. */
  readonly #tos: Int32Array
  readonly #mask: number

  constructor(most: number) {
    const size = 2 ** Math.ceil(Math.log2(2 * most + 2))
    this.#froms = new Int32Array(size)
    this.#codes = new Uint16Array(size)
    this.#tos = new Int32Array(size)
    this.#mask = size - 1
  }

  /** The next node; 0: there is none. */
  get(from: number, code: number): number {
    return this.#tos[this.#placeOf(from, code)] ?? 0
  }

  set(from: number, code: number, to: number): void {
    const place = this.#placeOf(from, code)
    this.#froms[place] = from
    this.#codes[place] = code
    this.#tos[place] = to
  }

  #placeOf(from: number, code: number): number {
    let hash = Math.imul(from ^ SEED, 0x9e37_79b1) ^ Math.imul(code + 1, 0x85eb_ca6b)
    hash ^= hash >>> 15
    let place = hash & this.#mask
    while (this.#tos[place] !== 0 && (this.#froms[place] !== from || this.#codes[place] !== code))
      place = (place + 1) & this.#mask
    return place
  }
}

function buildTree({ anywhere, alone, pieces }: Patterns): Tree {
  const [long, short] = [[...anywhere], [...alone].filter(({ length }) => length <= SHORT)]
  const most = [...long, ...short].reduce((sum, { length }) => sum + length, 1)
  const tree: Tree = {
    edges: new Edges(most),
    links: new Int32Array(most),
    longest: new Int32Array(most),
    alone: new Uint8Array(most),
    pieces,
  }
  const [parents, codes, depths] = [new Int32Array(most), new Uint16Array(most), new Int32Array(most)]
  let nodes = 1
  const add = (pattern: string): number => {
    let node = 0
    for (let at = 0; at < pattern.length; at += 1) {
      const code = pattern.charCodeAt(at)
      const next = tree.edges.get(node, code)
      if (next === 0) {
        tree.edges.set(node, code, nodes)
        parents[nodes] = node
        codes[nodes] = code
        depths[nodes] = at + 1
      }
      node = next === 0 ? nodes++ : next
    }
    return node
  }
  for (const pattern of long) if (pattern !== '') tree.longest[add(pattern)] = pattern.length
  for (const pattern of short) if (pattern !== '') tree.alone[add(pattern)] = 1 << pattern.length
  // In the order of depth, so that the links of shorter suffixes exist when longer ones need them.
  for (const node of byDepth(depths.subarray(0, nodes))) {
    const parent = parents[node] ?? 0
    const suffix = depths[node] === 1 ? 0 : follow(tree, tree.links[parent] ?? 0, codes[node] ?? 0)
    tree.links[node] = suffix
    tree.longest[node] = Math.max(tree.longest[node] ?? 0, tree.longest[suffix] ?? 0)
    tree.alone[node] = (tree.alone[node] ?? 0) | (tree.alone[suffix] ?? 0)
  }
  return tree
}

/** All nodes except the root, by ascending depth (a counting sort). */
function byDepth(depths: Int32Array): Int32Array {
  const starts = new Int32Array(depths.reduce((most, depth) => Math.max(most, depth), 0) + 2)
  for (const depth of depths) starts[depth + 1] = (starts[depth + 1] ?? 0) + 1
  for (let depth = 1; depth < starts.length; depth += 1) starts[depth] = (starts[depth] ?? 0) + (starts[depth - 1] ?? 0)
  const nodes = new Int32Array(depths.length)
  for (const [node, depth] of depths.entries()) {
    const place = starts[depth] ?? 0
    nodes[place] = node
    starts[depth] = place + 1
  }
  return nodes.subarray(1)
}

function follow({ edges, links }: Tree, from: number, code: number): number {
  for (let node = from; ; node = links[node] ?? 0) {
    const next = edges.get(node, code)
    if (next !== 0) return next
    if (node === 0) return 0
  }
}

function replaced(text: string, looked: string, tree: Tree): string {
  const { pieces } = tree
  const found: { from: number; to: number }[] = []
  let node = 0
  for (let at = 0; at < text.length; at += 1) {
    node = follow(tree, node, looked.charCodeAt(at))
    let length = tree.longest[node] ?? 0
    const alone = tree.alone[node] ?? 0
    if (alone !== 0) length = Math.max(length, longestAlone(alone, text, at + 1))
    if (length < pieces.length && !pieces.isEmpty && pieces.hasAt(looked, at + 1 - pieces.length))
      length = pieces.length
    if (length > 0) take(found, at + 1 - length, at + 1)
  }
  if (found.length === 0) return text
  let result = ''
  let after = 0
  for (const { from, to } of found) {
    result += text.slice(after, from) + REDACTED
    after = to
  }
  return result + text.slice(after)
}

/** The longest of the lengths at which the match that ends there has no adjacent letter or digit; 0: none. */
function longestAlone(lengths: number, text: string, end: number): number {
  for (let own = SHORT; own > 0; own -= 1) if ((lengths & (1 << own)) !== 0 && isAlone(text, end - own, end)) return own
  return 0
}

/** Adds a match. Matches that overlap or touch are merged. */
function take(found: { from: number; to: number }[], from: number, to: number): void {
  let start = from
  for (let last = found.at(-1); last !== undefined && last.to >= start; last = found.at(-1)) {
    start = Math.min(start, last.from)
    found.pop()
  }
  found.push({ from: start, to })
}

const isAlone = (text: string, from: number, to: number): boolean => !isWordAt(text, from - 1) && !isWordAt(text, to)

function isWordAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  // `code` is NaN beyond the ends of the text.
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code > 127
}
