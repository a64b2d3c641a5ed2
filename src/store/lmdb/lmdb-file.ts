// store/lmdb: how lmdb is opened, and what its interface hides: numbers of its statistics, the reason of a failed commit.
import { open, type RootDatabase } from 'lmdb'
import { ROW_DATABASES } from './row-tables.ts'

/** Databases of a file without rows. */
const DATABASES = 6

/** Opens a data file. */
export function openRoot(file: string): RootDatabase {
  return open({
    path: file,
    noSubdir: true,
    // The promise of a put then means that it is on disk, and a failed flush rejects it: with overlapping sync,
    // `flushed` would never settle.
    overlappingSync: false,
    // A batch that lmdb makes by itself has a promise that nobody sees: its rejection would end the process.
    eventTurnBatching: false,
    encoding: 'binary',
    maxDbs: DATABASES + ROW_DATABASES,
  })
}

/** A number of the statistics. */
export function numberIn(stats: object, name: string): number {
  const value: unknown = Reflect.get(stats, name)
  if (typeof value !== 'number') throw new TypeError(`lmdb does not tell its ${name}`)
  return value
}

/** The reason of a failed commit: lmdb hides it in a promise, which is rejected with it. */
export async function causeOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error
  try {
    await error.commitError
    return error
  } catch (reason) {
    return reason
  }
}
