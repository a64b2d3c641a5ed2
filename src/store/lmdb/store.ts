// store/lmdb: the embedded store: records on disk, the index in memory, for one process at a time. It needs no
// installation.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { messageOf } from '../../model/error-message.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError, unavailable } from '../../model/failure.ts'
import { logOnce } from '../../model/log-once.ts'
import { type RowSpace, startOfRows, type StoredRow } from '../../model/rows.ts'
import { charactersOf } from '../../model/texts.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { RowQuery, SelectQuery, Store, StoredContext } from '../../ports/store.ts'
import { unsealed } from './arena.ts'
import { type Disk, openDisk } from './disk.ts'
import { GroupCommit } from './group-commit.ts'
import type { Memory } from './index/memory.ts'
import { rebuild } from './index/rebuild.ts'
import { countIds, selectIds } from './index/selected.ts'
import { noteFileIn, NOTES_MODULE, readNote } from './notes.ts'
import { decodeStored } from './stored-context.ts'
import { decodeRow, isExpired } from './row-tables.ts'
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
    return storeOn(disk, memory, { noteFile: noteFileIn(folder, namespace), log, clock })
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
/** Rows looked at in one turn of the event loop: a few milliseconds. */
const ROWS_AT_ONCE = 1000

/** What the store is made of. */
interface Parts {
  readonly disk: Disk
  readonly memory: Memory
  readonly commits: GroupCommit<WriteGroup>
  readonly clock: Clock
  readonly log: Log
  /** To be called before the disk is read. @throws FluxError `unavailable` when the store is closed, or will be */
  readonly checkOpen: () => void
}

/**
 * Reads a context from the disk. A damaged one is also removed from the index, so that no list, broadcast or timer meets
 * it again. @throws FluxError `unreadable`
 */
function readContext({ disk, memory, log, checkOpen }: Parts, id: ContextId): StoredContext | null {
  checkOpen()
  const bytes = disk.contexts.getBinaryFast(id)
  try {
    return bytes === undefined ? null : decodeStored(id, bytes, ({ slot }) => disk.parts.getBinaryFast([id, slot]))
  } catch (error) {
    memory.remove(id)
    logOnce(log, messageOf(error), { contextId: id, error })
    throw error
  }
}

/** The newest rows of a context's log, in ascending order. Unreadable ones are left out and logged. */
function newestRows({ disk, log }: Parts, id: ContextId, limit: number): string[] {
  const newestFirst: string[][] = []
  let count = 0
  const range = { start: [id, Number.MAX_SAFE_INTEGER], end: [id, -1], reverse: true }
  for (const { key, value } of disk.rows.getRange(range)) {
    try {
      const rows: string[] = JSON.parse(unsealed(value).toString())
      newestFirst.push(rows)
      count += rows.length
    } catch (error) {
      const text = `row ${key[1]} of the log of context ${id} can't be read, and is left out`
      logOnce(log, text, { contextId: id, row: key[1], error })
    }
    if (count >= limit) break
  }
  return newestFirst.toReversed().flat().slice(-limit)
}

/** As `Store.selectIds`, in several turns of the event loop, because skipping a million contexts takes long. */
async function idsOf(memory: Memory, query: SelectQuery) {
  for (let { skip = 0, ...from } = query; ;) {
    const { ids, rest } = from.limit > 0 ? selectIds(memory, { ...from, skip }) : { ids: [], rest: null }
    if (rest === null || skip === 0 || ids.length > 0) return { ids, rest: rest?.behind ?? null }
    skip = rest.skip
    from = { ...from, [from.order === 'asc' ? 'after' : 'before']: rest.behind }
    await nextTurn()
  }
}

/** The verbs of the port that find contexts by their keys. */
const selections = (parts: Parts) =>
  ({
    selectIds: (query) => idsOf(parts.memory, query),
    async select({ characters = Infinity, ...query }) {
      const early = await idsOf(parts.memory, query)
      const hasWaited = await parts.commits.settled((group) => early.ids.some((id) => group.touches(id)))
      const { ids, rest } = hasWaited ? await idsOf(parts.memory, query) : early
      const contexts: StoredContext[] = []
      let left = characters
      for (const id of ids) {
        if (left <= 0) return { contexts, rest: contexts.at(-1)?.id ?? null }
        try {
          const context = readContext(parts, id)
          if (context === null) continue
          contexts.push(context)
          left -= charactersOf(context.parts)
        } catch (error) {
          if (!(error instanceof FluxError && error.failure.kind === 'unreadable')) throw error
        }
      }
      return { contexts, rest }
    },
    async count(selection) {
      let count = 0
      for (let from = selection; ;) {
        const { count: more, rest } = countIds(parts.memory, from)
        count += more
        if (rest === null) return count
        from = { ...selection, after: rest }
        await nextTurn()
      }
    },
  }) satisfies Partial<Store>

/** The verbs of the port that read and sweep rows. */
const rowQueries = ({ disk, memory, commits, clock, log, checkOpen }: Parts) =>
  ({
    async readRow({ space, key }) {
      if (commits.isWriting) await commits.settled((group) => group.touchesRows(space, key))
      checkOpen()
      const row = disk.rowTables.read(space, key)
      return row === null || isExpired(row, clock.now()) ? null : { partition: 0, key, ...row }
    },
    async listRows({ partition = 0, space, prefix, after, limit, withExpired = false }: EmbeddedQuery) {
      if (commits.isWriting) await commits.settled((group) => group.touchesRows(space))
      checkOpen()
      const now = withExpired ? -Infinity : clock.now()
      const rows: StoredRow[] = []
      if (partition !== 0) return rows
      // The next stride begins behind the last key, so lmdb's snapshot is not kept while others write.
      for (let [from, isBehind] = startOfRows(partition, prefix, after); ;) {
        let looked = 0
        for (const { key, bytes } of disk.rowTables.from(space, from, isBehind)) {
          if (rows.length >= limit || !key.startsWith(prefix)) return rows
          try {
            const row = decodeRow(bytes)
            if (!isExpired(row, now)) rows.push({ partition: 0, key, ...row })
          } catch (error) {
            log.error(`the row ${JSON.stringify(key)} of '${space}' can't be read, and is left out`, {
              space,
              key,
              error,
            })
          }
          ;[from, isBehind] = [key, true]
          if (++looked === ROWS_AT_ONCE) break
        }
        if (looked < ROWS_AT_ONCE) return rows
        await nextTurn()
      }
    },
    countRows: async ({ space }) => memory.rowCount(space),
    sweepRows: ({ now, limit }) => commits.run((group) => group.sweepRows(now, Math.min(limit, SWEPT_AT_ONCE))),
  }) satisfies Partial<Store>

function storeOn(
  disk: Disk,
  memory: Memory,
  { noteFile, log, clock }: { readonly noteFile: string; readonly log: Log; readonly clock: Clock },
): EmbeddedStore {
  let closing: Promise<void> | null = null
  const checkOpen = () => {
    if (closing) throw unavailable('the server is stopping')
  }
  const commits = new GroupCommit(() => new WriteGroup(disk, memory, () => clock.now()))
  const parts = { disk, memory, commits, clock, log, checkOpen }
  return {
    ...selections(parts),
    ...rowQueries(parts),
    partitions: 1,
    incarnation: 0,
    notes: { module: NOTES_MODULE, place: noteFile },
    get lastId() {
      return memory.lastId
    },
    get revision() {
      return disk.revision()
    },
    async reserveIds({ count }) {
      const given = Math.max(count, IDS_AT_ONCE)
      return { first: await commits.run((group) => group.reserveIds(given)), count: given }
    },
    highestId: async () => memory.highestId,
    trouble: () => (closing ? 'the store is closed' : disk.trouble()),
    async load({ id }) {
      if (commits.isWriting) await commits.settled((group) => group.touches(id))
      return readContext(parts, id)
    },
    version: async ({ id }) => memory.entry(id)?.version ?? null,
    /** Not an async function, which would cost each commit another promise. */
    commit: (request) => commits.run((group) => group.commit(request)),
    log: async ({ id, limit }) => (limit > 0 ? newestRows(parts, id, limit) : []),
    claimDue: async (request) => memory.claimDue(request),
    claimAbandoned: async (request) => memory.owners.claim(request, clock.now()),
    leasedTo: async ({ owner }) => memory.owners.of(owner),
    /** There is only this one, which is not noted. */
    servers: async () => [],
    /** No other process can use this store, so a heartbeat is not needed. */
    heartbeat: async () => true,
    standstill: async ({ owner }) => readNote(noteFile, owner),
    purge: ({ endedBefore, limit }) => commits.run((group) => group.purge(endedBefore, limit)),
    close() {
      closing ??= commits.close().then(() => disk.close())
      return closing
    },
  }
}
