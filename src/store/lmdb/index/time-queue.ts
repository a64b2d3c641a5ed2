// store/lmdb: contexts by time, the earliest first. A heap whose entries may be out of date: the owner tells which
// still hold.
import type { ContextId } from '../../../model/context.ts'

export class TimeQueue {
  readonly #timeOf: (id: ContextId) => number | null
  // Two lists of plain numbers take 16 bytes an entry; one of objects would take four times as much.
  #times: number[] = []
  #ids: number[] = []
  #roomy = 1024

  /** `timeOf` gives a context's present time: entries with another are ignored. */
  constructor(timeOf: (id: ContextId) => number | null) {
    this.#timeOf = timeOf
  }

  /** Number of entries, outdated ones too. */
  get size(): number {
    return this.#ids.length
  }

  /** To be called whenever a context's time has changed. */
  push(id: ContextId, time: number): void {
    if (this.#ids.length >= this.#roomy) this.#sweep()
    this.#insert(id, time)
  }

  /** The earliest entry that holds. */
  peek(): { readonly id: ContextId; readonly time: number } | null {
    for (;;) {
      const id = this.#ids[0]
      const time = this.#times[0]
      if (id === undefined || time === undefined) return null
      if (this.#timeOf(id) === time) return { id, time }
      this.pop()
    }
  }

  /** Removes the first entry. */
  pop(): void {
    const id = this.#ids.pop()
    const time = this.#times.pop()
    if (id === undefined || time === undefined || this.#ids.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if ((this.#times[child + 1] ?? Infinity) < (this.#times[child] ?? Infinity)) child++
      if ((this.#times[child] ?? Infinity) >= time) break
      this.#move(child, at)
      at = child
    }
    this.#ids[at] = id
    this.#times[at] = time
  }

  /**
   * The contexts whose time is between these, both exclusive, in no order, some of them twice. Looks at all entries: a
   * millisecond or two for a million.
   */
  *between(after: number, before: number): Generator<ContextId> {
    const [times, ids] = [this.#times, this.#ids]
    for (let at = 0; at < times.length; at++) {
      const [time = after, id = 0] = [times[at], ids[at]]
      if (time > after && time < before && this.#timeOf(id) === time) yield id
    }
  }

  #insert(id: ContextId, time: number): void {
    let at = this.#ids.length
    while (at > 0) {
      const parent = (at - 1) >>> 1
      if ((this.#times[parent] ?? -Infinity) <= time) break
      this.#move(parent, at)
      at = parent
    }
    this.#ids[at] = id
    this.#times[at] = time
  }

  #move(from: number, to: number): void {
    this.#ids[to] = this.#ids[from] ?? 0
    this.#times[to] = this.#times[from] ?? 0
  }

  /** Drops what is outdated, so that there is never more of that than of the rest. */
  #sweep(): void {
    const [ids, times] = [this.#ids, this.#times]
    const kept = new Set<ContextId>()
    this.#ids = []
    this.#times = []
    ids.forEach((id, index) => {
      const time = times[index]
      if (time === undefined || time !== this.#timeOf(id) || kept.has(id)) return
      kept.add(id)
      this.#insert(id, time)
    })
    this.#roomy = 2 * this.#ids.length + 1024
  }
}
