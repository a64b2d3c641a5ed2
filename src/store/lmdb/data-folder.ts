// store/lmdb: the data folder: who may open it, and whether there has been data in it.
import { closeSync, fsyncSync, ftruncateSync, mkdirSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { tryLock } from 'fs-native-extensions'
import type { Log } from '../../ports/log.ts'
import { messageOf } from '../../model/error-message.ts'

/** The data folder can't be used; the message says why in one line. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError'
}

/**
 * Makes the folder if need be and takes its lock; gives the lock's descriptor, to be closed. The kernel holds it for
 * the open file and frees it with the process, however that ends, and within one process it keeps out a second store
 * too.
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

/** Stands in the lock's file since there has been data: a file that is gone or empty afterwards was lost. */
const MARK = 'The data file beside this one has been written. Without it, this folder is refused.\n'

/** Whether there has been data. */
export function isMarked(file: string): boolean {
  return readFileSync(file, 'utf8') === MARK
}

/** Notes that there is data, as well as that can be done: a full disk must not keep what is there from being read. */
export function mark(descriptor: number, log: Log): void {
  try {
    ftruncateSync(descriptor)
    writeSync(descriptor, MARK)
    fsyncSync(descriptor)
  } catch (error) {
    log.warn('the data folder could not be marked as one with data', { error })
  }
}

/** Bytes of the data file; 0 if there is none. */
export function fileBytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** Makes the data file, for its owner alone, if there is none. */
export function makeFile(file: string): void {
  closeSync(openSync(file, 'a', 0o600))
}
