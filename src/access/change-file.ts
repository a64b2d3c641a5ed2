// access: replaces the content of a small file atomically. Concurrent changes are serialized, and a crash leaves the
// previous content.
import { open, readFile, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../model/error-message.ts'

/** How long to wait for other commands. */
const MAX_WAIT_MS = 5_000

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
 * first, which only one command can create at a time. If `change` throws, the file is unchanged.
 */
export async function changeFile(file: string, change: (text: string | null) => string): Promise<void> {
  // A symbolic link is kept; the file that it points to is replaced.
  const target = await realpath(file).catch(() => file)
  const fresh = `${target}.new`
  const handle = await createAlone(fresh, target)
  try {
    await handle.writeFile(change(await readText(target)))
    await restoreOwner(handle, target)
    await handle.sync()
    await rename(fresh, target)
  } catch (error) {
    await rm(fresh, { force: true })
    throw error
  } finally {
    await handle.close()
  }
  // The rename must survive a loss of power.
  const folder = await open(dirname(target))
  await folder.sync().finally(() => folder.close())
}

/** Creates the file, once no other command has it. */
async function createAlone(fresh: string, target: string) {
  for (const deadline = Date.now() + MAX_WAIT_MS; ; await sleep(10 + Math.random() * 20))
    try {
      return await open(fresh, 'wx', 0o600)
    } catch (error) {
      if (hasCode(error, 'ENOENT'))
        throw new Error(`there is no folder ${dirname(target)} to keep ${basename(target)} in`, { cause: error })
      if (!hasCode(error, 'EEXIST')) throw error
      if (Date.now() > deadline)
        throw new Error(`${target} is being changed by another command; if there is none, remove ${fresh}`, {
          cause: error,
        })
    }
}

/**
 * When root changes the file, gives it back to its previous owner, or a new file to the owner of the folder. The server
 * usually runs as that user and could not read the file otherwise. In some environments root can't change the owner of a
 * file; the change itself, such as revoking a token, is more important.
 */
async function restoreOwner(handle: FileHandle, target: string) {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await stat(target).catch(() => stat(dirname(target)))
  await handle
    .chown(uid, gid)
    .catch(() => process.emitWarning(`${target} can't be given to user ${uid}: see that the server can read it`))
}

const hasCode = (error: unknown, code: string) => error instanceof Error && 'code' in error && error.code === code
