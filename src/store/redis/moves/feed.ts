// store/redis: the feed of moves of a namespace: one stream of Redis, to which all servers append while somebody reads.
// While nobody does, a server has no connection for it.
import { unavailable } from '../../../model/failure.ts'
import { SharedRun } from '../../../model/shared-run.ts'
import type { Clock } from '../../../ports/clock.ts'
import { KEPT_MOVES, UNREAD_MS, type FeedPage, type FeedQuery, type MoveFeed } from '../../../ports/feeds.ts'
import type { Log } from '../../../ports/log.ts'
import { untilReady, type Connection } from '../connection.ts'
import type { MoveSignals } from '../feed.ts'
import { movesKey } from '../keys.ts'
import { listOf, sendScript, texts } from '../scripts.ts'
import { activation } from './activation.ts'
import { outbox, type Outbox } from './outbox.ts'
import { entryIn, isPlace, isPlaceBefore, itemOf, timeOf } from './place.ts'
import { followMoves } from './tail.ts'

export interface RedisMovesOptions {
  /** Opens a connection: for commands, or to block on. */
  readonly connect: (role: 'store' | 'worker') => Connection
  readonly signals: MoveSignals
  readonly namespace: string
  readonly clock: Pick<Clock, 'after'>
  readonly log: Log
}

/** Milliseconds between two renewals by a server with readers. */
const RENEWAL_MS = 5000
/** Milliseconds for which the keys are kept after the last of all. */
const KEPT_MS = 2 * UNREAD_MS
const CONNECT_MS = 3000
/** Entries of the stream that are kept: some are no moves. */
const KEPT_ENTRIES = 1.2 * KEPT_MOVES

export interface RedisMoves extends MoveFeed {
  /** To be called before this server commits anything: others may read. */
  start(): Promise<void>
}

export function redisMoves({ connect, signals, namespace, clock, log }: RedisMovesOptions): RedisMoves {
  const root = movesKey(namespace)
  let connection: Connection | null = null
  let outgoing: Outbox | null = null
  let stopListening: (() => void) | null = null
  /** Where the feed began. */
  let since = '0-0'
  let callOffEnd: (() => void) | null = null
  let callOffRenewal: (() => void) | null = null
  let isFaultLogged = false
  let isClosed = false

  const announce = activation(signals, async (place) => {
    if (isPlace(place)) since = place
    begin(UNREAD_MS)
    await outgoing?.flush()
  })

  /** Readers that come at once share one: each of them asks all servers. */
  const activating = new SharedRun(async () => {
    await renew()
    await announce(since)
    const [, newest = since] = await renew()
    return newest
  })

  async function connected(): Promise<Connection> {
    if (isClosed) throw unavailable('the server is stopping')
    if (connection === null) {
      connection = connect('store')
      connection.on('error', (error) => log.debug('a connection of the feed failed', { error }))
    }
    await untilReady(connection, CONNECT_MS)
    return connection
  }

  async function start(): Promise<void> {
    try {
      const own = await connected()
      const [place, left] = await Promise.all([own.get(`${root}on`), own.pttl(`${root}on`)])
      if (place === null) return end()
      since = place
      begin(left)
    } catch {
      // Whether others read is not known: it is looked at again soon.
      begin(RENEWAL_MS)
    }
  }

  /** Keeps the feed active; gives where it began, and its newest place. @throws FluxError `unavailable` */
  async function renew(): Promise<string[]> {
    try {
      const reply = texts(await sendScript(await connected(), 'activate-moves', root, [UNREAD_MS, KEPT_MS]))
      since = reply[0] ?? since
      return reply
    } catch (cause) {
      throw unavailable('Redis can not be reached for the stream of moves', { cause })
    }
  }

  function renewLater(): void {
    callOffRenewal?.()
    callOffRenewal = clock.after(RENEWAL_MS, () => {
      renewLater()
      renew().then(
        () => announce(since),
        () => {},
      )
    })
  }

  /** This server publishes, at least for so many milliseconds. */
  function begin(left: number): void {
    if (isClosed) return
    outgoing ??= outbox({ append, since: () => timeOf(since), onFault, now: () => performance.now() })
    callOffEnd?.()
    callOffEnd = clock.after(left, () => void start())
  }

  function end(): void {
    callOffEnd?.()
    outgoing?.close()
    outgoing = null
    connection?.disconnect()
    connection = null
  }

  async function append(values: readonly (string | number)[]): Promise<readonly number[]> {
    const reply = await sendScript(await connected(), 'append-moves', root, [KEPT_ENTRIES, KEPT_MS, ...values])
    isFaultLogged = false
    return texts(reply).map(Number)
  }

  function onFault(error: unknown): void {
    if (isFaultLogged) return
    isFaultLogged = true
    log.warn('moves can not be told to those who watch at present; they are kept for a while', { error })
  }

  async function read({ after, limit, characters }: FeedQuery): Promise<FeedPage> {
    const place = isPlace(after) ? after : ''
    const reply = await sendScript(await connected(), 'read-moves', root, [place, limit, characters])
    const [began, newest, known, entries = []] = listOf(reply)
    const items = listOf(entries).map((entry) => itemOf(entryIn(entry)))
    const last = [newest, began].find((one) => typeof one === 'string' && one !== '')
    const isKnown = known === 1
    const to = items.at(-1)?.id ?? (isKnown ? after : String(last ?? since))
    return { items, end: to, isGap: !isKnown, isCut: items.length > 0 && to !== newest }
  }

  return {
    start,
    read,
    isBefore: isPlaceBefore,
    get isActive() {
      return outgoing !== null
    },
    publish: (move) => outgoing?.add(move),
    miss: () => outgoing?.add(null),
    activate: () => activating.get(),
    listen(from, listener) {
      const stop = followMoves(from, { connection: connect('worker'), key: `${root}s`, read, listener })
      stopListening = stop
      renewLater()
      return () => {
        stop()
        if (stopListening !== stop) return
        stopListening = null
        callOffRenewal?.()
      }
    },
    async close() {
      if (connection?.status === 'ready') await outgoing?.flush()
      isClosed = true
      stopListening?.()
      callOffRenewal?.()
      end()
    },
  }
}
