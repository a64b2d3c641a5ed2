// store/redis: contexts in Redis, for any number of servers. A partition is one slot of a cluster, and each commit is one script in one partition.
import { randomBytes, randomInt } from 'node:crypto'
import type { ContextId } from '../../model/context.ts'
import { readStandstill, type Standstill } from '../../model/standstill.ts'
import type { Log } from '../../ports/log.ts'
import type { NotesPlace } from '../../ports/step-watch.ts'
import type { CommitOutcome, Lease, ListQuery, Page, Store, StoredContext, Write } from '../../ports/store.ts'
import { connect, RedisError, untilReady, type Connection, type RedisAddress } from './connection.ts'
import { definitionKey, partitionKey, standstillKey } from './keys.ts'
import { Line, PATIENCE } from './line.ts'
import { merged, type Source } from './merge.ts'
import { checkNamespace, checkRedis } from './namespace.ts'
import { notesPlace } from './notes.ts'
import { lists, texts } from './scripts.ts'
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

/** Losses in a row after which a context is reserved, and for how long, milliseconds. */
const RESERVE = { after: 3, for: '20' }
/**
 * Ids that are passed over by a Redis that may have lost its last moments: more than it can have given out in them. Not always as many, since a Redis that
 * soon goes away again may forget these, too.
 */
const GAP = 100_000
/** Milliseconds until the next look for due contexts when a partition was out of reach. */
const LOOK_AGAIN = 1_000
/** Ids read at once, and candidates looked at for them. */
const PIECE = 1_000
const HOPS = 2_000
/** Contexts read, or deleted, by one script: others want to be served too. */
const BULK = 100
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
  readonly notes: NotesPlace
  readonly #options: RedisStoreOptions
  readonly #connection: Connection
  readonly #line: Line
  readonly #time = new RedisTime()
  /** Names this store among all that write. */
  readonly #writer = randomBytes(8).toString('base64url')
  #commits = 0
  /** Run id of the Redis that gave out ids of each partition last. */
  readonly #givers = new Map<number, string>()
  /** This server's last heartbeat in each partition that took it, and since when they followed one another without a gap there, by Redis's time. */
  readonly #beats = new Map<number, { readonly last: number; readonly steadySince: number }>()

  constructor(connection: Connection, options: RedisStoreOptions) {
    const { namespace, partitions, log } = options
    this.partitions = partitions
    this.notes = notesPlace(options)
    this.#options = options
    this.#connection = connection
    this.#line = new Line(connection, { roots: Array.from({ length: partitions }, (_, partition) => partitionKey(namespace, partition)), log })
    // The one that came may have a time of its own. If it goes again at once, the next one is asked.
    connection.on('ready', () => void this.learnTime().catch(() => {}))
  }

  /** The time of Redis, epoch milliseconds, never ahead of it. */
  now(): number {
    return this.#time.now()
  }

  get era(): number {
    return this.#line.era
  }

  async learnTime(): Promise<void> {
    const [seconds, microseconds] = await this.#line.ask((connection) => connection.time())
    this.#time.told(Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000), this.era)
  }

  async reserveIds({ count, partition }: { count: number; partition: number }): Promise<{ first: ContextId; count: number }> {
    // A Redis that lost its last moments has forgotten the ids it gave then: whoever was told one must not find another context under it.
    const gap = GAP + randomInt(GAP)
    const [number = '', giver = ''] = texts(await this.#line.run('reserve', partition, [count, gap, this.#givers.get(partition) ?? '']))
    this.#givers.set(partition, giver)
    const last = Number(number)
    return { first: (last - count) * this.partitions + (partition === 0 ? this.partitions : partition), count }
  }

  async highestId(): Promise<ContextId> {
    const highest = await this.#line.everywhere((partition) => this.#line.run('highest', partition, []))
    return Math.max(0, ...highest.flatMap(texts).map(Number))
  }

  trouble(): string | null {
    return this.#line.trouble()
  }

  async load({ id }: { id: ContextId }): Promise<StoredContext | null> {
    const [fields = []] = lists(await this.#line.run('load', id % this.partitions, [id]))
    return decodeContext(id, fields)
  }

  async version({ id }: { id: ContextId }): Promise<number | null> {
    const version = await this.#line.run('version', id % this.partitions, [id])
    return version === null ? null : Number(version)
  }

  async commit({ writes, lost = 0 }: { writes: readonly Write[]; lost?: number }): Promise<CommitOutcome> {
    const [first] = writes
    if (!first) return { ok: true }
    const partition = first.context.id % this.partitions
    if (writes.some(({ context }) => context.id % this.partitions !== partition)) throw new TypeError('the contexts of a commit must be in one partition')
    const values = [this.#writer, String(++this.#commits), lost >= RESERVE.after ? RESERVE.for : '0', '0']
    for (const write of writes) pushWrite(values, write)
    const [code, id, fields = []] = await this.#line.commit(partition, values)
    if (code === 0) return { ok: true }
    return { ok: false, stale: Number(id), current: decodeContext(Number(id), fields) }
  }

  async log({ id, limit }: { id: ContextId; limit: number }): Promise<string[]> {
    return limit > 0 ? texts(await this.#line.run('rows', id % this.partitions, [id, limit])) : []
  }

  async list({ all, without, after = 0, skip = 0, limit }: ListQuery): Promise<StoredContext[]> {
    if (limit <= 0) return []
    const words = [without ?? '', ...all].map(encodeText)
    // Only a lone partition can pass over matches by itself.
    const alone = this.partitions === 1
    const sources = this.#sources((partition) => this.#pages(partition, words, { after, skip: alone ? skip : 0, piece: Math.min(PIECE, alone ? limit : skip + limit) }))
    const ids = await merged(sources, { skip: alone ? 0 : skip, limit })
    return this.#loadAll(ids)
  }

  #pages(partition: number, words: readonly string[], { after, skip, piece }: { after: ContextId; skip: number; piece: number }): Source {
    let [from, left] = [`(${after}`, skip]
    return async () => {
      while (from !== '') {
        const [next = '', skipped = '', ...ids] = texts(await this.#line.run('page', partition, [from, left, piece, HOPS, ...words]))
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
    const sources = this.#sources((partition) => {
      let last: ContextId | undefined = after
      const piece = Math.min(PIECE, skip + limit)
      return async () => {
        if (last === undefined) return []
        const ids = texts(await this.#line.run('waiting', partition, [last, upTo, piece, ...words])).map(Number)
        last = ids.length === piece ? ids.at(-1) : undefined
        return ids
      }
    })
    return merged(sources, { skip, limit })
  }

  async claimDue({ now, limit, hideFor }: { now: number; limit: number; hideFor: number }): Promise<{ ids: ContextId[]; next: number | null }> {
    const claims = await this.#line.reachable(async (partition) => texts(await this.#line.run('claim-due', partition, [now, limit, now + hideFor])))
    const claimed: { id: ContextId; time: number }[] = []
    let next = claims.length < this.partitions ? now + LOOK_AGAIN : Infinity
    for (const [soonest = '', ...pairs] of claims) {
      if (soonest !== '') next = Math.min(next, Number(soonest))
      for (let place = 0; place < pairs.length; place += 2) claimed.push({ id: Number(pairs[place]), time: Number(pairs[place + 1]) })
    }
    return { ids: claimed.sort((one, other) => one.time - other.time).map(({ id }) => id), next: next === Infinity ? null : next }
  }

  async claimAbandoned({ limit, hideFor }: { owner: string; limit: number; hideFor: number }): Promise<Lease[]> {
    const { silence } = this.#options
    const now = this.now()
    const claims = await this.#line.reachable(async (partition) => {
      // After a partition was away nobody's heartbeat is fresh there: the others get as long as anyone to send theirs.
      const judges = now - (this.#beats.get(partition)?.steadySince ?? now) >= silence
      return texts(await this.#line.run('claim-abandoned', partition, [limit, hideFor, judges ? silence : '']))
    })
    const leases: Lease[] = []
    for (const pairs of claims) {
      for (let place = 0; place < pairs.length; place += 2) leases.push({ id: Number(pairs[place]), owner: pairs[place + 1] ?? '' })
    }
    return leases
  }

  async leasedTo({ owner }: { owner: string }): Promise<ContextId[]> {
    const ids = await this.#line.reachable(async (partition) => {
      const own: ContextId[] = []
      for (let piece = PIECE; piece === PIECE;) {
        const some = texts(await this.#line.run('leased-to', partition, [owner, own.length, PIECE]))
        own.push(...some.map(Number))
        piece = some.length
      }
      return own
    })
    return ids.flat()
  }

  async heartbeat({ owner }: { owner: string }): Promise<boolean> {
    const answers = await this.#line.reachable(async (partition) => {
      const before = this.#beats.get(partition)
      this.#beats.delete(partition)
      const [lives, time] = texts(await this.#line.run('heartbeat', partition, [owner]))
      const now = Number(time)
      const steady = before !== undefined && now - before.last <= this.#options.silence
      this.#beats.set(partition, { last: now, steadySince: steady ? before.steadySince : now })
      return { lives: lives === '1', now }
    })
    // Nodes of a cluster may have clocks of their own: the first is asked as long as it is there.
    const [first] = answers
    if (first) this.#time.told(first.now, this.era)
    return answers.every(({ lives }) => lives)
  }

  async standstill({ owner }: { owner: string }): Promise<Standstill | null> {
    const text = await this.#line.ask((connection) => connection.get(standstillKey(this.#options.namespace, owner)))
    return text === null ? null : readStandstill(text)
  }

  async putDefinition({ hash, text }: { hash: string; text: string }): Promise<void> {
    await this.#line.ask((connection) => connection.set(definitionKey(this.#options.namespace, hash), text))
  }

  async getDefinition({ hash }: { hash: string }): Promise<string | null> {
    return this.#line.ask((connection) => connection.get(definitionKey(this.#options.namespace, hash)))
  }

  /** For the feed: the store's own connection can send. That it can't is no trouble of the store. */
  publish(channel: string, text: string): Promise<unknown> {
    return this.#connection.publish(channel, text)
  }

  async purge({ endedBefore, limit }: { endedBefore: number; limit: number }): Promise<number> {
    let purged = 0
    for (let partition = 0; partition < this.partitions; partition += 1) {
      for (let passed = 0; purged < limit;) {
        const look = Math.min(BULK, limit - purged)
        const [deleted = 0, stayed = 0] = texts(await this.#line.run('purge', partition, [endedBefore, look, passed])).map(Number)
        purged += deleted
        passed += stayed
        if (deleted + stayed < look) break
      }
    }
    return purged
  }

  close(): Promise<void> {
    return this.#line.close()
  }

  #sources(of: (partition: number) => Source): Source[] {
    return Array.from({ length: this.partitions }, (_, partition) => of(partition))
  }

  async #loadAll(ids: readonly ContextId[]): Promise<StoredContext[]> {
    const found = new Map<ContextId, StoredContext>()
    await this.#line.everywhere(async (partition) => {
      const own = ids.filter((id) => id % this.partitions === partition)
      for (let place = 0; place < own.length; place += BULK) {
        const some = own.slice(place, place + BULK)
        const contexts = lists(await this.#line.run('load', partition, some))
        for (const [index, id] of some.entries()) {
          const context = decodeContext(id, contexts[index] ?? [])
          if (context) found.set(id, context)
        }
      }
    })
    return ids.flatMap((id) => found.get(id) ?? [])
  }
}
