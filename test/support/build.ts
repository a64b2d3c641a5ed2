// Builds the program once for a run of the tests, into a folder of that run's own, so that tests can start real servers
// and two runs don't disturb each other.
import { execFile } from 'node:child_process'
import { copyFile, cp, mkdir, readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the built program. */
    program: string
  }
}

const ROOT = resolve(import.meta.dirname, '../..')
/** Within node_modules, so that the program finds its packages. */
const CACHE = join(ROOT, 'node_modules/.cache')
const NAME = /^actorflux-(\d+)$/

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeLeftovers()
  const folder = join(CACHE, `actorflux-${process.pid}`)
  await build(folder)
  project.provide('program', join(folder, 'dist/cli/actorflux.js'))
  project.onTestsRerun(() => build(folder))
  return () => rm(folder, { recursive: true, force: true })
}

/** Types are checked elsewhere (`npm run types`). */
async function build(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  // Says that the files are ES modules, and has the version.
  await copyFile(join(ROOT, 'package.json'), join(folder, 'package.json'))
  const options = ['--noCheck', '--declaration', 'false', '--sourceMap', 'false', '--outDir', join(folder, 'dist')]
  await cp(join(ROOT, 'src/store/redis/lua'), join(folder, 'dist/store/redis/lua'), { recursive: true })
  await promisify(execFile)(process.execPath, [
    join(ROOT, 'node_modules/typescript/bin/tsc'),
    '-p',
    join(ROOT, 'tsconfig.json'),
    ...options,
  ])
}

/** Of runs that were killed. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(CACHE).catch(() => [])) {
    const pid = Number(NAME.exec(name)?.[1])
    if (pid > 0 && !lives(pid)) await rm(join(CACHE, name), { recursive: true, force: true })
  }
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
