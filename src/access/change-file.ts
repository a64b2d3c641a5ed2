// access: changes a small file so that two who change it at once lose nothing, and a crash in the middle leaves the
// file as it was.
import { renameSync, rmSync, statSync } from 'node:fs'
import { open, readFile, realpath, type FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { messageOf } from '../model/error-message.ts'

/** Milliseconds after which a change under way counts as one whose command died. */
const STALE_MS = 10_000
/** Milliseconds to wait for others: long enough to outlast a stale one. */
const PATIENCE_MS = 15_000

/** The file's text; null if there is no such file. @throws Error of one line that names the file */
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
 * Puts what `change` makes of the text (null: there is no file) in the file's place, which its owner alone may then
 * read, and has it on the disk before it resolves. The new file lies beside the old one while it is written, under a
 * name that only one can have. `change` is asked again if another was faster; what it throws leaves the file as it was.
 */
export async function changeFile(file: string, change: (text: string | null) => string): Promise<void> {
  // A link stays one.
  const target = await realpath(file).catch(() => file)
  const fresh = `${target}.new`
  for (const patience = Date.now() + PATIENCE_MS; !(await tryChange(target, fresh, change));) {
    if (Date.now() > patience)
      throw new Error(`${file} is being changed by another command; if there is none, remove ${fresh}`)
    removeStale(fresh)
    await pause(10 + Math.random() * 20)
  }
}

/** False when it isn't our turn. */
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
      await giveAway(handle, target)
      await handle.sync()
      // Who was held up so long that he was taken for dead must not put another's half-written file in place.
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
 * What root changes stays its owner's, the server's as a rule, who could not read it otherwise. A new file is for
 * whoever the folder belongs to.
 */
async function giveAway(handle: FileHandle, target: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  const [{ uid, gid }, own] = [
    statSync(target, { throwIfNoEntry: false }) ?? statSync(dirname(target)),
    await handle.stat(),
  ]
  if (uid === own.uid && gid === own.gid) return
  try {
    await handle.chown(uid, gid)
  } catch (error) {
    // Root isn't almighty everywhere. To take a token back matters more than whose file it is.
    if (codeOf(error) !== 'EPERM' && codeOf(error) !== 'EINVAL') throw error
    process.emitWarning(`${target} can't be given to user ${uid}: see that the server can read it`)
  }
}

/** Without waiting in between, lest what is removed is a later one than what was looked at. */
function removeStale(fresh: string): void {
  const found = statSync(fresh, { throwIfNoEntry: false })
  if (found && Date.now() - found.mtimeMs > STALE_MS) rmSync(fresh, { force: true })
}

/** Only then does the new name outlast a loss of power. */
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
