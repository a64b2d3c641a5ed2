// store/lmdb: the embedded store: records on disk, the index in memory, for one process at a time. It needs no
// installation.
import type { ContextId } from '../../model/context.ts'
import { unavailable } from '../../model/failure.ts'
import type { RowSpace, StoredRow } from '../../model/rows.ts'
import type { Standstill } from '../../model/standstill.ts'
import type { Clock } from '../../ports/clock.ts'
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
import { ContextReader } from './context-reader.ts'
import { type Disk, openDisk } from './disk.ts'
import { GroupCommit } from './group-commit.ts'
import { Memory } from './index/memory.ts'
import { fileNotesPlace, readNote } from './notes.ts'
import { rebuild } from './index/rebuild.ts'
import { isExpired } from './row-group.ts'
import { listRows } from './row-list.ts'
import type { Gauge } from './space.ts'
import { WriteGroup } from './write-group.ts'

/**
 * Opens the store in a folder, which is created if missing, and reads the index into memory.
 * @throws DataFolderError when another process has the folder open, or its data is of another format or damaged
 */
export async function openLmdbStore({
  folder,
  namespace = 'default',
  minFree = 0,
  gauge,
  log,
  clock,
}: {
  readonly folder: string
  readonly namespace?: string
  /** Bytes that are left free on the disk of the folder; 0 if left out. */
  readonly minFree?: number
  /** Reads the free space; that of the file system if left out. */
  readonly gauge?: Gauge
  readonly log: Log
  readonly clock: Clock
}): Promise<EmbeddedStore> {
  const disk = await openDisk({ folder, namespace, minFree, gauge, log })
  try {
    const start = clock.now()
    const memory = await rebuild(disk, log)
    log.info('store opened', { folder, contexts: memory.size, milliseconds: clock.now() - start })
    return new LmdbStore(disk, memory, { notes: fileNotesPlace(folder, namespace), log, clock })
  } catch (error) {
    await disk.close()
    throw error
  }
}

interface EmbeddedQuery extends Omit<RowQuery, 'space'> {
  readonly space: RowSpace
  readonly withExpired?: boolean
}

/** With what only one who reads all of it needs. */
export interface EmbeddedStore extends Store {
  /** The highest id given out. */
  readonly lastId: ContextId
  /** Another one after each write. */
  readonly revision: number
  /** As `Store.listRows`, of any space; `withExpired`: also what has expired and is not deleted yet. */
  listRows(query: EmbeddedQuery): Promise<StoredRow[]>
}

/** Ids that are issued at once, because each time costs a write to the disk. */
const IDS_AT_ONCE = 1000
/** Rows swept by one group: others wait for it. */
const SWEPT_AT_ONCE = 10_000

class LmdbStore implements EmbeddedStore {
  readonly partitions = 1
  readonly incarnation = 0
  readonly notes: NotesPlace
  readonly #disk: Disk
  readonly #memory: Memory
  readonly #log: Log
  readonly #clock: Clock
  readonly #commits: GroupCommit<WriteGroup>
  readonly #reader: ContextReader
  #closing: Promise<void> | null = null

  constructor(
    disk: Disk,
    memory: Memory,
    { notes, log, clock }: { readonly notes: NotesPlace; readonly log: Log; readonly clock: Clock },
  ) {
    this.notes = notes
    this.#clock = clock
    this.#disk = disk
    this.#memory = memory
    this.#log = log
    this.#commits = new GroupCommit(() => new WriteGroup(disk, memory, () => clock.now()))
    const checkOpen = () => this.#checkOpen()
    this.#reader = new ContextReader({ disk, memory, commits: this.#commits, log, checkOpen })
  }

  async reserveIds({ count }: { count: number }): Promise<{ first: ContextId; count: number }> {
    const given = Math.max(count, IDS_AT_ONCE)
    return { first: await this.#commits.run((group) => group.reserveIds(given)), count: given }
  }

  get lastId(): ContextId {
    return this.#memory.lastId
  }

  get revision(): number {
    return this.#disk.revision
  }

  async highestId(): Promise<ContextId> {
    return this.#memory.highestId
  }

  trouble(): string | null {
    return this.#closing ? 'the store is closed' : this.#disk.trouble
  }

  async load({ id }: { id: ContextId }): Promise<StoredContext | null> {
    if (this.#commits.isWriting) await this.#commits.settled((group) => group.touches(id))
    return this.#reader.read(id)
  }

  async version({ id }: { id: ContextId }): Promise<number | null> {
    return this.#memory.entry(id)?.version ?? null
  }

  /** Not an async function, which would cost each commit another promise. */
  commit(request: CommitRequest): Promise<CommitOutcome> {
    return this.#commits.run((group) => group.commit(request))
  }

  async readRow({ space, key }: { space: RowSpace; key: string }): Promise<StoredRow | null> {
    if (this.#commits.isWriting) await this.#commits.settled((group) => group.touchesRows(space, key))
    this.#checkOpen()
    const row = this.#disk.rowTables.read(space, key)
    return row === null || isExpired(row, this.#clock.now()) ? null : { partition: 0, key, ...row }
  }

  async listRows({ withExpired = false, ...query }: EmbeddedQuery): Promise<StoredRow[]> {
    if (this.#commits.isWriting) await this.#commits.settled((group) => group.touchesRows(query.space))
    this.#checkOpen()
    return listRows(this.#disk, query, { now: withExpired ? -Infinity : this.#clock.now(), log: this.#log })
  }

  async countRows({ space }: { space: RowSpace }): Promise<number> {
    return this.#memory.rowCount(space)
  }

  async sweepRows({ now, limit }: { now: number; limit: number }): Promise<number> {
    return this.#commits.run((group) => group.sweepRows(now, Math.min(limit, SWEPT_AT_ONCE)))
  }

  async newest({ key }: { key: string }): Promise<ContextId | null> {
    return this.#memory.newest(key)
  }

  async log({ id, limit }: { id: ContextId; limit: number }): Promise<string[]> {
    return this.#reader.logRows(id, limit)
  }

  select(query: SelectQuery): Promise<SelectedPage> {
    return this.#reader.select(query)
  }

  count(selection: Selection): Promise<number> {
    return this.#reader.count(selection)
  }

  waitingFor(query: WaitingQuery): Promise<ContextId[]> {
    return this.#reader.waitingFor(query)
  }

  async claimDue(request: {
    now: number
    limit: number
    hideFor: number
  }): Promise<{ ids: ContextId[]; next: number | null }> {
    return this.#memory.claimDue(request)
  }

  async claimAbandoned(request: Parameters<Store['claimAbandoned']>[0]): Promise<AbandonedLease[]> {
    return this.#memory.claimAbandoned({ ready: [], ...request, now: this.#clock.now() })
  }

  async leasedTo({ owner }: { owner: string }): Promise<ContextId[]> {
    return this.#memory.leasedTo(owner)
  }

  /** There is only this one, which is not noted. */
  async servers(): Promise<ServerSeen[]> {
    return []
  }

  /** No other process can use this store, so a heartbeat is not needed. */
  async heartbeat(): Promise<boolean> {
    return true
  }

  async standstill({ owner }: { owner: string }): Promise<Standstill | null> {
    return readNote(this.notes.place, owner)
  }

  async putDefinition({ hash, text }: { hash: string; text: string }): Promise<void> {
    await this.#commits.run((group) => group.putDefinition(hash, text))
  }

  async definitions(): Promise<string[]> {
    return [...this.#disk.definitions.getKeys()]
  }

  async getDefinition({ hash }: { hash: string }): Promise<string | null> {
    return this.#disk.definitions.get(hash) ?? null
  }

  async purge({ endedBefore, limit }: { endedBefore: number; limit: number }): Promise<number> {
    return this.#commits.run((group) => group.purge(endedBefore, limit))
  }

  close(): Promise<void> {
    this.#closing ??= this.#commits.close().then(() => this.#disk.close())
    return this.#closing
  }

  /** @throws FluxError `unavailable` when it is closed, or will be */
  #checkOpen(): void {
    if (this.#closing) throw unavailable('the server is stopping')
  }
}
