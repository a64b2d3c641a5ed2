// A small disk of its own, for tests that fill one. It takes a user who may mount.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk {
  readonly folder: string
  remove(): Promise<void>
}

/** Whether this user may mount one on this machine. */
export function canMount(): boolean {
  if (process.platform !== 'linux') return false
  const folder = mkdtempSync(join(tmpdir(), 'actorflux-mount-'))
  try {
    mount(folder, 65_536)
    execFileSync('umount', [folder], { stdio: 'ignore' })
    return true
  } catch {
    return false
  } finally {
    rmdirSync(folder)
  }
}

/** Bytes: what fits on it. */
export async function mountSmall(bytes: number): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'actorflux-disk-'))
  mount(folder, bytes)
  return {
    folder,
    async remove() {
      execFileSync('umount', ['-l', folder])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function mount(folder: string, bytes: number): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder], { stdio: 'ignore' })
}
