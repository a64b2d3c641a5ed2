// What a server weighs.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import type { Server } from '../support/server.ts'
import type { Site } from './servers.ts'

/** Megabytes. */
export interface Footprint {
  readonly memory: number
  readonly disk: number
}

const MEGABYTE = 1024 ** 2
/** Bytes of a block, as `stat` counts them (POSIX, <sys/stat.h>). */
const BLOCK = 512

/** What a server with its store takes. With Redis: what Redis takes. */
export const footprintOf = ({ redis, place }: Pick<Site, 'redis' | 'place'>, { pid }: Pick<Server, 'pid'>) =>
  redis ? footprintOfRedis(redis) : footprint(pid, place.data)

async function footprintOfRedis({ url, pid }: { readonly url: string; readonly pid: number }): Promise<Footprint> {
  const redis = new Redis(url)
  try {
    const used = /^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]
    const setting: unknown = await redis.config('GET', 'dir')
    const folder = Array.isArray(setting) ? String(setting[1]) : ''
    return { memory: Number(used) / MEGABYTE, disk: (await footprint(pid, folder)).disk }
  } finally {
    redis.disconnect()
  }
}

/** Memory of the process, and space of the folder's files: what they take, not how long they claim to be. */
async function footprint(pid: number, folder: string): Promise<Footprint> {
  return { memory: ((await ownMemory(pid)) * 1024) / MEGABYTE, disk: (await sizeOf(folder)) / MEGABYTE }
}

/** Bytes that the folder's files take. */
export async function sizeOf(folder: string): Promise<number> {
  let blocks = 0
  for (const entry of await readdir(folder, { recursive: true })) blocks += (await stat(join(folder, entry))).blocks
  return blocks * BLOCK
}

/**
 * Kilobytes, all of it: with the files that are mapped into it, which the system may take back. null where the system
 * doesn't tell.
 */
export function residentMemory(pid: number): number | null {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? NaN)
  } catch {
    return null
  }
}

/**
 * Kilobytes. Without the files that are mapped into it, where the system tells that: what is there of the data file is
 * the system's to take back.
 */
export async function ownMemory(pid: number): Promise<number> {
  try {
    const [, kilobytes] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    if (kilobytes !== undefined) return Number(kilobytes)
  } catch {
    // Not Linux.
  }
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)])
  return Number(stdout)
}

/** Of the clock in which Linux counts processor time (USER_HZ, proc(5)). */
const TICK_MS = 10

/** Processor time that a process has taken so far, milliseconds; null where the system doesn't tell. */
export function processorTime(pid: number): number | null {
  try {
    const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const [user, system] = fields.split(' ').slice(11, 13)
    return (Number(user) + Number(system)) * TICK_MS
  } catch {
    return null
  }
}
