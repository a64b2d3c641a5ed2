// runtime/redact: finds many patterns in a text in one pass (Aho and Corasick, 1975): the work grows with the text and with the
// patterns, never with
// their product.
import { REDACTED } from '../../model/secret-names.ts'

/** Characters up to which a pattern only counts where no letter or digit touches it: `abc` in `key abc`, not in `abcdef`. */
export const SHORT = 7

export interface Matcher {
  /**
   * The text with each occurrence of a pattern replaced; the same if there is none. `looked`: where they are looked for, of the same
   * length.
   */
  hide(text: string, looked?: string): string
}

interface Tree {
  /** By node and character: the node that follows. */
  readonly edges: Map<number, number>
  /** By node: the longest suffix of what it stands for that is a node as well. */
  readonly links: number[]
  /** By node: length of the longest pattern that ends there and counts anywhere; 0: none does. */
  readonly longest: number[]
  /** By node: lengths of those that count only by themselves. */
  readonly alone: (readonly number[])[]
}

const NONE: readonly number[] = []
const keyOf = (node: number, code: number): number => node * 65_536 + code

/**
 * @param anywhere patterns that count wherever they stand
 * @param alone patterns of at most 7 characters that count only where no letter or digit touches them
 */
export function matcherOf(anywhere: Iterable<string>, alone: Iterable<string>): Matcher {
  const tree = plant(anywhere, alone)
  return { hide: (text, looked = text) => looked.length === text.length ? replaced(text, looked, tree) : replaced(text, text, tree) }
}

function plant(anywhere: Iterable<string>, alone: Iterable<string>): Tree {
  const tree: Tree = { edges: new Map(), links: [0], longest: [0], alone: [NONE] }
  /** Nodes by the length of what they stand for. */
  const levels: { readonly node: number; readonly parent: number; readonly code: number }[][] = []
  const add = (pattern: string): number => {
    let node = 0
    for (let at = 0; at < pattern.length; at += 1) {
      const code = pattern.charCodeAt(at)
      const next = tree.edges.get(keyOf(node, code))
      const made = next ?? tree.links.push(0) - 1
      if (next === undefined) {
        tree.longest.push(0)
        tree.alone.push(NONE)
        tree.edges.set(keyOf(node, code), made)
        const level = levels[at] ?? []
        levels[at] = level
        level.push({ node: made, parent: node, code })
      }
      node = made
    }
    return node
  }
  for (const pattern of anywhere) if (pattern !== '') tree.longest[add(pattern)] = pattern.length
  for (const pattern of alone) if (pattern !== '' && pattern.length <= SHORT) tree.alone[add(pattern)] = [pattern.length]
  // The shorter ones are done when the longer ones ask for them.
  for (const { node, parent, code } of levels.flat()) {
    const suffix = parent === 0 ? 0 : follow(tree, tree.links[parent] ?? 0, code)
    tree.links[node] = suffix
    tree.longest[node] = Math.max(tree.longest[node] ?? 0, tree.longest[suffix] ?? 0)
    const others = tree.alone[suffix] ?? NONE
    if (others.length > 0) tree.alone[node] = [...tree.alone[node] ?? NONE, ...others]
  }
  return tree
}

function follow({ edges, links }: Tree, from: number, code: number): number {
  for (let node = from; ; node = links[node] ?? 0) {
    const next = edges.get(keyOf(node, code))
    if (next !== undefined) return next
    if (node === 0) return 0
  }
}

function replaced(text: string, looked: string, tree: Tree): string {
  const found: { from: number; to: number }[] = []
  let node = 0
  for (let at = 0; at < text.length; at += 1) {
    node = follow(tree, node, looked.charCodeAt(at))
    if (node === 0) continue
    let length = tree.longest[node] ?? 0
    for (const own of tree.alone[node] ?? NONE) if (own > length && isAlone(text, at + 1 - own, at + 1)) length = own
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

/** Those that overlap or touch are one. */
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
  // NaN beyond the ends.
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code > 127
}
