// store/redis: the feed of moves of a namespace: one stream of Redis, to which all servers append while there are
// readers. While there are none, a server has no connection for it.
import { unavailable } from '../../../model/failure.ts'
import { throttled } from '../../../model/log-once.ts'
import { SharedRun } from '../../../model/shared-run.ts'
import type { Clock } from '../../../ports/clock.ts'
import {
  KEPT_MOVES,
  UNREAD_MS,
  type CommittedMove,
  type FeedListener,
  type FeedPage,
  type FeedQuery,
  type MoveFeed,
} from '../../../ports/feeds.ts'
import type { Log } from '../../../ports/log.ts'
import { untilReady, type Connection } from '../connection.ts'
import type { MoveSignals } from '../feed.ts'
import { movesKey } from '../keys.ts'
import { listOf, sendScript, texts, type ScriptName } from '../scripts.ts'
import { activation } from './activation.ts'
import { Outbox } from './outbox.ts'
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

export class RedisMoves implements MoveFeed {
  readonly #options: RedisMovesOptions
  readonly #root: string
  readonly #announce: (since: string) => Promise<void>
  readonly #logFault: (error: unknown) => void
  /** Readers that come at once share one: each of them asks all servers. */
  readonly #activating = new SharedRun(async () => {
    await this.#renew()
    await this.#announce(this.#since)
    const [, newest = this.#since] = await this.#renew()
    return newest
  })
  #connection: Connection | null = null
  #outbox: Outbox | null = null
  #stopListening: (() => void) | null = null
  /** Where the feed began. */
  #since = '0-0'
  #callOffEnd: (() => void) | null = null
  #callOffRenewal: (() => void) | null = null
  #isClosed = false

  constructor(options: RedisMovesOptions) {
    this.#options = options
    this.#root = movesKey(options.namespace)
    this.#logFault = throttled((error) =>
      options.log.warn('moves can not be told to those who watch at present; they are kept for a while', { error }),
    )
    this.#announce = activation(options.signals, async (since) => {
      if (isPlace(since)) this.#since = since
      this.#begin(UNREAD_MS)
      await this.#outbox?.flush()
    })
  }

  get isActive(): boolean {
    return this.#outbox !== null
  }

  /** To be called before this server commits anything: others may read. */
  async start(): Promise<void> {
    try {
      const connection = await this.#connected()
      const [since, left] = await Promise.all([connection.get(`${this.#root}on`), connection.pttl(`${this.#root}on`)])
      if (since === null) return this.#end()
      this.#since = since
      this.#begin(left)
    } catch {
      // Whether others read is not known: it is looked at again soon.
      this.#begin(RENEWAL_MS)
    }
  }

  publish(move: CommittedMove): void {
    this.#outbox?.add(move)
  }

  miss(): void {
    this.#outbox?.add(null)
  }

  activate(): Promise<string> {
    return this.#activating.get()
  }

  listen(from: string, listener: FeedListener): () => void {
    const stop = followMoves(this, this.#options.connect('worker'), { from, key: `${this.#root}s`, listener })
    this.#stopListening = stop
    this.#renewLater()
    return () => {
      stop()
      if (this.#stopListening !== stop) return
      this.#stopListening = null
      this.#callOffRenewal?.()
    }
  }

  async read({ after, limit, characters }: FeedQuery): Promise<FeedPage> {
    const reply = await this.#run('read-moves', [isPlace(after) ? after : '', limit, characters])
    const [since, newest, known, entries = []] = listOf(reply)
    const items = listOf(entries).map(itemIn)
    const end = items.at(-1)?.id ?? (known === 1 ? after : String(newest || since || this.#since))
    return { items, end, isGap: known !== 1, isCut: items.length > 0 && end !== newest }
  }

  isBefore(one: string, other: string): boolean {
    return isPlaceBefore(one, other)
  }

  async close(): Promise<void> {
    if (this.#outbox !== null && this.#connection?.status === 'ready') await this.#outbox.flush()
    this.#isClosed = true
    this.#stopListening?.()
    this.#callOffRenewal?.()
    this.#end()
  }

  /** Keeps the feed active; gives where it began, and its newest place. @throws FluxError `unavailable` */
  async #renew(): Promise<string[]> {
    try {
      const reply = texts(await this.#run('activate-moves', [UNREAD_MS, KEPT_MS]))
      this.#since = reply[0] ?? this.#since
      return reply
    } catch (cause) {
      throw unavailable('Redis can not be reached for the stream of moves', { cause })
    }
  }

  #renewLater(): void {
    this.#callOffRenewal?.()
    this.#callOffRenewal = this.#options.clock.after(RENEWAL_MS, () => {
      this.#renewLater()
      this.#renew().then(
        () => this.#announce(this.#since),
        () => {},
      )
    })
  }

  /** This server publishes, at least for so many milliseconds. */
  #begin(left: number): void {
    if (this.#isClosed) return
    this.#outbox ??= new Outbox({
      append: async (values) => texts(await this.#run('append-moves', [KEPT_ENTRIES, KEPT_MS, ...values])).map(Number),
      since: () => timeOf(this.#since),
      onFault: this.#logFault,
    })
    this.#callOffEnd?.()
    this.#callOffEnd = this.#options.clock.after(left, () => void this.start())
  }

  #end(): void {
    this.#callOffEnd?.()
    this.#outbox?.close()
    this.#outbox = null
    this.#connection?.disconnect()
    this.#connection = null
  }

  async #run(script: ScriptName, values: readonly (string | number)[]) {
    return sendScript(await this.#connected(), script, this.#root, values)
  }

  async #connected(): Promise<Connection> {
    if (this.#isClosed) throw unavailable('the server is stopping')
    if (this.#connection === null) {
      this.#connection = this.#options.connect('store')
      this.#connection.on('error', (error) => this.#options.log.debug('a connection of the feed failed', { error }))
    }
    await untilReady(this.#connection, CONNECT_MS)
    return this.#connection
  }
}
