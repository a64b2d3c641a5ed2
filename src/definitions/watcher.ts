// definitions: watches the folders of packages, and reports a burst of changes once. The folders are compared with what
// they were: the events of a file system end when a folder is moved or replaced, and do not come at all from some.
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isIgnored } from './source/files.ts'

/** Pause between two comparisons. A burst is over when the second one finds no further change. */
const PAUSE_MS = 200
/** The pause is at least so many times as long as a comparison takes, which depends on the number of files. */
const PAUSE_FACTOR = 20

export interface FolderWatcher {
  /** Stops watching, and waits for a running `onChange`. */
  close(): Promise<void>
}

/** Watches folders. Calls of `onChange` never overlap; a change during a call leads to another call. `isChanged`: the first
 * comes at once. */
export async function watchFolders(
  folders: readonly string[],
  onChange: () => void | Promise<void>,
  isChanged = false,
): Promise<FolderWatcher> {
  const stop = new AbortController()
  const { signal } = stop
  const look = async () => JSON.stringify(await Promise.all(folders.map((folder) => stateOf(folder, []))))
  let seen = await look()
  const watch = async () => {
    while (!signal.aborted) {
      const start = performance.now()
      const found = await look()
      const tookMs = performance.now() - start
      if (found === seen && isChanged && !signal.aborted)
        try {
          await onChange()
        } catch (error) {
          process.emitWarning(error instanceof Error ? error : String(error))
        }
      isChanged = found !== seen
      seen = found
      await pause(Math.max(PAUSE_MS, tookMs * PAUSE_FACTOR), undefined, { signal }).catch(() => {})
    }
  }
  const watching = watch()
  return {
    close() {
      stop.abort()
      return watching
    },
  }
}

/**
 * What changes with a file, or with anything in a folder. A new folder may reuse the inode number of a deleted one, but
 * not its time of creation. `above`: the folders around it, to which a link may lead back.
 */
async function stateOf(path: string, above: readonly string[]): Promise<unknown> {
  const found = await stat(path).catch(() => null)
  if (found === null) return null
  const id = `${found.dev}:${found.ino}:${found.birthtimeMs}`
  // Some file systems tell times in seconds.
  if (!found.isDirectory()) return [id, found.ctimeMs, found.mtimeMs, found.size]
  if (above.includes(id)) return id
  const names = (await readdir(path).catch(() => [])).filter((name) => !isIgnored(name)).sort()
  const parts = names.map(async (name) => [name, await stateOf(join(path, name), [...above, id])])
  return [id, await Promise.all(parts)]
}
