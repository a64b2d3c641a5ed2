// store/lmdb: the embedded store, nothing to install. Records on disk, the index in memory, one process at a time.
import type { ContextId } from '../../model/context.ts'
import { unavailable } from '../../model/failure.ts'
import type { Standstill } from '../../model/standstill.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { NotesPlace } from '../../ports/step-watch.ts'
import type { CommitOutcome, Lease, ListQuery, Page, Store, StoredContext, Write } from '../../ports/store.ts'
import { Disk } from './disk.ts'
import { Draft } from './draft.ts'
import { GroupCommit } from './group-commit.ts'
import { Memory } from './memory.ts'
import { notesPlace, readNote } from './notes.ts'
import { rebuild } from './rebuild.ts'
import { decode } from './stored-context.ts'

export { DataFolderError } from './data-folder.ts'

/**
 * Opens the store in a folder, which is created if missing, and reads the index into memory.
 * @throws DataFolderError when another process has the folder open, or its data is of another format
 */
export async function openLmdbStore({ folder, namespace = 'default', log, clock }: {
  readonly folder: string
  readonly namespace?: string
  readonly log: Log
  readonly clock: Clock
}): Promise<Store> {
  const disk = new Disk(folder, namespace)
  try {
    const start = clock.now()
    const memory = await rebuild(disk, log)
    log.info('store opened', { folder, contexts: memory.size, milliseconds: clock.now() - start })
    return new LmdbStore(disk, memory, notesPlace(folder, namespace))
  } catch (error) {
    await disk.close()
    throw error
  }
}

/** Ids given out at once: each time costs a write to the disk. */
const IDS = 1000

class LmdbStore implements Store {
  readonly partitions = 1
  readonly era = 0
  readonly notes: NotesPlace
  readonly #disk: Disk
  readonly #memory: Memory
  readonly #commits: GroupCommit<Draft>
  #closing: Promise<void> | null = null

  constructor(disk: Disk, memory: Memory, notes: NotesPlace) {
    this.notes = notes
    this.#disk = disk
    this.#memory = memory
    this.#commits = new GroupCommit(() => new Draft(disk, memory))
  }

  async reserveIds({ count }: { count: number }): Promise<{ first: ContextId; count: number }> {
    const given = Math.max(count, IDS)
    return { first: await this.#commits.run((draft) => draft.reserveIds(given)), count: given }
  }

  async highestId(): Promise<ContextId> {
    return this.#memory.highestId
  }

  trouble(): string | null {
    return this.#closing ? 'the store is closed' : this.#disk.trouble
  }

  async load({ id }: { id: ContextId }): Promise<StoredContext | null> {
    await this.#commits.settled((draft) => draft.touches(id))
    return this.#read(id)
  }

  async version({ id }: { id: ContextId }): Promise<number | null> {
    return this.#memory.entry(id)?.version ?? null
  }

  async commit({ writes }: { writes: readonly Write[] }): Promise<CommitOutcome> {
    return this.#commits.run((draft) => draft.commit(writes))
  }

  async log({ id, limit }: { id: ContextId; limit: number }): Promise<string[]> {
    return limit > 0 ? this.#disk.newestRows(id, limit) : []
  }

  async list(query: ListQuery): Promise<StoredContext[]> {
    const ids = this.#memory.list(query)
    const waited = await this.#commits.settled((draft) => ids.some((id) => draft.touches(id)))
    return (waited ? this.#memory.list(query) : ids).map((id) => this.#read(id)).filter((context) => context !== null)
  }

  async waitingFor({ any, upTo, ...page }: { any: readonly string[]; upTo: ContextId } & Page): Promise<ContextId[]> {
    return this.#memory.waitingFor(any, upTo, page)
  }

  async claimDue(request: { now: number; limit: number; hideFor: number }): Promise<{ ids: ContextId[]; next: number | null }> {
    return this.#memory.claimDue(request)
  }

  async claimAbandoned({ owner, limit }: { owner: string; limit: number; hideFor: number }): Promise<Lease[]> {
    return this.#memory.claimAbandoned(owner, limit)
  }

  async leasedTo({ owner }: { owner: string }): Promise<ContextId[]> {
    return this.#memory.leasedTo(owner)
  }

  /** Nobody listens: no other process can be there. */
  async heartbeat(): Promise<boolean> {
    return true
  }

  async standstill({ owner }: { owner: string }): Promise<Standstill | null> {
    return readNote(this.notes.place, owner)
  }

  async putDefinition({ hash, text }: { hash: string; text: string }): Promise<void> {
    await this.#commits.run((draft) => draft.putDefinition(hash, text))
  }

  async getDefinition({ hash }: { hash: string }): Promise<string | null> {
    return this.#disk.definitions.get(hash) ?? null
  }

  async purge({ endedBefore, limit }: { endedBefore: number; limit: number }): Promise<number> {
    return this.#commits.run((draft) => draft.purge(endedBefore, limit))
  }

  close(): Promise<void> {
    this.#closing ??= this.#commits.close().then(() => this.#disk.close())
    return this.#closing
  }

  #read(id: ContextId): StoredContext | null {
    if (this.#closing) throw unavailable('the server is stopping')
    const bytes = this.#disk.contexts.getBinaryFast(id)
    return bytes === undefined ? null : decode(id, bytes)
  }
}
