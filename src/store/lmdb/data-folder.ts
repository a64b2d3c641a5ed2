// store/lmdb: who may open the data folder, and whether what lies there is ours.
import { closeSync, mkdirSync, openSync, readSync } from 'node:fs'
import { tryLock } from 'fs-native-extensions'

/** The data folder can't be used; the message says why in one line. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError'
}

/** How every file of lmdb begins, after the header of its first page. */
const MAGIC = 0xbeefc0de
const MAGIC_AT = 24

/**
 * Makes the folder if need be and takes its lock; gives the lock's descriptor, to be closed. The kernel holds it for the open file and frees it
 * with the process, however that ends, and within one process it keeps out a second store too.
 * @throws DataFolderError when someone else has it
 */
export function lockFolder(folder: string, file: string): number {
  let descriptor: number
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    descriptor = openSync(file, 'a', 0o600)
  } catch (error) {
    throw new DataFolderError(`the data folder ${folder} can't be used: ${messageOf(error)}`, { cause: error })
  }
  if (tryLock(descriptor)) return descriptor
  closeSync(descriptor)
  throw new DataFolderError(`the data folder ${folder} is in use by another server: one at a time can open it`)
}

/** Makes the data file, for its owner alone. @throws Error if there is one that isn't lmdb's: to open that would end the process */
export function prepareFile(file: string): void {
  const descriptor = openSync(file, 'a+', 0o600)
  try {
    const start = Buffer.alloc(MAGIC_AT + 4)
    if (readSync(descriptor, start) > 0 && start.readUInt32LE(MAGIC_AT) !== MAGIC) throw new Error('it is no database')
  } finally {
    closeSync(descriptor)
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
