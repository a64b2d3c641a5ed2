// engine/redact: all pieces of one length of some texts, in a table of numbers: a text of many thousand characters has
// as many pieces, and to keep each as a text of its own takes a hundred times as long.

/** Chosen anew by each process, so that nobody can send texts whose pieces fall on the same place. */
export const SEED = Math.floor(Math.random() * 2 ** 32) | 0

export class PieceTable {
  readonly length: number
  /** All texts, one after the other. */
  readonly #texts: string
  /** Where a piece begins in them, plus one; 0: none. */
  readonly #places: Int32Array
  readonly #mask: number

  constructor(texts: Iterable<string>, length: number) {
    const long = largest([...texts].filter((text) => text.length >= length))
    const count = long.reduce((sum, text) => sum + text.length - length + 1, 0)
    this.length = length
    this.#texts = long.join('')
    this.#places = new Int32Array(2 ** Math.ceil(Math.log2(2 * count + 2)))
    this.#mask = this.#places.length - 1
    let start = 0
    for (const text of long) {
      for (let at = start; at + length <= start + text.length; at += 1) this.#add(at)
      start += text.length
    }
  }

  get isEmpty(): boolean {
    return this.#texts === ''
  }

  /** Whether one of them stands there. */
  hasAt(text: string, at: number): boolean {
    return at >= 0 && at + this.length <= text.length && this.#places[this.#placeOf(text, at)] !== 0
  }

  #add(at: number): void {
    const place = this.#placeOf(this.#texts, at)
    if (this.#places[place] === 0) this.#places[place] = at + 1
  }

  /** Where the table has that piece, or would have it. */
  #placeOf(text: string, at: number): number {
    let hash = SEED
    for (let index = at; index < at + this.length; index += 1) {
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x9e37_79b1)
      hash ^= hash >>> 15
    }
    for (let place = hash & this.#mask; ; place = (place + 1) & this.#mask) {
      const known = this.#places[place] ?? 0
      if (known === 0 || this.#isSame(known - 1, text, at)) return place
    }
  }

  #isSame(known: number, text: string, at: number): boolean {
    for (let index = 0; index < this.length; index += 1)
      if (this.#texts.charCodeAt(known + index) !== text.charCodeAt(at + index)) return false
    return true
  }
}

/** Without those that lie in one of the longest: the Cookie header has all cookies in it. */
function largest(texts: readonly string[]): string[] {
  const sorted = texts.toSorted((one, other) => other.length - one.length)
  const kept: string[] = []
  for (const text of sorted) if (!kept.slice(0, LOOKED_INTO).some((other) => other.includes(text))) kept.push(text)
  return kept
}

/** Texts that are looked into for others, to save the work of adding those. */
const LOOKED_INTO = 8
