// main: reads all that an embedded store has: to say whether it can be read, or to move it into a new namespace of a lone
// Redis, which servers open when all of it is there.
import { resolve } from 'node:path'
import { systemClock } from '../alarms/clock.ts'
import { MAX_LOG_ROWS } from '../model/context.ts'
import { ROW_SPACES, type RowSpace, type StoredRow } from '../model/rows.ts'
import { atEachLevel, type Log } from '../ports/log.ts'
import type { Store } from '../ports/store.ts'
import type { Settings } from '../settings.ts'
import { dataFileIn } from '../store/lmdb/disk.ts'
import { openLmdbStore, type EmbeddedStore } from '../store/lmdb/store.ts'
import { deadAfterOf } from './engine.ts'

/** Contexts, and characters of their texts, that are written at once. */
const PAGE = { limit: 500, characters: 4 * 1024 * 1024 }
/** Rows of one commit. Each may have some hundred kilobytes. */
const ROWS_AT_ONCE = 50
/** All contexts. */
const ALL = { any: [[]] }

export interface Moved {
  readonly contexts: number
  readonly rows: number
  readonly definitions: number
  /** Contexts that can't be read: they are not moved. */
  readonly unreadable: number
  /** Where they are now, without password. */
  readonly place: string
}

/** All contexts behind an id that can be read. */
async function* pagesOf(store: Store, start: number) {
  for (let after: number | null = start; after !== null;) {
    const page = await store.select({ ...ALL, ...PAGE, order: 'asc', after })
    yield page.contexts
    after = page.rest
  }
}

/** All rows of a space that can be read, in pages. */
async function* rowPagesOf(store: EmbeddedStore, space: RowSpace) {
  let page: StoredRow[] = []
  do {
    // A row that expires while a move is cut off is there already, and is counted.
    page = await store.listRows({ space, prefix: '', limit: ROWS_AT_ONCE, withExpired: true, after: page.at(-1) })
    yield page
  } while (page.length === ROWS_AT_ONCE)
}

/**
 * Reads all contexts of the embedded store, with their logs, and all its rows. `unreadable`: a line for each record that
 * can't be read.
 * @throws Error with one line when there is no data, a server has it open, or its file is damaged
 */
export async function examineData({ data: folder, namespace }: Settings) {
  const file = dataFileIn(folder, namespace)
  const unreadable: string[] = []
  const log = { ...atEachLevel(() => () => {}), error: (line: string) => void unreadable.push(line) }
  const store = await openLmdbStore({ folder, namespace, log, clock: systemClock })
  try {
    let contexts = 0
    for await (const page of pagesOf(store, 0)) {
      for (const { id } of page) await store.log({ id, limit: Infinity })
      contexts += page.length
    }
    for (const space of ROW_SPACES) for await (const _ of rowPagesOf(store, space));
    return { file, contexts, unreadable }
  } finally {
    await store.close()
  }
}

/** Contexts that were written, of so many. */
type OnProgress = (done: number, total: number) => void

/**
 * Moves the data in the folder of the settings into the namespace of the settings. The folder stays as it is. A move that
 * was cut off goes on when it is called again.
 * @throws Error with one line when a server has the data open, there is none, the namespace is not empty, or what is there
 * in the end is not what was read
 */
export async function moveData(
  settings: Settings,
  { redisUrl, log, onProgress }: { readonly redisUrl: string; readonly log: Log; readonly onProgress: OnProgress },
): Promise<Moved> {
  const [{ explore }, { openRedisStore }] = await Promise.all([
    import('../store/redis/connection.ts'),
    import('../store/redis/store.ts'),
  ])
  const { data: folder, namespace } = settings
  dataFileIn(folder, namespace)
  const address = await explore(redisUrl)
  if (address.cluster) throw new Error('contexts can be moved to a single Redis only, not to a cluster')
  const source = await openLmdbStore({ folder, namespace, log, clock: systemClock })
  try {
    const target = await openRedisStore({
      address,
      namespace,
      partitions: 1,
      deadAfterMs: deadAfterOf(settings),
      source: `${resolve(folder)}@${source.revision}`,
      log,
    })
    try {
      // No id is given out a second time, also of those contexts that are gone.
      if ((await target.highestId()) === 0 && source.lastId > 0)
        await target.reserveIds({ count: source.lastId, partition: 0 })
      const rows = await copyRows(source, target)
      const unreadable = await copyContexts(source, target, onProgress)
      const counts = await Promise.all(ROW_SPACES.map((space) => target.countRows({ space })))
      compare(
        'rows',
        rows,
        counts.reduce((sum, count) => sum + count),
      )
      const contexts = await target.count(ALL)
      compare('contexts', (await source.count(ALL)) - unreadable, contexts)
      await target.endMove()
      const definitions = await target.countRows({ space: 'definitions' })
      return { contexts, rows: rows - definitions, definitions, unreadable, place: address.place }
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

function compare(what: string, read: number, found: number) {
  if (read !== found) throw new Error(`${read} ${what} were read, and ${found} are there: the move is not done`)
}

async function copyRows(source: EmbeddedStore, target: Store) {
  let count = 0
  for (const space of ROW_SPACES)
    for await (const page of rowPagesOf(source, space)) {
      await target.commit({ writes: [], rows: page.map((row) => ({ ...row, space })) })
      count += page.length
    }
  return count
}

/** Gives how many can't be read. */
async function copyContexts(source: Store, target: Store, onProgress: OnProgress) {
  const total = await source.count(ALL)
  // In memory alone, from which the store takes it again when it is opened: those that have been notified are due at 0.
  const notified = new Set((await source.claimDue({ now: 0, limit: Infinity, hideFor: 1 })).ids)
  // Those of the page that was cut off may be missing; all before it are there.
  const { contexts: there } = await target.select({ ...ALL, order: 'desc', limit: 1, skip: PAGE.limit })
  const first = there[0]?.id ?? 1
  let read = await target.count({ ...ALL, before: first })
  for await (const page of pagesOf(source, first - 1)) {
    await Promise.all(
      page.map(async (context) =>
        target.commit({
          writes: [
            {
              context,
              previous: 0,
              changed: Object.keys(context.parts),
              log: await source.log({ id: context.id, limit: MAX_LOG_ROWS }),
              notifies: notified.has(context.id) ? [context.id] : [],
              answersNotification: false,
            },
          ],
        }),
      ),
    )
    read += page.length
    onProgress(read, total)
  }
  return total - read
}
