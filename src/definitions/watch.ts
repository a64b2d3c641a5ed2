// definitions: tells when something in the folders of packages has changed, once for a burst of changes.
import { relative, resolve, sep } from 'node:path'
import { watch } from 'chokidar'

/** Milliseconds without a further change. */
const QUIET = 100

export interface Watcher {
  /** Waits for an `onChange` under way. */
  close(): Promise<void>
}

/** Resolves when it watches folders that are there. `onChange` is never called twice at once, and once more for what changes meanwhile. */
export async function watchFolders(folders: readonly string[], onChange: () => void | Promise<void>): Promise<Watcher> {
  const roots = folders.map((folder) => resolve(folder))
  const watcher = watch([...roots], { ignoreInitial: true, ignored: (path) => isIgnored(path, roots) })
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  const tell = () => {
    running = running.then(onChange).catch((error: unknown) => process.emitWarning(error instanceof Error ? error : String(error)))
  }
  watcher.on('all', () => {
    clearTimeout(timer)
    timer = setTimeout(tell, QUIET)
  })
  // A file that vanishes while it is looked at is a change like any other.
  watcher.on('error', () => {})
  await new Promise<void>((ready) => { watcher.on('ready', () => ready()) })
  return {
    async close() {
      await watcher.close()
      clearTimeout(timer)
      await running
    },
  }
}

/** As the reader of packages does: nothing below a dot-folder or node_modules. */
function isIgnored(path: string, roots: readonly string[]): boolean {
  const below = roots.filter((root) => path === root || path.startsWith(root + sep))
  return below.length > 0 && below.every((root) => relative(root, path).split(sep).some((part) => part.startsWith('.') || part === 'node_modules'))
}
