// store/redis: what this server has committed and not appended to the feed yet. One append is under way at a time. What
// cannot be appended stays here until it can, or until there is too much of it.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { sizeOfMove, type CommittedMove } from '../../../ports/feeds.ts'

interface Outgoing {
  /** null: messages are missing here. */
  readonly move: CommittedMove | null
  /** Characters, about. */
  readonly size: number
  /** When it was first found that the version before is not in the feed, by `performance.now()`; null: it was not. */
  waitsSince: number | null
  /** It was sent, and the answer was lost. */
  isResent: boolean
}

interface OutboxParts {
  /** Appends, as the script `append-moves` does; resolves with the places of those that wait. */
  readonly append: (values: readonly (string | number)[]) => Promise<readonly number[]>
  /** Redis's time at which the feed began, epoch milliseconds. */
  readonly since: () => number
  readonly onFault: (error: unknown) => void
}

/** Moves of one append, and characters of them. */
const [MAX_APPENDED, MAX_APPENDED_CHARACTERS] = [500, 1_048_576]
/** Moves kept until they can be appended: as many as the feed keeps at least; and characters of them. */
const [MAX_OUTGOING, MAX_OUTGOING_CHARACTERS] = [10_000, 67_108_864]
/** Milliseconds after which an append that failed, or moves that wait for others, are tried again. */
const RETRY_MS = 200
const WAIT_RETRY_MS = 20
/** Milliseconds for which a move waits for the one before. A server that was killed has lost that one. */
const PATIENCE_FOR_EARLIER_MS = 2000
/**
 * Milliseconds that servers may take to learn that the feed is active; and the patience with what was committed in that
 * time: it may never have been told.
 */
const [ACTIVATION_MS, PATIENCE_AT_FIRST_MS] = [500, 300]

export class Outbox {
  readonly #parts: OutboxParts
  #queue: Outgoing[] = []
  #characters = 0
  /** Whether what is here is being appended, or will be. */
  #isRunning = false
  /** To be called when it is appended, or can not be for now. */
  #onPause: (() => void)[] = []
  #isClosed = false

  constructor(parts: OutboxParts) {
    this.#parts = parts
  }

  add(move: CommittedMove | null): void {
    if (this.#isClosed) return
    if (this.#queue.length >= MAX_OUTGOING) this.#drop(MAX_OUTGOING / 10)
    else if (this.#characters > MAX_OUTGOING_CHARACTERS) this.#drop(Math.ceil(this.#queue.length / 2))
    this.#insert(this.#queue.length, [toSend(move)])
    if (!this.#isRunning) void this.#run()
  }

  /** Resolves when what was added so far is appended, or could not be for now. */
  flush(): Promise<void> {
    return new Promise((resolve) => {
      this.#onPause.push(resolve)
      if (!this.#isRunning) this.#pause()
    })
  }

  /** Drops what is left. */
  close(): void {
    this.#isClosed = true
    this.#queue = []
  }

  /** Appends what is here: all messages of a turn of the event loop at once. */
  async #run(): Promise<void> {
    this.#isRunning = true
    await nextTurn()
    while (this.#queue.length > 0) {
      const batch = this.#takeNext()
      // More may be added as long as this runs.
      const asked = this.#queue.length === 0 ? this.#onPause.splice(0) : []
      const retryMs = await this.#append(batch)
      for (const resolve of asked) resolve()
      if (retryMs === 0) continue
      this.#pause()
      await sleep(retryMs, undefined, { ref: false })
    }
    this.#isRunning = false
    this.#pause()
  }

  #pause(): void {
    for (const resolve of this.#onPause) resolve()
    this.#onPause = []
  }

  /** Takes the oldest that fit into one append: one at least. */
  #takeNext(): Outgoing[] {
    let characters = 0
    const end = this.#queue.findIndex(({ size }, index) => {
      characters += size
      return index === MAX_APPENDED || (index > 0 && characters > MAX_APPENDED_CHARACTERS)
    })
    return this.#take(end < 0 ? this.#queue.length : end)
  }

  /** The oldest, which do not wait any more. */
  #take(count: number): Outgoing[] {
    const some = this.#queue.splice(0, count)
    for (const { size } of some) this.#characters -= size
    return some
  }

  #insert(at: number, some: readonly Outgoing[]): void {
    if (this.#isClosed) return
    this.#queue.splice(at, 0, ...some)
    for (const { size } of some) this.#characters += size
  }

  /** Readers are told that the oldest are missing. */
  #drop(count: number): void {
    this.#take(count)
    this.#queue.unshift(toSend(null))
  }

  /** Gives the milliseconds after which some of these must be tried again; 0: none. */
  async #append(batch: readonly Outgoing[]): Promise<number> {
    const { append, onFault } = this.#parts
    try {
      const waiting = await append(batch.flatMap((one) => this.#valuesOf(one)))
      const left = waiting.flatMap((place) => batch[place] ?? [])
      for (const one of left) one.waitsSince ??= performance.now()
      this.#insert(0, left)
      return left.length > 0 ? WAIT_RETRY_MS : 0
    } catch (error) {
      onFault(error)
      for (const one of batch) one.isResent = true
      this.#insert(0, batch)
      return RETRY_MS
    }
  }

  #valuesOf(one: Outgoing): (string | number)[] {
    const { move } = one
    if (move === null) return [0, 0, 'g', '', '']
    const { message, facts } = move
    const texts = [JSON.stringify(facts), JSON.stringify(message)]
    return [message.contextId, message.version, this.#modeOf(one, move), ...texts]
  }

  /** See `append-moves.lua`. Another server may have committed the version before, if that was lately. */
  #modeOf({ waitsSince, isResent }: Outgoing, { message: { at }, previousAt }: CommittedMove): 'w' | 'a' | 'r' {
    const since = this.#parts.since()
    if (isResent) return 'r'
    if (previousAt === null || previousAt <= since || at - previousAt > PATIENCE_FOR_EARLIER_MS) return 'a'
    const patience = previousAt > since + ACTIVATION_MS ? PATIENCE_FOR_EARLIER_MS : PATIENCE_AT_FIRST_MS
    return waitsSince !== null && performance.now() - waitsSince > patience ? 'a' : 'w'
  }
}

const toSend = (move: CommittedMove | null): Outgoing => ({
  move,
  size: sizeOfMove(move),
  waitsSince: null,
  isResent: false,
})
