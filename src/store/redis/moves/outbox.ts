// store/redis: what this server has committed and not appended to the feed yet. One append is under way at a time. What
// cannot be appended stays here until it can, or until there is too much of it.
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
  #isSoon = false
  #sending: Promise<void> | null = null
  #retry: NodeJS.Timeout | null = null
  #isClosed = false

  constructor(parts: OutboxParts) {
    this.#parts = parts
  }

  add(move: CommittedMove | null): void {
    if (this.#isClosed) return
    if (this.#queue.length >= MAX_OUTGOING) this.#drop(MAX_OUTGOING / 10)
    else if (this.#characters > MAX_OUTGOING_CHARACTERS) this.#drop(Math.ceil(this.#queue.length / 2))
    const one = toSend(move)
    this.#queue.push(one)
    this.#characters += one.size
    if (this.#isSoon || this.#sending !== null || this.#retry !== null) return
    this.#isSoon = true
    setImmediate(() => {
      this.#isSoon = false
      this.#send()
    })
  }

  /** Resolves when what was added so far is appended, or could not be for now. */
  async flush(): Promise<void> {
    await this.#sending
    if (this.#retry === null) this.#send()
    await this.#sending
  }

  /** Drops what is left. */
  close(): void {
    this.#isClosed = true
    this.#queue = []
    this.#characters = 0
    if (this.#retry) clearTimeout(this.#retry)
  }

  #send(): void {
    if (this.#sending !== null || this.#isClosed || this.#queue.length === 0) return
    const batch = this.#take(this.#countOfNext())
    this.#sending = this.#append(batch).finally(() => {
      this.#sending = null
      if (this.#retry === null) this.#send()
    })
  }

  /** How many of the oldest fit into one append: one at least. */
  #countOfNext(): number {
    let [count, characters] = [0, 0]
    for (const { size } of this.#queue) {
      if (count === MAX_APPENDED || characters >= MAX_APPENDED_CHARACTERS) break
      count += 1
      characters += size
    }
    return count
  }

  /** The oldest, which do not wait any more. */
  #take(count: number): Outgoing[] {
    const some = this.#queue.splice(0, count)
    for (const { size } of some) this.#characters -= size
    return some
  }

  /** Readers are told that the oldest are missing. */
  #drop(count: number): void {
    this.#take(count)
    this.#queue.unshift(toSend(null))
  }

  async #append(batch: readonly Outgoing[]): Promise<void> {
    const { append, onFault } = this.#parts
    try {
      const waiting = await append(batch.flatMap((one) => this.#valuesOf(one)))
      const left = waiting.flatMap((place) => batch[place] ?? [])
      if (left.length === 0) return
      for (const one of left) one.waitsSince ??= performance.now()
      this.#putBack(left, WAIT_RETRY_MS)
    } catch (error) {
      onFault(error)
      for (const one of batch) one.isResent = true
      this.#putBack(batch, RETRY_MS)
    }
  }

  #putBack(some: readonly Outgoing[], delay: number): void {
    if (this.#isClosed) return
    this.#queue = [...some, ...this.#queue]
    for (const { size } of some) this.#characters += size
    this.#retry = setTimeout(() => {
      this.#retry = null
      this.#send()
    }, delay).unref()
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
  size: move === null ? 0 : sizeOfMove(move),
  waitsSince: null,
  isResent: false,
})
