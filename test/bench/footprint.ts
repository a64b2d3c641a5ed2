// What a server weighs.
import { execFile } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface Footprint {
  /** Megabytes. */
  readonly memory: number
  readonly disk: number
}

const MEGABYTE = 1024 ** 2
/** Bytes of a block, as `stat` counts them (POSIX, <sys/stat.h>). */
const BLOCK = 512

/** Memory of the process, and space of the folder's files: what they take, not how long they claim to be. */
export async function footprint(pid: number, folder: string): Promise<Footprint> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)])
  let blocks = 0
  for (const entry of await readdir(folder, { recursive: true })) blocks += (await stat(join(folder, entry))).blocks
  return { memory: (Number(stdout) * 1024) / MEGABYTE, disk: (blocks * BLOCK) / MEGABYTE }
}
