// store/lmdb: a copy of the data, made while a server may be writing it: lmdb reads one version of all of it.
import { closeSync } from 'node:fs'
import { chmod, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import type { Log } from '../../ports/log.ts'
import { DataFolderError, fileBytesOf, isMarked, lockFolder, mark } from './data-folder.ts'
import { dataFileIn, filesIn } from './disk.ts'
import { openRoot } from './lmdb-file.ts'
import { examine } from './examine.ts'

/** How often progress is told, milliseconds. */
const PROGRESS_MS = 200

/**
 * Copies the data of a namespace into a new folder, without what is free, and checks the copy. Gives its bytes.
 * `onProgress`: bytes that were copied, of at most so many.
 * @throws DataFolderError when there is no data, the folder is not empty, its disk has no room, or the copy is damaged
 */
export async function backUp(
  { folder, namespace }: { readonly folder: string; readonly namespace: string },
  {
    into,
    log,
    onProgress,
  }: { readonly into: string; readonly log: Log; readonly onProgress: (bytes: number, most: number) => void },
): Promise<number> {
  const source = dataFileIn(folder, namespace)
  const most = fileBytesOf(source)
  if ((await readdir(into).catch(() => [])).length > 0) throw new DataFolderError(`the folder ${into} is not empty`)
  const target = filesIn(into, namespace)
  const lock = lockFolder(into, target.lock)
  try {
    const { bavail, bsize } = await statfs(into)
    // On a full disk, lmdb can destroy the memory of its process.
    if (bavail * bsize < most) throw new DataFolderError(`the disk of ${into} has no room for ${most} bytes`)
    // Marked before it has data: a copy that was cut off is refused, and not served as if there had never been any.
    mark(target.lock, log)
    const unfinished = `${target.data}.unfinished`
    const timer = setInterval(() => onProgress(fileBytesOf(unfinished), most), PROGRESS_MS)
    const root = openRoot(source, { readOnly: true })
    try {
      await root.backup(unfinished, true)
    } finally {
      clearInterval(timer)
      await root.close()
    }
    await examine(unfinished, isMarked(filesIn(folder, namespace).lock))
    await rm(`${unfinished}-lock`)
    await chmod(unfinished, 0o600)
    await flush(unfinished)
    await rename(unfinished, target.data)
    await flush(into)
    return (await stat(target.data)).size
  } finally {
    closeSync(lock)
  }
}

async function flush(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
