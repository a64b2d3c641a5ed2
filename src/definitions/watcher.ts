// definitions: watches the folders of packages, and reports a burst of changes once.
import { access, constants, stat } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import { watch } from 'chokidar'
import { isIgnored } from './source/files.ts'

/** Time without a further change after which a burst is reported. */
const QUIET_MS = 100
/** Time between two checks that the paths still lead to the same folders. */
const CHECK_INTERVAL_MS = 1000

export interface FolderWatcher {
  /** Stops watching, and waits for a running `onChange`. */
  close(): Promise<void>
}

/**
 * Watches folders. The promise resolves when those that exist are watched. Calls of `onChange` never overlap; a change
 * during a call leads to another call.
 */
export async function watchFolders(
  folders: readonly string[],
  onChange: () => void | Promise<void>,
): Promise<FolderWatcher> {
  const roots = folders.map((folder) => resolve(folder))
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  const notify = () => {
    running = running
      .then(onChange)
      .catch((error: unknown) => process.emitWarning(error instanceof Error ? error : String(error)))
  }
  const onAny = () => {
    clearTimeout(timer)
    if (!closed) timer = setTimeout(notify, QUIET_MS)
  }
  const open = async () => {
    const watcher = watch(roots, { ignoreInitial: true, ignored: (path) => isOutside(path, roots) })
    // Errors are ignored: a file that is deleted while it is examined counts as a change, too.
    watcher.on('all', onAny).on('error', () => {})
    await new Promise<void>((ready) => {
      watcher.on('ready', () => ready())
    })
    return watcher
  }

  let seen = await identify(roots)
  let watcher = await open()
  // chokidar follows neither a root folder that was moved nor the one that replaces it, so the watcher is opened again.
  const check = async () => {
    const found = await identify(roots)
    if (found === seen) return
    seen = found
    await watcher.close()
    watcher = await open()
    onAny()
  }
  let checking: Promise<void> = Promise.resolve()
  const checks = setInterval(() => {
    checking = checking.then(check)
  }, CHECK_INTERVAL_MS)
  return {
    async close() {
      closed = true
      clearInterval(checks)
      clearTimeout(timer)
      await checking
      await watcher.close()
      await running
    },
  }
}

/**
 * Identifies the folders at the paths, and whether they are readable. A new folder may reuse the inode number of a
 * deleted one, but not its time of creation.
 */
async function identify(roots: readonly string[]): Promise<string> {
  const found = roots.map(async (root) => {
    const { dev, ino, birthtimeMs } = await stat(root)
    const readable = await access(root, constants.R_OK | constants.X_OK).catch(() => 'not')
    return `${dev}:${ino}:${birthtimeMs}:${readable}`
  })
  return JSON.stringify((await Promise.allSettled(found)).map((one) => ('value' in one ? one.value : null)))
}

/** Whether a path has nothing of a package, seen from all folders that it is in. */
function isOutside(path: string, roots: readonly string[]): boolean {
  const below = roots.filter((root) => path === root || path.startsWith(root + sep))
  return below.length > 0 && below.every((root) => relative(root, path).split(sep).some(isIgnored))
}
