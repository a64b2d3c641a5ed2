import { dirname, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defineConfig, type Plugin } from 'vitest/config'
import { BUNDLE, MODULES } from './support/build.ts'
import { Unstable } from './support/unstable.ts'

/** Runs of each property of the fuzz: many in a mode of their own (`npm run fuzz`). */
const FUZZ_RUNS = { FUZZ_RUNS: '20000' }

/**
 * These start servers and other processes, replace modules, or must load the sources anew: each has a process of its
 * own. They come first, since some take long.
 */
const APART = [
  'test/{steps,support,system}/**/*.test.ts',
  'test/http/{fuzz,hostile}.test.ts',
  'test/inspector/browser.test.ts',
  'test/model/webhook-schemes/timing.test.ts',
  'test/regular-expressions.test.ts',
]

/**
 * Mebibytes for short-lived objects, from the start on: tests make many, and with less room a sixth of the processor's
 * time goes to collecting them.
 */
const YOUNG_OBJECTS = ['--min-semi-space-size=32', '--max-semi-space-size=64']

const ROOT = resolve(import.meta.dirname, '..')

/** These start processes and threads of modules of ours, or name such a module to a thread. */
const STARTERS = new Set([
  'src/model/node-program.ts',
  'src/steps/script/scripts.ts',
  'src/steps/modules/isolate-pool.ts',
  'src/watchdog/watchdog.ts',
  'src/store/lmdb/examine.ts',
  'src/store/lmdb/notes.ts',
  'src/store/redis/notes.ts',
])

/** They start what a server starts, the built modules: to compile the sources takes each process longer than all else. */
const startBuilt: Plugin = {
  name: 'start-built',
  enforce: 'pre',
  transform(code, id) {
    const file = relative(ROOT, id)
    if (!STARTERS.has(file)) return undefined
    const built = resolve(BUNDLE, relative('src', file).replace('.ts', '.js'))
    return code
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(built).href))
      .replaceAll('import.meta.dirname', JSON.stringify(dirname(built)))
  },
}

export default defineConfig(({ mode }) => {
  const common = {
    root: ROOT,
    maxWorkers: 3,
    execArgv: YOUNG_OBJECTS,
    // Of tests that say that they only wait.
    maxConcurrency: 4,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Tests about real time may meet a machine that stands still for a while. It is told which ones did.
    retry: process.env['CI'] ? 1 : 0,
    // Each project would compile the sources anew. In the folder of this run: some of what is compiled names that.
    experimental: { fsModuleCache: true, fsModuleCachePath: MODULES },
    env: mode === 'fuzz' && process.env['FUZZ_RUNS'] === undefined ? FUZZ_RUNS : {},
  }
  return {
    test: {
      ...common,
      globalSetup: ['test/support/build.ts', 'test/support/redis-setup.ts'],
      reporters: process.env['CI']
        ? ['default', new Unstable(), ['json', { outputFile: '.ci/report.json' }]]
        : ['default'],
      projects: [
        { plugins: [startBuilt], test: { ...common, name: 'apart', include: APART } },
        // To load the sources anew takes longer than most of these files.
        {
          plugins: [startBuilt],
          test: { ...common, name: 'together', include: ['test/**/*.test.ts'], exclude: APART, isolate: false },
        },
      ],
    },
  }
})
