// store/lmdb: the data folder: its lock, and the mark that it has contained data.
import { closeSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tryLock } from 'fs-native-extensions'
import type { Log } from '../../ports/log.ts'
import { messageOf } from '../../model/error-message.ts'

/** The data folder cannot be used; the message says why in one line. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError'
}

/**
 * Creates the folder if necessary and takes its lock; returns the lock's descriptor, which the caller closes. The
 * kernel holds the lock for the open file and releases it when the process ends in any way. Within one process, it
 * excludes a second store, too.
 * @throws DataFolderError when the lock is taken, or the folder cannot be used
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

/**
 * The text of the lock's file once there has been data: if the data file is missing or empty after that, it was lost.
 */
const MARK = 'The data file beside this one has been written. Without it, this folder is refused.\n'

/** Whether the folder has contained data. */
export function isMarked(file: string): boolean {
  return readFileSync(file, 'utf8') === MARK
}

/** Marks the folder as one with data. A failure is only logged: a full disk must not prevent reading. */
export function mark(file: string, log: Log): void {
  try {
    writeFileSync(file, MARK, { flush: true })
  } catch (error) {
    log.warn('the data folder could not be marked as one with data', { error })
  }
}

/** The size of the data file in bytes; 0 if there is none. */
export function fileBytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** Creates the data file if there is none, readable by its owner only. */
export function makeFile(file: string): void {
  closeSync(openSync(file, 'a', 0o600))
}
