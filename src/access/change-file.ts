// access: replaces the content of a small file atomically. Concurrent changes are serialized, and a crash leaves the
// previous content.
import {
  closeSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../model/error-message.ts'

/** Age of a temporary file after which its command is assumed to have died. */
const STALE_MS = 10_000
/** How long to wait for other commands. It exceeds `STALE_MS`, so a stale temporary file is removed first. */
const MAX_WAIT_MS = 15_000

/**
 * Returns the file's text, or null if there is no such file.
 * @throws Error whose message is one line and names the file
 */
export async function readText(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null
    throw new Error(`${file} can't be read: ${messageOf(error)}`, { cause: error })
  }
}

/**
 * Replaces the file's text by the result of `change`, which gets the present text, or null if there is no file. Only
 * the owner can read the new file. The promise resolves when it is on the disk. The new text is written to `<file>.new`
 * first, which only one command can create at a time. `change` is called again when another command was faster. If it
 * throws, the file is unchanged.
 */
export async function changeFile(file: string, change: (text: string | null) => string): Promise<void> {
  // A symbolic link is kept; the file that it points to is replaced.
  const target = await realpath(file).catch(() => file)
  const fresh = `${target}.new`
  for (const deadline = Date.now() + MAX_WAIT_MS; !(await tryChange(target, fresh, change));) {
    if (Date.now() > deadline)
      throw new Error(`${file} is being changed by another command; if there is none, remove ${fresh}`)
    // Synchronous, so that no other file takes the place of a stale one between the check and the removal.
    const found = statSync(fresh, { throwIfNoEntry: false })
    if (found && Date.now() - found.mtimeMs > STALE_MS) rmSync(fresh, { force: true })
    await sleep(10 + Math.random() * 20)
  }
}

/** Returns false if another command holds the temporary file, or took it over. */
async function tryChange(target: string, fresh: string, change: (text: string | null) => string): Promise<boolean> {
  const folder = dirname(target)
  let descriptor: number
  try {
    descriptor = openSync(fresh, 'wx', 0o600)
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw hasCode(error, 'ENOENT')
      ? new Error(`there is no folder ${folder} to keep ${basename(target)} in`, { cause: error })
      : error
  }
  const { ino } = fstatSync(descriptor)
  const isOurs = () => statSync(fresh, { throwIfNoEntry: false })?.ino === ino
  try {
    writeFileSync(descriptor, change(await readText(target)))
    restoreOwner(descriptor, target)
    fsyncSync(descriptor)
    // If this process was suspended for longer than STALE_MS, another command may have replaced the temporary file. Its
    // half-written file must not be renamed.
    if (!isOurs()) return false
    renameSync(fresh, target)
  } finally {
    if (isOurs()) rmSync(fresh)
    closeSync(descriptor)
  }
  // The rename must survive a loss of power.
  const opened = openSync(folder, 'r')
  fsyncSync(opened)
  closeSync(opened)
  return true
}

/**
 * When root changes the file, gives it back to its previous owner, or a new file to the owner of the folder. The server
 * usually runs as that user and could not read the file otherwise. In some environments root can't change the owner of a
 * file; the change itself, such as revoking a token, is more important.
 */
function restoreOwner(descriptor: number, target: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(target, { throwIfNoEntry: false }) ?? statSync(dirname(target))
  try {
    fchownSync(descriptor, uid, gid)
  } catch {
    process.emitWarning(`${target} can't be given to user ${uid}: see that the server can read it`)
  }
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code
