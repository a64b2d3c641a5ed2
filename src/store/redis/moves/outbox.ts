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

/**
 * `append` does as the script `append-moves`, and gives the places of those that wait. `sinceTime`: Redis's time at which
 * the feed began, epoch milliseconds.
 */
export function outbox(
  append: (values: readonly (string | number)[]) => Promise<readonly number[]>,
  { sinceTime, onFault }: { readonly sinceTime: () => number; readonly onFault: (error: unknown) => void },
) {
  let queue: Outgoing[] = []
  let characters = 0
  /** Whether what is here is being appended, or will be. */
  let isRunning = false
  /** To be called when it is appended, or can not be for now. */
  let onPause: (() => void)[] = []
  let isClosed = false

  function insert(at: number, some: readonly Outgoing[]): void {
    if (isClosed) return
    queue.splice(at, 0, ...some)
    for (const { size } of some) characters += size
  }

  /** The oldest, which do not wait any more. */
  function take(count: number): Outgoing[] {
    const some = queue.splice(0, count)
    for (const { size } of some) characters -= size
    return some
  }

  /** Takes the oldest that fit into one append: one at least. */
  function takeNext(): Outgoing[] {
    let sum = 0
    const end = queue.findIndex(({ size }, index) => {
      sum += size
      return index === MAX_APPENDED || (index > 0 && sum > MAX_APPENDED_CHARACTERS)
    })
    return take(end < 0 ? queue.length : end)
  }

  /** Readers are told that the oldest are missing. */
  function drop(count: number): void {
    take(count)
    queue.unshift(toSend(null))
  }

  /** Appends what is here: all messages of a turn of the event loop at once. */
  async function run(): Promise<void> {
    isRunning = true
    await nextTurn()
    while (queue.length > 0) {
      const retryMs = await appendSome(takeNext())
      if (retryMs === 0) continue
      pause()
      await sleep(retryMs, undefined, { ref: false })
    }
    isRunning = false
    pause()
  }

  function pause(): void {
    for (const resolve of onPause) resolve()
    onPause = []
  }

  /** Gives the milliseconds after which some of these must be tried again; 0: none. */
  async function appendSome(batch: readonly Outgoing[]): Promise<number> {
    try {
      const waiting = await append(batch.flatMap(valuesOf))
      const left = waiting.flatMap((place) => batch[place] ?? [])
      for (const one of left) one.waitsSince ??= performance.now()
      insert(0, left)
      return left.length > 0 ? WAIT_RETRY_MS : 0
    } catch (error) {
      onFault(error)
      for (const one of batch) one.isResent = true
      insert(0, batch)
      return RETRY_MS
    }
  }

  function valuesOf(one: Outgoing): (string | number)[] {
    const { move } = one
    if (move === null) return [0, 0, 'g', '', '']
    const { message, facts } = move
    return [message.contextId, message.version, modeOf(one, move), JSON.stringify(facts), JSON.stringify(message)]
  }

  /** See `append-moves.lua`. Another server may have committed the version before, if that was lately. */
  function modeOf({ waitsSince, isResent }: Outgoing, { message: { at }, previousAt }: CommittedMove): 'w' | 'a' | 'r' {
    const since = sinceTime()
    if (isResent) return 'r'
    if (previousAt === null || previousAt <= since || at - previousAt > PATIENCE_FOR_EARLIER_MS) return 'a'
    const patience = previousAt > since + ACTIVATION_MS ? PATIENCE_FOR_EARLIER_MS : PATIENCE_AT_FIRST_MS
    return waitsSince !== null && performance.now() - waitsSince > patience ? 'a' : 'w'
  }

  return {
    add(move: CommittedMove | null): void {
      if (isClosed) return
      if (queue.length >= MAX_OUTGOING) drop(MAX_OUTGOING / 10)
      else if (characters > MAX_OUTGOING_CHARACTERS) drop(Math.ceil(queue.length / 2))
      insert(queue.length, [toSend(move)])
      if (!isRunning) void run()
    },
    /** Resolves when what was added so far is appended, or could not be for now. */
    flush: () =>
      new Promise<void>((resolve) => {
        onPause.push(resolve)
        if (!isRunning) pause()
      }),
    /** Drops what is left. */
    close(): void {
      isClosed = true
      queue = []
    },
  }
}

const toSend = (move: CommittedMove | null): Outgoing => ({
  move,
  size: sizeOfMove(move),
  waitsSince: null,
  isResent: false,
})
