// inspector/diagram: a queue that gives the item of the lowest rank first.
export interface Ranked<T> {
  readonly item: T
  readonly rank: number
}

/** A binary heap: the lowest rank comes first. */
export class Heap<T> {
  readonly #items: Ranked<T>[] = []

  push(item: Ranked<T>): void {
    const items = this.#items
    let at = items.push(item) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = items[parent]
      if (!above || above.rank <= item.rank) break
      items[at] = above
      at = parent
    }
    items[at] = item
  }

  pop(): Ranked<T> | null {
    const items = this.#items
    const [top] = items
    const last = items.pop()
    if (!top || !last) return null
    if (items.length === 0) return top
    let at = 0
    for (;;) {
      const child = this.#lower(at * 2 + 1, at * 2 + 2)
      const below = items[child]
      if (!below || below.rank >= last.rank) break
      items[at] = below
      at = child
    }
    items[at] = last
    return top
  }

  #lower(left: number, right: number): number {
    return (this.#items[right]?.rank ?? Infinity) < (this.#items[left]?.rank ?? Infinity) ? right : left
  }
}
