// engine/idempotency: sorts the names of an object, those of a large one in pieces, so that no piece blocks the event loop.

/** Names sorted, or merged, at once. */
const PIECE_NAMES = 1024

/** In the order of their UTF-16 code units. */
export class SortedNames {
  #names: string[]
  /** How many are sorted among themselves, from each multiple of it on. */
  #width: number
  /** What the present pass, which makes that number larger, has made. */
  #made: string[] = []
  /** Places in the two runs that are merged. */
  #left = 0
  #right = 0

  constructor(names: string[]) {
    this.#names = names
    const isSmall = names.length <= PIECE_NAMES
    if (isSmall) names.sort()
    this.#width = isSmall ? Infinity : 0
  }

  get isSorted(): boolean {
    return this.#width >= this.#names.length
  }

  /** Of no use before they are sorted. */
  get all(): readonly string[] {
    return this.#names
  }

  /** Does a piece of the work; gives the number of names it was done for. */
  sort(): number {
    const before = this.#made.length
    if (this.#width === 0)
      for (const name of this.#names.slice(before, before + PIECE_NAMES).sort()) this.#made.push(name)
    else this.#merge(before + PIECE_NAMES)
    const done = this.#made.length - before
    if (this.#made.length === this.#names.length) {
      this.#names = this.#made
      this.#made = []
      this.#width = this.#width === 0 ? PIECE_NAMES : 2 * this.#width
      this.#enter(0)
    }
    return done
  }

  #merge(until: number): void {
    const [names, width] = [this.#names, this.#width]
    while (this.#made.length < until && this.#made.length < names.length) {
      const from = Math.floor(this.#made.length / (2 * width)) * 2 * width
      const [middle, end] = [Math.min(from + width, names.length), Math.min(from + 2 * width, names.length)]
      const [left = '', right = ''] = [names[this.#left], names[this.#right]]
      const isLeft = this.#right >= end || (this.#left < middle && left <= right)
      this.#made.push(isLeft ? left : right)
      if (isLeft) this.#left += 1
      else this.#right += 1
      if (this.#made.length === end) this.#enter(end)
    }
  }

  /** Begins to merge the two runs from that place on. */
  #enter(from: number): void {
    this.#left = from
    this.#right = Math.min(from + this.#width, this.#names.length)
  }
}
