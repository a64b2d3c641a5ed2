// definitions: tells when something in the folders of packages has changed, once for a burst of changes.
import { access, constants, stat } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import { watch } from 'chokidar'

/** Milliseconds without a further change. */
const QUIET_MS = 100
/** Milliseconds between looks whether the folders are still the same ones. */
const LOOK_MS = 1000

export interface FolderWatcher {
  /** Waits for an `onChange` under way. */
  close(): Promise<void>
}

/**
 * Resolves when it watches folders that are there. `onChange` is never called twice at once, and once more for what
 * changes meanwhile.
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
    const watcher = watch([...roots], { ignoreInitial: true, ignored: (path) => isIgnored(path, roots) })
    // A file that vanishes while it is looked at is a change like any other.
    watcher.on('all', onAny).on('error', () => {})
    await new Promise<void>((ready) => {
      watcher.on('ready', () => ready())
    })
    return watcher
  }

  let seen = await identify(roots)
  let watcher = await open()
  // A folder that was moved away is no longer followed, nor is what comes in its place.
  const look = async () => {
    const found = await identify(roots)
    if (found === seen) return
    seen = found
    await watcher.close()
    watcher = await open()
    onAny()
  }
  let looking: Promise<void> = Promise.resolve()
  const looks = setInterval(() => {
    looking = looking.then(look)
  }, LOOK_MS)
  return {
    async close() {
      closed = true
      clearInterval(looks)
      clearTimeout(timer)
      await looking
      await watcher.close()
      await running
    },
  }
}

/**
 * Tells whether a path leads to the same folder as before, and whether it can be read. A new folder may get the number
 * of one that is gone, but not its time of birth.
 */
async function identify(roots: readonly string[]): Promise<string> {
  const found = await Promise.all(
    roots
      .map(async (root) => {
        const { dev, ino, birthtimeMs } = await stat(root)
        const readable = await access(root, constants.R_OK | constants.X_OK).then(
          () => true,
          () => false,
        )
        return `${dev}:${ino}:${birthtimeMs}:${readable}`
      })
      .map((identity) => identity.catch(() => 'none')),
  )
  return found.join(' ')
}

/** As the reader of packages does: nothing below a dot-folder or node_modules. */
function isIgnored(path: string, roots: readonly string[]): boolean {
  const below = roots.filter((root) => path === root || path.startsWith(root + sep))
  return (
    below.length > 0 &&
    below.every((root) =>
      relative(root, path)
        .split(sep)
        .some((part) => part.startsWith('.') || part === 'node_modules'),
    )
  )
}
