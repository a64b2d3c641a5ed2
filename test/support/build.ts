// Builds the program once for a run of the tests, into a folder of that run's own, so that tests can start real servers
// and two runs don't disturb each other. Servers start from a bundle of the build, because to load its hundreds of
// modules takes half of the time of a start. The bundler comes with vitest.
import { execFile } from 'node:child_process'
import { copyFile, cp, mkdir, readdir, rm } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { rolldown, type Plugin } from 'rolldown'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the program, built and bundled. */
    program: string
    /** Path of the program as `npm run build` leaves it. */
    plainProgram: string
  }
}

const ROOT = resolve(import.meta.dirname, '../..')
/** Within node_modules, so that the program finds its packages. */
const CACHE = join(ROOT, 'node_modules/.cache')
const FOLDER = join(CACHE, `actorflux-${process.pid}`)
const PLAIN = join(FOLDER, 'dist')
/** The folder of the bundle of this run: the modules that processes and threads start with have their places in it. */
export const BUNDLE = join(FOLDER, 'bundle')
/** The folder of the sources that vitest has compiled in this run. */
export const MODULES = join(FOLDER, 'modules')
const ENTRIES = [
  'cli/actorflux',
  'steps/modules/isolate-process',
  'steps/script/sandbox-process',
  'store/lmdb/notes',
  'store/lmdb/scan-process',
  'store/redis/notes',
  'watchdog/thread',
]
const NAME = /^actorflux-(\d+)$/

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeLeftovers()
  await build()
  project.provide('program', join(BUNDLE, 'cli/actorflux.js'))
  project.provide('plainProgram', join(PLAIN, 'cli/actorflux.js'))
  project.onTestsRerun(build)
  return () => rm(FOLDER, { recursive: true, force: true })
}

/** Types are checked elsewhere (`npm run types`). */
async function build(): Promise<void> {
  await mkdir(FOLDER, { recursive: true })
  // Says that the files are ES modules, and has the version.
  await copyFile(join(ROOT, 'package.json'), join(FOLDER, 'package.json'))
  const options = ['--noCheck', '--declaration', 'false', '--sourceMap', 'false', '--outDir', PLAIN]
  for (const folder of [PLAIN, BUNDLE])
    for (const data of ['store/redis/lua', 'inspector/assets'])
      await cp(join(ROOT, 'src', data), join(folder, data), { recursive: true })
  await promisify(execFile)(process.execPath, [
    join(ROOT, 'node_modules/typescript/bin/tsc'),
    '-p',
    join(ROOT, 'tsconfig.json'),
    ...options,
  ])
  const bundle = await rolldown({
    input: Object.fromEntries(ENTRIES.map((name) => [name, join(PLAIN, `${name}.js`)])),
    platform: 'node',
    // Packages that are only loaded when they are needed, or that look for files beside their modules.
    external: /^(@jitl|fs-native-extensions|jiti|lmdb|msgpackr|pino)/,
    plugins: [atItsPlace],
  })
  await bundle.write({ dir: BUNDLE, entryFileNames: '[name].js', chunkFileNames: 'chunks/[hash].js' })
  await bundle.close()
}

/** What a module finds beside itself, it finds in the bundle at the same place. */
const atItsPlace: Plugin = {
  name: 'at-its-place',
  transform(code, id) {
    const place = join(BUNDLE, relative(PLAIN, id))
    if (!id.startsWith(PLAIN) || !code.includes('import.meta.')) return undefined
    return code
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(place).href))
      .replaceAll('import.meta.dirname', JSON.stringify(dirname(place)))
  },
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
