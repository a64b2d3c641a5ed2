// store/lmdb: the embedded store: records on disk, the index in memory, for one process at a time. It needs no
// installation.
import type { ContextId } from '../../model/context.ts'
import { FluxError, unavailable } from '../../model/failure.ts'
import type { Standstill } from '../../model/standstill.ts'
import { charactersOf } from '../../model/texts.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { NotesPlace } from '../../ports/step-watch.ts'
import type {
  CommitOutcome,
  AbandonedLease,
  ListQuery,
  PageRequest,
  Store,
  StoredContext,
  Write,
} from '../../ports/store.ts'
import { type Disk, openDisk } from './disk.ts'
import { GroupCommit } from './group-commit.ts'
import { Memory } from './index/memory.ts'
import { fileNotesPlace, readNote } from './notes.ts'
import { rebuild } from './index/rebuild.ts'
import type { Gauge } from './space.ts'
import { decodeStored } from './records/stored-context.ts'
import { WriteGroup } from './write-group.ts'
import { messageOf } from '../../model/error-message.ts'

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
}): Promise<Store> {
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

/** Ids that are issued at once, because each time costs a write to the disk. */
const IDS_AT_ONCE = 1000
/** Candidates for a list that are examined in one turn of the event loop: about a millisecond. */
const MAX_HOPS = 10_000

/** Most parts of logs that are remembered as unreadable, so that each is logged once. */
const MAX_LOGGED_ROWS = 10_000

class LmdbStore implements Store {
  readonly partitions = 1
  readonly incarnation = 0
  readonly notes: NotesPlace
  readonly #disk: Disk
  readonly #memory: Memory
  readonly #log: Log
  readonly #clock: Clock
  readonly #commits: GroupCommit<WriteGroup>
  /** Parts of logs that were logged as unreadable. */
  readonly #loggedRows = new Set<string>()
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
    this.#commits = new GroupCommit(() => new WriteGroup(disk, memory))
  }

  async reserveIds({ count }: { count: number }): Promise<{ first: ContextId; count: number }> {
    const given = Math.max(count, IDS_AT_ONCE)
    return { first: await this.#commits.run((group) => group.reserveIds(given)), count: given }
  }

  async highestId(): Promise<ContextId> {
    return this.#memory.highestId
  }

  trouble(): string | null {
    return this.#closing ? 'the store is closed' : this.#disk.trouble
  }

  async load({ id }: { id: ContextId }): Promise<StoredContext | null> {
    if (this.#commits.isWriting) await this.#commits.settled((group) => group.touches(id))
    return this.#read(id)
  }

  async version({ id }: { id: ContextId }): Promise<number | null> {
    return this.#memory.entry(id)?.version ?? null
  }

  /** Not an async function, which would cost each commit another promise. */
  commit({ writes }: { writes: readonly Write[] }): Promise<CommitOutcome> {
    return this.#commits.run((group) => group.commit(writes))
  }

  async log({ id, limit }: { id: ContextId; limit: number }): Promise<string[]> {
    return limit > 0 ? this.#disk.rows.newest(id, limit, (row, error) => this.#logRow(id, row, error)) : []
  }

  async list(query: ListQuery): Promise<StoredContext[]> {
    for (;;) {
      const ids = await this.#find(query)
      const waited = await this.#commits.settled((group) => ids.some((id) => group.touches(id)))
      const onPage = waited ? await this.#find(query) : ids
      const before = this.#memory.size
      const contexts = this.#readAll(onPage, query.characters ?? Infinity)
      // An unreadable record is left out of the index when it is found, so the page is searched again to fill its
      // place.
      if (this.#memory.size === before) return contexts
    }
  }

  async waitingFor({
    any,
    upTo,
    ...page
  }: { any: readonly string[]; upTo: ContextId } & PageRequest): Promise<ContextId[]> {
    return this.#memory.waitingFor(any, upTo, page)
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

  /** Logs an unreadable part of a log, once, because a log is read whenever its context is shown. */
  #logRow(id: ContextId, row: number, error: unknown): void {
    const name = `${id}:${row}`
    if (this.#loggedRows.has(name) || this.#loggedRows.size >= MAX_LOGGED_ROWS) return
    this.#loggedRows.add(name)
    this.#log.error(`a part of the log of context ${id} can't be read, and is left out`, { contextId: id, row, error })
  }

  /** Reads the contexts that can be read, until they have so many characters. */
  #readAll(ids: readonly ContextId[], characters: number): StoredContext[] {
    const contexts: StoredContext[] = []
    let size = 0
    for (const id of ids) {
      try {
        const context = this.#read(id)
        if (context === null) continue
        contexts.push(context)
        if (characters !== Infinity) size += charactersOf(context.parts)
        if (size >= characters) break
      } catch (error) {
        if (!(error instanceof FluxError && error.failure.kind === 'unreadable')) throw error
      }
    }
    return contexts
  }

  /** Searches in several turns of the event loop, because skipping a million contexts takes long. */
  async #find(query: ListQuery): Promise<ContextId[]> {
    const { ids, rest } = this.#memory.list(query, MAX_HOPS)
    const found = [...ids]
    for (let more = rest; more !== null;) {
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
      const next = this.#memory.list({ ...query, ...more }, MAX_HOPS)
      found.push(...next.ids)
      more = next.rest
    }
    return found
  }

  /**
   * @throws FluxError `unreadable`; the context is then also left out of the index, so that no list, broadcast or timer
   * meets it again
   */
  #read(id: ContextId): StoredContext | null {
    if (this.#closing) throw unavailable('the server is stopping')
    const bytes = this.#disk.record(id)
    try {
      return bytes === undefined ? null : decodeStored(id, bytes, ({ slot }) => this.#disk.largePart(id, slot))
    } catch (error) {
      if (this.#memory.entry(id) !== null) this.#log.error(messageOf(error), { contextId: id, error })
      this.#memory.remove(id)
      throw error
    }
  }
}
