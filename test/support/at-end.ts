// What a test opens is closed when it ends.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, TestRunner } from 'vitest'

/**
 * Calls it at the end of the test that runs, the last one first.
 * @returns whether one runs: what several tests share is closed by who opens it
 */
export function atEndOfTest(close: () => unknown): boolean {
  if (!TestRunner.getCurrentTest()) return false
  onTestFinished(async () => {
    await close()
  })
  return true
}

/** A new folder, which is gone at the end of the test that runs. */
export async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'actorflux-'))
  atEndOfTest(() => rm(folder, { recursive: true, force: true }))
  return folder
}
