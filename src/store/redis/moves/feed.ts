// store/redis: the feed of moves of a namespace: one stream of Redis, to which all servers append while there are
// readers. While there are none, a server has no connection for it.
import { unavailable } from '../../../model/failure.ts'
import { throttled } from '../../../model/log-once.ts'
import { SharedRun } from '../../../model/shared-run.ts'
import type { Clock } from '../../../ports/clock.ts'
import { KEPT_MOVES, UNREAD_MS, type MoveFeed } from '../../../ports/feeds.ts'
import type { Log } from '../../../ports/log.ts'
import { untilReady, type Connection } from '../connection.ts'
import type { MoveSignals } from '../feed.ts'
import { movesKey } from '../keys.ts'
import { listOf, sendScript, texts, type ScriptName } from '../scripts.ts'
import { activation } from './activation.ts'
import { outbox } from './outbox.ts'
import { isPlace, isPlaceBefore, itemIn, timeOf } from './place.ts'
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
  /** What is to be appended; null: the feed is not active. */
  let unsent: ReturnType<typeof outbox> | null = null
  let stopListening: (() => void) | null = null
  /** Where the feed began. */
  let since = '0-0'
  let callOffEnd: (() => void) | null = null
  let callOffRenewal: (() => void) | null = null
  let isClosed = false

  const onFault = throttled((error) =>
    log.warn('moves can not be told to those who watch at present; they are kept for a while', { error }),
  )
  const announce = activation(signals, async (begun) => {
    if (isPlace(begun)) since = begun
    begin(UNREAD_MS)
    await unsent?.flush()
  })
  /** Readers that come at once share one: each of them asks all servers. */
  const activating = new SharedRun(async () => {
    await renew()
    await announce(since)
    const [, newest = since] = await renew()
    return newest
  })

  async function run(script: ScriptName, values: readonly (string | number)[]) {
    return sendScript(await connected(), script, root, values)
  }

  async function connected(): Promise<Connection> {
    if (isClosed) throw unavailable('the server is stopping')
    if (connection === null) {
      connection = connect('store')
      connection.on('error', (error) => log.debug('a connection of the feed failed', { error }))
    }
    await untilReady(connection, CONNECT_MS)
    return connection
  }

  /** Keeps the feed active; gives where it began, and its newest place. @throws FluxError `unavailable` */
  async function renew(): Promise<string[]> {
    try {
      const reply = texts(await run('activate-moves', [UNREAD_MS, KEPT_MS]))
      since = reply[0] ?? since
      return reply
    } catch (cause) {
      throw unavailable('Redis can not be reached for the stream of moves', { cause })
    }
  }

  const append = async (values: readonly (string | number)[]) =>
    texts(await run('append-moves', [KEPT_ENTRIES, KEPT_MS, ...values])).map(Number)

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

  async function start(): Promise<void> {
    try {
      const on = `${root}on`
      const redis = await connected()
      const [begun, left] = await Promise.all([redis.get(on), redis.pttl(on)])
      if (begun === null) return end()
      since = begun
      begin(left)
    } catch {
      // Whether others read is not known: it is looked at again soon.
      begin(RENEWAL_MS)
    }
  }

  /** This server publishes, at least for so many milliseconds. */
  function begin(left: number): void {
    if (isClosed) return
    unsent ??= outbox(append, { sinceTime: () => timeOf(since), onFault })
    callOffEnd?.()
    callOffEnd = clock.after(left, () => void start())
  }

  function end(): void {
    callOffEnd?.()
    unsent?.close()
    unsent = null
    connection?.disconnect()
    connection = null
  }

  const feed: RedisMoves = {
    start,
    get isActive() {
      return unsent !== null
    },
    publish: (move) => unsent?.add(move),
    miss: () => unsent?.add(null),
    activate: () => activating.get(),
    listen(from, listener) {
      const stop = followMoves(feed, connect('worker'), { from, key: `${root}s`, listener })
      stopListening = stop
      renewLater()
      return () => {
        stop()
        if (stopListening !== stop) return
        stopListening = null
        callOffRenewal?.()
      }
    },
    async read({ after, limit, characters }) {
      const reply = await run('read-moves', [isPlace(after) ? after : '', limit, characters])
      const [begun, newest, known, entries = []] = listOf(reply)
      const items = listOf(entries).map(itemIn)
      const last = items.at(-1)?.id ?? (known === 1 ? after : String(newest || begun || since))
      return { items, end: last, isGap: known !== 1, isCut: items.length > 0 && last !== newest }
    },
    isBefore: isPlaceBefore,
    async close() {
      if (unsent !== null && connection?.status === 'ready') await unsent.flush()
      isClosed = true
      stopListening?.()
      callOffRenewal?.()
      end()
    },
  }
  return feed
}
