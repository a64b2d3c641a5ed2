// store/redis: contexts in Redis, for any number of servers. A partition is one slot of a cluster, and each commit is
// one script in one partition.
import { randomBytes } from 'node:crypto'
import type { ContextId } from '../../model/context.ts'
import { unreadable } from '../../model/failure.ts'
import type { RowSpace, StoredRow } from '../../model/rows.ts'
import { readStandstill, type Standstill } from '../../model/standstill.ts'
import type { Log } from '../../ports/log.ts'
import type { NotesPlace } from '../../ports/steps.ts'
import type {
  Selection,
  SelectQuery,
  ServerSeen,
  CommitOutcome,
  CommitRequest,
  AbandonedLease,
  RowQuery,
  Store,
  StoredContext,
  WaitingQuery,
  SelectedPage,
} from '../../ports/store.ts'
import { PartitionClaims } from './claims.ts'
import { CommitSender } from './commit-sender.ts'
import { connect, outOfReach, RedisError, untilReady, type Connection, type RedisAddress } from './connection.ts'
import { IdNumbers } from './id-numbers.ts'
import { definitionKey, definitionsKey, partitionKey, standstillKey } from './keys.ts'
import { PartitionClient, PATIENCE_MS } from './partition-client.ts'
import { checkNamespace, checkRedis, endMove } from './namespace.ts'
import { redisNotesPlace } from './notes.ts'
import { purge } from './purge.ts'
import { Queries } from './queries.ts'
import { RowQueries } from './rows.ts'
import { listOf, texts } from './scripts.ts'
import { Selections } from './selections.ts'
import { decodeContext, versionOf } from './stored-context.ts'
import { RedisTime } from './time.ts'
import { messageOf } from '../../model/error-message.ts'

export interface RedisStoreOptions {
  readonly address: RedisAddress
  readonly namespace: string
  /** Fixed when a namespace is made. */
  readonly partitions: number
  /** Milliseconds without heartbeat after which a server is dead. */
  readonly deadAfterMs: number
  /** Contexts are moved from there into the namespace, which must be new, or have been made for that. */
  readonly source?: string
  readonly log: Log
}

/**
 * Connects, and makes the namespace if it isn't there.
 * @throws RedisError in one line when Redis can't be reached, or isn't set up so that contexts are safe there
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const connection = connect(options.address, 'store')
  const store = new RedisStore(connection, options)
  let reason = options.address.cluster ? 'the cluster is down' : 'it does not get ready'
  connection.on('error', ({ message }) => {
    reason = message
  })
  try {
    await untilReady(connection, PATIENCE_MS)
    if (connection.status !== 'ready') throw outOfReach(options.address, reason)
    await checkRedis(connection, options.log)
    await checkNamespace(connection, options)
    await store.learnTime()
    return store
  } catch (error) {
    connection.disconnect()
    throw error instanceof RedisError ? error : outOfReach(options.address, messageOf(error))
  }
}

export class RedisStore implements Store {
  readonly partitions: number
  readonly notes: NotesPlace
  readonly #options: RedisStoreOptions
  readonly #connection: Connection
  readonly #client: PartitionClient
  readonly #time = new RedisTime()
  readonly #ids: IdNumbers
  readonly #commits: CommitSender
  readonly #queries: Queries
  readonly #rows: RowQueries
  readonly #selections: Selections
  readonly #claims: PartitionClaims

  constructor(connection: Connection, options: RedisStoreOptions) {
    const { namespace, partitions, log } = options
    this.partitions = partitions
    this.notes = redisNotesPlace(options)
    this.#options = options
    this.#connection = connection
    const roots = Array.from({ length: partitions }, (_, partition) => partitionKey(namespace, partition))
    this.#client = new PartitionClient(connection, { roots, log })
    // Names this store among all that write.
    const writer = randomBytes(8).toString('base64url')
    this.#ids = new IdNumbers(this.#client, { partitions, writer })
    this.#queries = new Queries(this.#client, { partitions, log })
    this.#commits = new CommitSender(this.#client, this.#ids, { partitions, writer })
    this.#rows = new RowQueries(this.#client, partitions)
    this.#selections = new Selections(this.#client, this.#queries, partitions)
    this.#claims = new PartitionClaims(this.#client, { ...options, time: this.#time })
    // The one that came may have a time of its own. If it goes again at once, the next one is asked.
    connection.on('ready', () => void this.learnTime().catch(() => {}))
  }

  /** The time of Redis, epoch milliseconds, never ahead of it. */
  now(): number {
    return this.#time.now()
  }

  get incarnation(): number {
    return this.#client.storeIncarnation
  }

  /** Asks all partitions: the first of them counts, unless it is out of reach. */
  async learnTime(): Promise<void> {
    await this.#client.reachable(async (partition) => {
      const asked = performance.now()
      const [time] = texts(await this.#client.run('time', partition, []))
      this.#time.received({ time: Number(time), asked, partition, storeIncarnation: this.incarnation })
    })
  }

  reserveIds(request: { count: number; partition: number }): Promise<{ first: ContextId; count: number }> {
    return this.#ids.reserve(request)
  }

  highestId(): Promise<ContextId> {
    return this.#ids.highest()
  }

  trouble(): string | null {
    return this.#client.trouble()
  }

  async load({ id }: { id: ContextId }): Promise<StoredContext | null> {
    const [kept = []] = listOf(await this.#client.run('load', id % this.partitions, [0, id]))
    return decodeContext(id, kept)
  }

  async version({ id }: { id: ContextId }): Promise<number | null> {
    const version = await this.#client.run('version', id % this.partitions, [id])
    if (version === null) return null
    try {
      return versionOf(String(version))
    } catch (cause) {
      throw unreadable(id, cause)
    }
  }

  commit(request: CommitRequest): Promise<CommitOutcome> {
    return this.#commits.send(request)
  }

  readRow(row: { partition: number; space: RowSpace; key: string }): Promise<StoredRow | null> {
    return this.#rows.read(row)
  }

  listRows(query: RowQuery): Promise<StoredRow[]> {
    return this.#rows.list(query)
  }

  countRows({ space }: { space: RowSpace }): Promise<number> {
    return this.#rows.count(space)
  }

  sweepRows(request: { now: number; limit: number }): Promise<number> {
    return this.#rows.sweep(request)
  }

  newest(request: { key: string; partition?: number }): Promise<ContextId | null> {
    return this.#queries.newest(request)
  }

  async log({ id, limit }: { id: ContextId; limit: number }): Promise<string[]> {
    return limit > 0 ? texts(await this.#client.run('rows', id % this.partitions, [id, limit])) : []
  }

  select(query: SelectQuery): Promise<SelectedPage> {
    return this.#selections.select(query)
  }

  count(selection: Selection): Promise<number> {
    return this.#selections.count(selection)
  }

  waitingFor(query: WaitingQuery): Promise<ContextId[]> {
    return this.#queries.waitingFor(query)
  }

  claimDue(request: Parameters<Store['claimDue']>[0]): ReturnType<Store['claimDue']> {
    return this.#claims.due(request)
  }

  claimAbandoned(request: Parameters<Store['claimAbandoned']>[0]): Promise<AbandonedLease[]> {
    return this.#claims.abandoned(request)
  }

  leasedTo({ owner }: { owner: string }): Promise<ContextId[]> {
    return this.#claims.leasedTo(owner)
  }

  servers(): Promise<ServerSeen[]> {
    return this.#claims.servers()
  }

  heartbeat({ owner }: { owner: string }): Promise<boolean> {
    return this.#claims.heartbeat(owner)
  }

  async standstill({ owner }: { owner: string }): Promise<Standstill | null> {
    const text = await this.#client.ask((connection) => connection.get(standstillKey(this.#options.namespace, owner)))
    return text === null ? null : readStandstill(text)
  }

  async putDefinition({ hash, text }: { hash: string; text: string }): Promise<void> {
    const { namespace } = this.#options
    await this.#client.ask((connection) => connection.set(definitionKey(namespace, hash), text))
    await this.#client.ask((connection) => connection.sadd(definitionsKey(namespace), hash))
  }

  async definitions(): Promise<string[]> {
    return this.#client.ask((connection) => connection.smembers(definitionsKey(this.#options.namespace)))
  }

  async getDefinition({ hash }: { hash: string }): Promise<string | null> {
    return this.#client.ask((connection) => connection.get(definitionKey(this.#options.namespace, hash)))
  }

  /** For the feed: the store's own connection can send. That it can't is no trouble of the store. */
  publish(channel: string, text: string): Promise<unknown> {
    return this.#connection.publish(channel, text)
  }

  /** All contexts were moved into the namespace: servers may open it. */
  endMove(): Promise<void> {
    return this.#client.ask((connection) => endMove(connection, this.#options.namespace))
  }

  purge(request: { endedBefore: number; limit: number }): Promise<number> {
    return purge(this.#client, this.partitions, request)
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}
