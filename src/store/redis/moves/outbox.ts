// store/redis: what this server has committed and not appended to the feed yet. One append is under way at a time. What
// cannot be appended stays here until it can, or until there is too much of it.
import { sizeOfMove, type CommittedMove } from '../../../ports/feeds.ts'
import { factsText } from './place.ts'

interface Outgoing {
  /** null: messages are missing here. */
  readonly move: CommittedMove | null
  /** Characters, about. */
  readonly size: number
  /** When it was first found that the version before is not in the feed, in milliseconds; null: it was not. */
  waitsSince: number | null
  /** It was sent, and the answer was lost. */
  isResent: boolean
}

export interface OutboxParts {
  /** Appends, as the script `append-moves` does; resolves with the places of those that wait. */
  readonly append: (values: readonly (string | number)[]) => Promise<readonly number[]>
  /** Redis's time at which the feed began, epoch milliseconds. */
  readonly since: () => number
  readonly onFault: (error: unknown) => void
  /** Counted from anywhere, in milliseconds. */
  readonly now: () => number
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

export function outbox({ append, since, onFault, now }: OutboxParts) {
  let queue: Outgoing[] = []
  let characters = 0
  let isSoon = false
  let sending: Promise<void> | null = null
  let retry: NodeJS.Timeout | null = null
  let isClosed = false

  function send(): void {
    if (sending !== null || isClosed || queue.length === 0) return
    sending = appendAll(take(countOfNext())).finally(() => {
      sending = null
      if (retry === null) send()
    })
  }

  /** How many of the oldest fit into one append: one at least. */
  function countOfNext(): number {
    let [count, size] = [0, 0]
    for (const one of queue) {
      if (count === MAX_APPENDED || size >= MAX_APPENDED_CHARACTERS) break
      count += 1
      size += one.size
    }
    return count
  }

  /** The oldest, which do not wait any more. */
  function take(count: number): Outgoing[] {
    const some = queue.splice(0, count)
    for (const { size } of some) characters -= size
    return some
  }

  /** Readers are told that the oldest are missing. */
  function drop(count: number): void {
    take(count)
    queue.unshift(toSend(null))
  }

  async function appendAll(batch: readonly Outgoing[]): Promise<void> {
    try {
      const waiting = await append(batch.flatMap(valuesOf))
      const left = waiting.flatMap((place) => batch[place] ?? [])
      if (left.length === 0) return
      for (const one of left) one.waitsSince ??= now()
      putBack(left, WAIT_RETRY_MS)
    } catch (error) {
      onFault(error)
      for (const one of batch) one.isResent = true
      putBack(batch, RETRY_MS)
    }
  }

  function putBack(some: readonly Outgoing[], delay: number): void {
    if (isClosed) return
    queue = [...some, ...queue]
    for (const { size } of some) characters += size
    retry = setTimeout(() => {
      retry = null
      send()
    }, delay).unref()
  }

  function valuesOf(one: Outgoing): (string | number)[] {
    const { move } = one
    if (move === null) return [0, 0, 'g', '', '']
    const { message } = move
    return [message.contextId, message.version, modeOf(one, move), factsText(move), JSON.stringify(message)]
  }

  /** See `append-moves.lua`. Another server may have committed the version before, if that was lately. */
  function modeOf({ waitsSince, isResent }: Outgoing, { message: { at }, previousAt }: CommittedMove): 'w' | 'a' | 'r' {
    if (isResent) return 'r'
    if (previousAt === null || previousAt <= since() || at - previousAt > PATIENCE_FOR_EARLIER_MS) return 'a'
    const patience = previousAt > since() + ACTIVATION_MS ? PATIENCE_FOR_EARLIER_MS : PATIENCE_AT_FIRST_MS
    return waitsSince !== null && now() - waitsSince > patience ? 'a' : 'w'
  }

  return {
    add(move: CommittedMove | null): void {
      if (isClosed) return
      if (queue.length >= MAX_OUTGOING) drop(MAX_OUTGOING / 10)
      else if (characters > MAX_OUTGOING_CHARACTERS) drop(Math.ceil(queue.length / 2))
      const one = toSend(move)
      queue.push(one)
      characters += one.size
      if (isSoon || sending !== null || retry !== null) return
      isSoon = true
      setImmediate(() => {
        isSoon = false
        send()
      })
    },
    /** Resolves when what was added so far is appended, or could not be for now. */
    async flush(): Promise<void> {
      await sending
      if (retry === null) send()
      await sending
    },
    /** Drops what is left. */
    close(): void {
      isClosed = true
      queue = []
      characters = 0
      if (retry) clearTimeout(retry)
    },
  }
}

export type Outbox = ReturnType<typeof outbox>

const toSend = (move: CommittedMove | null): Outgoing => ({
  move,
  size: move === null ? 0 : sizeOfMove(move),
  waitsSince: null,
  isResent: false,
})
