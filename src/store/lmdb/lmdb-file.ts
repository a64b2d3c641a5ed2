// store/lmdb: opens lmdb, and reads what its interface hides: numbers of its statistics, and the cause of a failed
// commit.
import { open, type RootDatabase } from 'lmdb'
import { ROW_SPACES } from '../../model/rows.ts'

/** Databases of a file: one for each space of rows, and six others. */
const DATABASES = ROW_SPACES.length + 6

/** Opens a data file. `readOnly`: also while another process writes it. */
export function openRoot(file: string, { readOnly = false } = {}): RootDatabase {
  return open({
    readOnly,
    path: file,
    noSubdir: true,
    // So the promise of a put resolves when it is on disk, and is rejected when the flush fails. With overlapping sync,
    // `flushed` would never settle in that case.
    overlappingSync: false,
    // The promise of a batch that lmdb starts by itself is not accessible, and its rejection would end the process.
    eventTurnBatching: false,
    encoding: 'binary',
    maxDbs: DATABASES,
  })
}

/** A number of the statistics. */
export function numberIn(stats: object, name: string): number {
  const value: unknown = Reflect.get(stats, name)
  if (typeof value !== 'number') throw new TypeError(`lmdb does not tell its ${name}`)
  return value
}

/** The cause of a failed commit, which lmdb stores in a promise that is rejected with it. */
export async function causeOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error
  try {
    await error.commitError
    return error
  } catch (reason) {
    return reason
  }
}
