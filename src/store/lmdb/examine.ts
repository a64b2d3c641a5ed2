// store/lmdb: refuses a data file that is damaged, before it is opened.
//
// lmdb has no checksums for its pages: it serves a damaged file in part, or as empty, or ends the process. So a process
// of its own reads the file first (`scan-process.ts`): each tree must give as many records as lmdb counted, in the order
// of their keys. A process that ends before it has answered has met a page that can't be read, unless another one ended
// it. What is in the records is protected by their checksums (`arena.ts`): a damaged one makes its own context
// unreadable, and no other.
import { execFile, type ExecFileException } from 'node:child_process'
import { programArguments } from '../../model/node-program.ts'
import { DataFolderError, fileBytesOf } from './data-folder.ts'
import type { Scan } from './scan-process.ts'

/** What to do about damage, for messages. */
export const ADVICE = 'restore a backup of the data folder, as actorflux backup makes it'

export const noFormat = (file: string): string =>
  `the data in ${file} has no format: it is not ours, or a part of it is lost; ${ADVICE}`

/** The database that contains the number of the format. */
export const META = 'meta'

/**
 * Reads all of the file, in another process.
 * @param marked whether the folder has contained data
 * @returns whether there is data
 * @throws DataFolderError that says in one line what is wrong and what to do
 */
export async function examine(file: string, marked: boolean): Promise<boolean> {
  if (fileBytesOf(file) === 0) {
    if (!marked) return false
    const advice = `${ADVICE}, or remove the folder to begin anew`
    throw new DataFolderError(`the data file ${file} is gone or empty, and it was not: ${advice}`)
  }
  const { damage, refusal, counts = {} } = await scan(file)
  // A backup in its place would lose what is there.
  if (refusal !== undefined) throw new DataFolderError(`the data in ${file} can't be read: ${refusal}`)
  if (damage !== undefined) throw new DataFolderError(`the data in ${file} is damaged: ${damage}; ${ADVICE}`)
  // A process that is killed while it creates the file leaves an empty one.
  if ((counts[META] ?? 0) > 0) return true
  if (marked || Object.values(counts).some((count) => count > 0)) throw new DataFolderError(noFormat(file))
  return false
}

function scan(file: string): Promise<Scan> {
  const program = programArguments(new URL('./scan-process', import.meta.url))
  // What the operator lets Node load is for the server.
  const env = { ...process.env, NODE_OPTIONS: '' }
  return new Promise((resolve) => {
    execFile(process.execPath, [...program, file], { env }, (error, stdout) => {
      resolve(stdout === '' ? endOf(error) : JSON.parse(stdout))
    })
  })
}

/** With these, the system ends a process where memory is short, and people end one. */
const OUTER_SIGNALS: ReadonlySet<unknown> = new Set(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'])

/** What it means that there is no answer. */
function endOf(error: ExecFileException | null): Scan {
  if (typeof error?.code === 'string') return { refusal: `no process can be started for it (${error.code})` }
  const how = `a process that read it was ended (${error?.signal ?? error?.code})`
  return OUTER_SIGNALS.has(error?.signal) ? { refusal: how } : { damage: how }
}
