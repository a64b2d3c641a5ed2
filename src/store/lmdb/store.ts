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
import { type Disk, type DiskOptions, openDisk } from './disk.ts'
import { GroupCommit } from './group-commit.ts'
import type { ContextIndex } from './index/context-index.ts'
import { rebuild } from './index/rebuild.ts'
import { countIds, selectIds } from './index/selected.ts'
import { noteFileIn, NOTES_MODULE, readNote } from './notes.ts'
import { decodeStored } from './stored-context.ts'
import { decodeRow, isExpired } from './row-tables.ts'
import { WriteGroup } from './write-group.ts'

interface LmdbOptions extends DiskOptions {
  readonly clock: Clock
}

/**
 * Opens the store in a folder, which is created if missing, and reads the index into memory.
 * @throws DataFolderError when another process has the folder open, or its data is of another format or damaged
 */
export async function openLmdbStore(options: LmdbOptions): Promise<EmbeddedStore> {
  const { folder, log, clock } = options
  const disk = await openDisk(options)
  try {
    const start = clock.now()
    const index = await rebuild(disk, log)
    log.info('store opened', { folder, contexts: index.size, milliseconds: clock.now() - start })
    return storeOn(disk, index, options)
  } catch (error) {
    await disk.close()
    throw error
  }
}

interface EmbeddedQuery extends Omit<RowQuery, 'space'> {
  readonly space: RowSpace
  readonly withExpired?: boolean
}

/** With what a program needs that reads all of it. */
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
/** Rows looked at in one turn of the event loop: a few milliseconds. */
const ROWS_AT_ONCE = 1000

/** As `Store.selectIds`, in several turns of the event loop, because skipping a million contexts takes long. */
async function idsOf(index: ContextIndex, query: SelectQuery) {
  for (let { skip = 0, ...from } = query; ;) {
    const { ids, rest } = from.limit > 0 ? selectIds(index, { ...from, skip }) : { ids: [], rest: null }
    if (rest === null || skip === 0 || ids.length > 0) return { ids, rest: rest?.behind ?? null }
    skip = rest.skip
    from = { ...from, [from.order === 'asc' ? 'after' : 'before']: rest.behind }
    await nextTurn()
  }
}

/** What the store is made of. */
interface Parts {
  readonly disk: Disk
  readonly index: ContextIndex
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
function read({ disk, index, log, checkOpen }: Parts, id: ContextId): StoredContext | null {
  checkOpen()
  const bytes = disk.contexts.getBinaryFast(id)
  try {
    return bytes === undefined ? null : decodeStored(id, bytes, ({ slot }) => disk.parts.getBinaryFast([id, slot]))
  } catch (error) {
    index.remove(id)
    logOnce(log, messageOf(error), { contextId: id, error })
    throw error
  }
}

/** The verbs of the port that find contexts by their keys. */
const selections = (parts: Parts) =>
  ({
    selectIds: (query) => idsOf(parts.index, query),
    async select({ characters = Infinity, ...query }) {
      await parts.commits.settled(() => true)
      const { ids, rest } = await idsOf(parts.index, query)
      await parts.commits.settled((group) => ids.some((id) => group.touches(id)))
      const contexts: StoredContext[] = []
      let left = characters
      for (const id of ids) {
        if (left <= 0) return { contexts, rest: contexts.at(-1)?.id ?? null }
        try {
          const context = read(parts, id)
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
        const { count: more, rest } = countIds(parts.index, from)
        count += more
        if (rest === null) return count
        from = { ...selection, after: rest }
        await nextTurn()
      }
    },
  }) satisfies Partial<Store>

/** The verbs of the port that read rows, and the rows of a log. */
const rowQueries = ({ disk, commits, clock, log, checkOpen }: Parts) =>
  ({
    /** Unreadable rows are left out and logged. */
    async log({ id, limit }) {
      const newestFirst: string[][] = []
      let count = 0
      const range = { start: [id, Number.MAX_SAFE_INTEGER], end: [id, -1], reverse: true }
      for (const { key, value } of disk.rows.getRange(range)) {
        if (count >= limit) break
        try {
          const rows: string[] = JSON.parse(unsealed(value).toString())
          newestFirst.push(rows)
          count += rows.length
        } catch (error) {
          const text = `row ${key[1]} of the log of context ${id} can't be read, and is left out`
          logOnce(log, text, { contextId: id, row: key[1], error })
        }
      }
      return limit > 0 ? newestFirst.toReversed().flat().slice(-limit) : []
    },
    async readRow({ space, key }) {
      await commits.settled((group) => group.touchesRows(space, key))
      checkOpen()
      const row = disk.rowTables.read(space, key)
      return row === null || isExpired(row, clock.now()) ? null : { partition: 0, key, ...row }
    },
    async listRows({ partition = 0, space, prefix, after, limit, withExpired = false }: EmbeddedQuery) {
      await commits.settled((group) => group.touchesRows(space))
      const now = withExpired ? -Infinity : clock.now()
      const rows: StoredRow[] = []
      if (partition !== 0) return rows
      // The next stride begins behind the last key, so lmdb's snapshot is not kept while others write.
      for (let [from, isBehind] = startOfRows(partition, prefix, after); ;) {
        let looked = 0
        checkOpen()
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
  }) satisfies Partial<Store>

function storeOn(disk: Disk, index: ContextIndex, options: LmdbOptions): EmbeddedStore {
  const { folder, namespace, log, clock } = options
  const noteFile = noteFileIn(folder, namespace)
  let closing: Promise<void> | null = null
  const commits = new GroupCommit(() => new WriteGroup(disk, index, () => clock.now()))

  const checkOpen = () => {
    if (closing) throw unavailable('the server is stopping')
  }
  const parts = { disk, index, commits, clock, log, checkOpen }
  return {
    ...selections(parts),
    ...rowQueries(parts),
    partitions: 1,
    incarnation: 0,
    notes: { module: NOTES_MODULE, place: noteFile },
    get lastId() {
      return index.lastId
    },
    get revision() {
      return disk.revision()
    },
    async reserveIds({ count }) {
      const given = Math.max(count, IDS_AT_ONCE)
      return { first: await commits.run((group) => group.reserveIds(given)), count: given }
    },
    highestId: async () => index.highestId,
    trouble: () => (closing ? 'the store is closed' : disk.trouble()),
    async load({ id }) {
      await commits.settled((group) => group.touches(id))
      return read(parts, id)
    },
    version: async ({ id }) => index.entry(id)?.version ?? null,
    /** Not an async function, which would cost each commit another promise. */
    commit: (request) => commits.run((group) => group.commit(request)),

    countRows: async ({ space }) => index.rowCount(space),
    sweepRows: ({ now, limit }) => commits.run((group) => group.sweepRows(now, limit)),

    claimDue: async (request) => index.claimDue(request),
    claimAbandoned: async (request) => index.owners.claim(request, clock.now()),
    leasedTo: async ({ owner }) => index.owners.of(owner),
    /** There is only this one, which is not noted. */
    servers: async () => [],
    /** No other process can use this store, so a heartbeat is not needed. */
    heartbeat: async () => true,
    standstill: async ({ owner }) => readNote(noteFile, owner),
    purge: ({ endedBefore, limit }) => commits.run((group) => group.purge(endedBefore, limit)),
    close: () => (closing ??= commits.close().then(() => disk.close())),
  }
}
