// inspector/diagram: a queue of numbers that gives the one of the lowest rank first.
/** A binary heap. */
export class Heap {
  readonly #items: number[] = []
  readonly #ranks: number[] = []

  /** Of the first; Infinity when it is empty. */
  get rank(): number {
    return this.#ranks[0] ?? Infinity
  }

  clear(): void {
    this.#items.length = 0
    this.#ranks.length = 0
  }

  push(item: number, rank: number): void {
    const items = this.#items
    const ranks = this.#ranks
    let at = items.push(item) - 1
    ranks.push(rank)
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = ranks[parent] ?? 0
      if (above <= rank) break
      items[at] = items[parent] ?? 0
      ranks[at] = above
      at = parent
    }
    items[at] = item
    ranks[at] = rank
  }

  /** null: it is empty. */
  pop(): number | null {
    const items = this.#items
    const ranks = this.#ranks
    const top = items[0]
    const item = items.pop()
    const rank = ranks.pop()
    if (top === undefined || item === undefined || rank === undefined) return null
    const size = items.length
    if (size === 0) return top
    let at = 0
    for (;;) {
      let child = at * 2 + 1
      if (child + 1 < size && (ranks[child + 1] ?? 0) < (ranks[child] ?? 0)) child += 1
      const below = child < size ? (ranks[child] ?? Infinity) : Infinity
      if (below >= rank) break
      items[at] = items[child] ?? 0
      ranks[at] = below
      at = child
    }
    items[at] = item
    ranks[at] = rank
    return top
  }
}
