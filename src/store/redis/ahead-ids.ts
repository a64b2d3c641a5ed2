// store/redis: which ids were given out ahead, before anybody asked for them. A context is created under such an id only
// while no later id of its partition was given to anybody: so a context that starts later has a higher id, on whichever
// server.

/** Ids that were given out ahead together, as their partition counts them. */
interface Block {
  readonly first: number
  readonly last: number
}

/** Blocks that are remembered. */
const MAX_BLOCKS = 16

/** What no id is: the commit is refused. */
const NEVER = '-'

/** Of one partition. */
export class AheadIds {
  /** Ascending. */
  readonly #blocks: Block[] = []
  /** The highest id of a block that is not remembered any more. */
  #forgotten = 0

  /** Later ones are higher. */
  add(block: Block): void {
    this.#blocks.push(block)
    if (this.#blocks.length > MAX_BLOCKS) this.#forgotten = this.#blocks.shift()?.last ?? this.#forgotten
  }

  /**
   * What must be the last id given out when contexts of these ids are created; empty: it doesn't matter. Of an id of
   * long ago it is not known whether it was given out ahead: it is refused.
   */
  fenceOf(numbers: readonly number[]): string {
    let fence = ''
    for (const number of numbers) {
      const block = this.#blocks.findLast(({ first }) => first <= number)
      const own = block ? (number <= block.last ? String(block.last) : '') : number <= this.#forgotten ? NEVER : ''
      if (own === '') continue
      fence = fence === '' || fence === own ? own : NEVER
    }
    return fence
  }
}
