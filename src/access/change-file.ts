// access: replaces the content of a small file atomically. Concurrent changes are serialized, and a crash leaves the
// previous content.
import { renameSync, rmSync, statSync } from 'node:fs'
import { open, readFile, realpath, type FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
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
    if (codeOf(error) === 'ENOENT') return null
    throw new Error(`${file} can't be read: ${messageOf(error)}`, {
      cause: error,
    })
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
    removeStale(fresh)
    await pause(10 + Math.random() * 20)
  }
}

/** Returns false if another command holds the temporary file, or took it over. */
async function tryChange(target: string, fresh: string, change: (text: string | null) => string): Promise<boolean> {
  let handle: FileHandle
  try {
    handle = await open(fresh, 'wx', 0o600)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    if (codeOf(error) === 'ENOENT')
      throw new Error(`there is no folder ${dirname(target)} to keep ${basename(target)} in`, { cause: error })
    throw error
  }
  try {
    const { ino } = await handle.stat()
    const isOurs = () => statSync(fresh, { throwIfNoEntry: false })?.ino === ino
    try {
      await handle.writeFile(change(await readText(target)))
      await restoreOwner(handle, target)
      await handle.sync()
      // If this process was suspended for longer than STALE_MS, another command may have replaced the temporary file.
      // Its half-written file must not be renamed.
      if (!isOurs()) return false
      renameSync(fresh, target)
    } finally {
      if (isOurs()) rmSync(fresh)
    }
  } finally {
    await handle.close()
  }
  await syncFolder(dirname(target))
  return true
}

/**
 * When root changes the file, gives it back to its previous owner, or a new file to the owner of the folder. The server
 * usually runs as that user and could not read the file otherwise.
 */
async function restoreOwner(handle: FileHandle, target: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  const [{ uid, gid }, own] = [
    statSync(target, { throwIfNoEntry: false }) ?? statSync(dirname(target)),
    await handle.stat(),
  ]
  if (uid === own.uid && gid === own.gid) return
  try {
    await handle.chown(uid, gid)
  } catch (error) {
    // In some environments root can't change the owner of a file. The change itself, such as revoking a token, is more
    // important.
    if (codeOf(error) !== 'EPERM' && codeOf(error) !== 'EINVAL') throw error
    process.emitWarning(`${target} can't be given to user ${uid}: see that the server can read it`)
  }
}

/**
 * Removes a stale temporary file. It is synchronous, so that no other file takes its place between the check and the
 * removal.
 */
function removeStale(fresh: string): void {
  const found = statSync(fresh, { throwIfNoEntry: false })
  if (found && Date.now() - found.mtimeMs > STALE_MS) rmSync(fresh, { force: true })
}

/** Flushes the folder to the disk, so that the rename survives a loss of power. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
