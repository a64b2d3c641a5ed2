// store/redis: contexts in Redis, for any number of servers. A partition is one slot of a cluster, and each commit is one script in one partition.
import { randomBytes } from 'node:crypto'
import type { ContextId } from '../../model/context.ts'
import { FluxError, inDoubt, unavailable } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'
import type { CommitOutcome, Page, Store, StoredContext, Write } from '../../ports/store.ts'
import { connect, RedisError, untilReady, type Connection, type RedisAddress } from './connection.ts'
import { Gather } from './gather.ts'
import { definitionKey, partitionKey } from './keys.ts'
import { merged, type Source } from './merge.ts'
import { checkNamespace, checkRedis } from './namespace.ts'
import { codeOf, lists, runScript, texts, type Reply, type ScriptName } from './scripts.ts'
import { decodeContext, encodeText, pushWrite } from './stored-context.ts'
import { RedisTime } from './time.ts'

export interface RedisStoreOptions {
  readonly address: RedisAddress
  readonly namespace: string
  /** Fixed when a namespace is made. */
  readonly partitions: number
  /** Milliseconds without heartbeat after which a server is dead. */
  readonly silence: number
  readonly log: Log
}

/** Milliseconds for which a commit whose answer was lost is asked for again. */
const PATIENCE = 3_000
/** Losses in a row after which a context is reserved, and for how long, milliseconds. */
const RESERVE = { after: 3, for: '20' }
/** Ids read at once, and candidates looked at for them. */
const PIECE = 1_000
const HOPS = 2_000
/** Contexts read, or deleted, by one script: others want to be served too. */
const BULK = 100
/** Milliseconds between two lines in the log about the same trouble. */
const TELL_AGAIN = 10_000

/** What Redis says when it can't serve now, as opposed to being asked for nonsense. */
const CANNOT_NOW = new Set(['LOADING', 'CLUSTERDOWN', 'MASTERDOWN', 'READONLY', 'OOM', 'MISCONF', 'BUSY', 'NOREPLICAS', 'TRYAGAIN', 'NOAUTH', 'WRONGPASS', 'NOPERM'])

/**
 * Connects, and makes the namespace if it isn't there.
 * @throws RedisError in one line when Redis can't be reached, or isn't set up so that contexts are safe there
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const connection = connect(options.address, 'store')
  const store = new RedisStore(connection, options)
  try {
    await untilReady(connection, PATIENCE)
    if (connection.status !== 'ready') throw new RedisError(`Redis at ${options.address.place} does not get ready`)
    await checkRedis(connection, options.log)
    await checkNamespace(connection, options)
    await store.learnTime()
    return store
  } catch (error) {
    connection.disconnect()
    throw error
  }
}

export class RedisStore implements Store {
  readonly partitions: number
  readonly #connection: Connection
  readonly #options: RedisStoreOptions
  readonly #roots: readonly string[]
  readonly #time = new RedisTime()
  readonly #gather: Gather
  /** Names this store among all that write. */
  readonly #writer = randomBytes(8).toString('base64url')
  #commits = 0
  /** Since when this server's heartbeats followed one another without a gap, by Redis's time. */
  #steadySince = Infinity
  #lastBeat = -Infinity
  #toldAt = -Infinity
  #closing: Promise<void> | null = null

  constructor(connection: Connection, options: RedisStoreOptions) {
    this.#connection = connection
    this.#gather = new Gather(connection)
    this.#options = options
    this.partitions = options.partitions
    this.#roots = Array.from({ length: options.partitions }, (_, partition) => partitionKey(options.namespace, partition))
    connection.on('error', (error) => this.#tell(error))
    connection.on('ready', () => this.#time.forget())
  }

  /** The time of Redis, epoch milliseconds, never ahead of it. */
  now(): number {
    return this.#time.now()
  }

  async learnTime(): Promise<void> {
    const [seconds, microseconds] = texts(asTexts(await this.#guard(() => this.#connection.time())))
    this.#time.told(Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000))
  }

  async reserveIds({ count, partition }: { count: number; partition: number }): Promise<{ first: ContextId; count: number }> {
    const last = Number(await this.#run('reserve', partition, [count]))
    return { first: (last - count) * this.partitions + (partition === 0 ? this.partitions : partition), count }
  }

  async highestId(): Promise<ContextId> {
    const highest = await this.#everywhere((partition) => this.#run('highest', partition, []))
    return Math.max(0, ...highest.flatMap(texts).map(Number))
  }

  trouble(): string | null {
    if (this.#closing) return 'the store is closed'
    return this.#connection.status === 'ready' ? null : 'Redis is out of reach'
  }

  async load({ id }: { id: ContextId }): Promise<StoredContext | null> {
    const [fields = []] = lists(await this.#run('load', id % this.partitions, [id]))
    return decodeContext(id, fields)
  }

  async version({ id }: { id: ContextId }): Promise<number | null> {
    const version = await this.#run('version', id % this.partitions, [id])
    return version === null ? null : Number(version)
  }

  async commit({ writes, lost = 0 }: { writes: readonly Write[]; lost?: number }): Promise<CommitOutcome> {
    const [first] = writes
    if (!first) return { ok: true }
    const partition = first.context.id % this.partitions
    if (writes.some(({ context }) => context.id % this.partitions !== partition)) throw new TypeError('the contexts of a commit must be in one partition')
    const values = [this.#writer, String(++this.#commits), lost >= RESERVE.after ? RESERVE.for : '0']
    for (const write of writes) pushWrite(values, write)
    const [code, id, fields = []] = await this.#untilKnown(partition, values)
    if (code === 0) return { ok: true }
    return { ok: false, stale: Number(id), current: decodeContext(Number(id), fields) }
  }

  /** Sends a commit until it is known what became of it. It can be sent again: the script knows its number. */
  async #untilKnown(partition: number, values: readonly string[]): Promise<readonly Reply[]> {
    const end = performance.now() + PATIENCE
    for (let doubtful = false; ;) {
      try {
        const reply = await this.#run('commit', partition, values)
        const [code, detail] = listOf(reply)
        if (code !== 2) return listOf(reply)
        await pause(Number(detail))
      } catch (error) {
        doubtful ||= error instanceof InDoubt
        if (!doubtful || this.#closing) throw error
        await untilReady(this.#connection, Math.max(0, end - performance.now()))
        if (performance.now() >= end) throw inDoubt('Redis went out of reach before it answered: this may have been done, or not', { cause: error })
        // Ready is soon said, and the first commands may fail all the same.
        await pause(10)
      }
    }
  }

  async log({ id, limit }: { id: ContextId; limit: number }): Promise<string[]> {
    return limit > 0 ? texts(await this.#run('rows', id % this.partitions, [id, limit])) : []
  }

  async list({ all, after = 0, skip = 0, limit }: { all: readonly string[] } & Page): Promise<StoredContext[]> {
    if (limit <= 0) return []
    const words = all.map(encodeText)
    // Only a lone partition can pass over matches by itself.
    const alone = this.partitions === 1
    const sources = this.#roots.map((_, partition) => this.#pages(partition, words, { after, skip: alone ? skip : 0, piece: Math.min(PIECE, skip + limit) }))
    const ids = await merged(sources, { skip: alone ? 0 : skip, limit })
    return this.#loadAll(ids)
  }

  #pages(partition: number, words: readonly string[], { after, skip, piece }: { after: ContextId; skip: number; piece: number }): Source {
    let [from, left] = [`(${after}`, skip]
    return async () => {
      while (from !== '') {
        const [next = '', skipped = '', ...ids] = texts(await this.#run('page', partition, [from, left, piece, HOPS, ...words]))
        from = next
        left = Number(skipped)
        if (ids.length > 0) return ids.map(Number)
      }
      return []
    }
  }

  async waitingFor({ any, upTo, after = 0, skip = 0, limit }: { any: readonly string[]; upTo: ContextId } & Page): Promise<ContextId[]> {
    if (limit <= 0 || any.length === 0) return []
    const words = any.map(encodeText)
    const sources = this.#roots.map((_, partition): Source => {
      let last: ContextId | undefined = after
      const piece = Math.min(PIECE, skip + limit)
      return async () => {
        if (last === undefined) return []
        const ids = texts(await this.#run('waiting', partition, [last, upTo, piece, ...words])).map(Number)
        last = ids.length === piece ? ids.at(-1) : undefined
        return ids
      }
    })
    return merged(sources, { skip, limit })
  }

  async claimDue({ now, limit, hideFor }: { now: number; limit: number; hideFor: number }): Promise<{ ids: ContextId[]; next: number | null }> {
    const claims = await this.#everywhere(async (partition) => texts(await this.#run('claim-due', partition, [now, limit, now + hideFor])))
    const claimed: { id: ContextId; time: number }[] = []
    let next = Infinity
    for (const [soonest = '', ...pairs] of claims) {
      if (soonest !== '') next = Math.min(next, Number(soonest))
      for (let place = 0; place < pairs.length; place += 2) claimed.push({ id: Number(pairs[place]), time: Number(pairs[place + 1]) })
    }
    return { ids: claimed.sort((one, other) => one.time - other.time).map(({ id }) => id), next: next === Infinity ? null : next }
  }

  async claimAbandoned({ limit, hideFor }: { owner: string; limit: number; hideFor: number }): Promise<ContextId[]> {
    const { silence } = this.#options
    // After Redis was away nobody's heartbeat is fresh: the others get as long as anyone to send theirs.
    const judges = this.now() - this.#steadySince >= silence
    const ids: ContextId[] = []
    for (const [partition] of this.#roots.entries()) {
      if (ids.length >= limit) break
      ids.push(...texts(await this.#run('claim-abandoned', partition, [limit - ids.length, hideFor, judges ? silence : ''])).map(Number))
    }
    return ids
  }

  async heartbeat({ owner }: { owner: string }): Promise<boolean> {
    const answers = await this.#everywhere(async (partition) => texts(await this.#run('heartbeat', partition, [owner])))
    const now = Number(answers[0]?.[1])
    this.#time.told(now)
    if (now - this.#lastBeat > this.#options.silence) this.#steadySince = now
    this.#lastBeat = now
    return answers.every(([lives]) => lives === '1')
  }

  async putDefinition({ hash, text }: { hash: string; text: string }): Promise<void> {
    await this.#guard(() => this.#connection.set(definitionKey(this.#options.namespace, hash), text))
  }

  async getDefinition({ hash }: { hash: string }): Promise<string | null> {
    return this.#guard(() => this.#connection.get(definitionKey(this.#options.namespace, hash)))
  }

  async purge({ endedBefore, limit }: { endedBefore: number; limit: number }): Promise<number> {
    let purged = 0
    for (const [partition] of this.#roots.entries()) {
      for (let passed = 0; purged < limit;) {
        const look = Math.min(BULK, limit - purged)
        const [deleted = 0, stayed = 0] = texts(await this.#run('purge', partition, [endedBefore, look, passed])).map(Number)
        purged += deleted
        passed += stayed
        if (deleted + stayed < look) break
      }
    }
    return purged
  }

  close(): Promise<void> {
    this.#closing ??= this.#quit()
    return this.#closing
  }

  /** What is under way is answered first. */
  async #quit(): Promise<void> {
    try {
      await this.#connection.quit()
    } catch {
      this.#connection.disconnect()
    }
  }

  async #loadAll(ids: readonly ContextId[]): Promise<StoredContext[]> {
    const found = new Map<ContextId, StoredContext>()
    await this.#everywhere(async (partition) => {
      const own = ids.filter((id) => id % this.partitions === partition)
      for (let place = 0; place < own.length; place += BULK) {
        const some = own.slice(place, place + BULK)
        const contexts = lists(await this.#run('load', partition, some))
        for (const [index, id] of some.entries()) {
          const context = decodeContext(id, contexts[index] ?? [])
          if (context) found.set(id, context)
        }
      }
    })
    return ids.flatMap((id) => found.get(id) ?? [])
  }

  #everywhere<T>(ask: (partition: number) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#roots.map((_, partition) => ask(partition)))
  }

  #run(name: ScriptName, partition: number, values: readonly (string | number)[]): Promise<Reply> {
    return this.#guard(() => runScript(this.#connection, name, this.#roots[partition] ?? '', values))
  }

  /** @throws FluxError `unavailable` when Redis can't serve; InDoubt is one that it may have served all the same */
  async #guard<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#closing) throw unavailable('the server is stopping')
    if (this.#connection.status !== 'ready') throw unavailable('Redis is out of reach')
    this.#gather.hold()
    try {
      return await ask()
    } catch (error) {
      const code = codeOf(error)
      if (code === null) throw new InDoubt(error)
      if (!CANNOT_NOW.has(code)) throw error
      this.#tell(error)
      throw unavailable('Redis can\'t serve now', { cause: error })
    }
  }

  #tell(error: unknown): void {
    if (this.#closing || performance.now() - this.#toldAt < TELL_AGAIN) return
    this.#toldAt = performance.now()
    this.#options.log.error('Redis does not serve', { error })
  }
}

/** The connection broke, or stayed silent, after something was sent. */
class InDoubt extends FluxError {
  constructor(cause: unknown) {
    super({ kind: 'unavailable', detail: 'Redis went out of reach', retryAfter: 1 }, { cause })
  }
}

const listOf = (reply: Reply): readonly Reply[] => {
  if (reply === null || typeof reply !== 'object') throw new TypeError('a script gave no list')
  return reply
}

const asTexts = (time: readonly (string | number)[]): Reply => [...time]

const pause = (milliseconds: number) => new Promise<void>((resolve) => { setTimeout(resolve, milliseconds) })
