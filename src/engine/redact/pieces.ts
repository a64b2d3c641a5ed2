// engine/redact: a set of all pieces of one length of some texts, as a hash table of numbers. A text of many thousand
// characters has as many pieces, and a set of strings takes a hundred times as long.

/** Random for each process, so that a client cannot send texts whose pieces collide. */
export const SEED = Math.floor(Math.random() * 2 ** 32) | 0

export class PieceTable {
  readonly length: number
  /** All texts, concatenated. */
  readonly #texts: string
  /** By hash: the index in the texts at which a piece begins, plus one; 0: none. */
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

  /** Whether a piece of the set is at that index of the text. */
  hasAt(text: string, at: number): boolean {
    return at >= 0 && at + this.length <= text.length && this.#places[this.#placeOf(text, at)] !== 0
  }

  #add(at: number): void {
    const place = this.#placeOf(this.#texts, at)
    if (this.#places[place] === 0) this.#places[place] = at + 1
  }

  /** The slot of the piece in the table, or the free slot for it. */
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

/**
 * The texts, by descending length, without those that one of the longest contains: the Cookie header contains all
 * cookies.
 */
function largest(texts: readonly string[]): string[] {
  const sorted = texts.toSorted((one, other) => other.length - one.length)
  const kept: string[] = []
  for (const text of sorted) if (!kept.slice(0, SEARCHED_TEXTS).some((other) => other.includes(text))) kept.push(text)
  return kept
}

/** Number of the longest texts that are searched for other texts, to avoid adding those. */
const SEARCHED_TEXTS = 8
