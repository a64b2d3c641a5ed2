// store/redis: remembers which ids were issued ahead, before they were needed. A context is created under such an id
// only while no later id of its partition has been issued: so a context that starts later has a higher id, on whichever
// server.
//
// - A later context has a higher id, on any server. Ids are requested when they are needed, as many at once as are
//   waiting, and a start takes two round trips. A server that has been the only one to request ids of a partition for
//   a second gets 1,000 ahead, and then its starts take one (`ahead-ids.ts`). The commit script creates a context
//   under such an id only while its block is the last that was given out; otherwise it refuses, the server drops the
//   block, and the start is decided again under an id that is requested then. So starts at one server cost others at
//   most one refused commit a second for each start in progress, and a Redis that has lost a block refuses all of its
//   ids.

/** A text that is no id, so that the commit is refused. */
const NEVER = '-'

/** The ids of one partition that were issued ahead, as its numbers. */
export class AheadIds {
  /** The block that was issued last. */
  #block = { first: Infinity, last: 0 }
  /** The highest id of the blocks before. */
  #forgotten = 0

  /** Adds a block. It must be higher than those before it. */
  add(block: { readonly first: number; readonly last: number }): void {
    this.#forgotten = this.#block.last
    this.#block = block
  }

  /**
   * The number that the last issued id must have when contexts of these ids are created; empty: any. It is not known
   * whether an id below the block was issued ahead, so it is refused.
   */
  fenceOf(numbers: readonly number[]): string {
    const { first, last } = this.#block
    if (numbers.some((number) => number <= this.#forgotten)) return NEVER
    return numbers.some((number) => number >= first && number <= last) ? String(last) : ''
  }
}
