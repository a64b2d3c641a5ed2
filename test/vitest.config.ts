import { dirname, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defineConfig, type Plugin } from 'vitest/config'
import { BUNDLE, MODULES } from './support/build.ts'
import { CoreLine } from './support/left-out.ts'

/** What `npm test` leaves out. `npm run test:all` and the CI run it. */
const BEYOND_CORE = [
  // They start many server processes, and kill them.
  'test/system/!(smoke).test.ts',
  'test/cli/{mcp,move,pipe}.test.ts',
  'test/documents/{services,tours}.test.ts',
  'test/examples/providers.test.ts',
  'test/package/*.test.ts',
  // They drive a browser.
  'test/{client,inspector}/browser.test.ts',
  // They start Redis servers of their own, and clusters, and cut them off.
  'test/engine/lost-moments.test.ts',
  'test/alarms/bullmq.test.ts',
  'test/store/redis-{cluster,faults,feed,moves,part,time}.test.ts',
  'test/support/redis*.test.ts',
  // They wait for real time: of files that are watched, of connections, of processes.
  'test/access/{authenticate,change-file}.test.ts',
  'test/client/{broken,hostile,retries}.test.ts',
  'test/definitions/watch.test.ts',
  'test/http/{access,deliveries,large-answers,secrets,waits}.test.ts',
  'test/http/batch/{events,hostile}.test.ts',
  'test/http/live/stream.test.ts',
  'test/inspector/security.test.ts',
  'test/observe/metrics.test.ts',
  'test/steps/{isolate,scripts-process,scripts-slow}.test.ts',
  'test/store/lmdb-{damage,large-parts,space}.test.ts',
  'test/watchdog/notes.test.ts',
  // They compute for long.
  'test/client/{built,types}.test.ts',
  'test/definitions/expressions/escapes.test.ts',
  'test/definitions/json-schema/{agreement,outputs}.test.ts',
  'test/engine/start-times.test.ts',
  'test/engine/interpreter/stock-machine.test.ts',
  'test/examples/schemas.test.ts',
  'test/http/openapi.test.ts',
  'test/recorded/*.test.ts',
  'test/inspector/diagram/drawing.test.ts',
  'test/regular-expressions.test.ts',
]

/**
 * How much the random tests try, what tests of load send, and whether a test of the layers above the store runs on the
 * first of its stores alone. What is not named has its default where the test stands.
 */
const MODES: { readonly [mode: string]: { readonly [variable: string]: string } } = {
  core: { FUZZ_RUNS: '100', SIMULATED_SEEDS: '60', LOAD: '0.1', STORES: 'first' },
  /** `npm run fuzz` */
  fuzz: { FUZZ_RUNS: '20000' },
}

/**
 * These start servers and other processes, replace modules, or must load the sources anew: each has a process of its
 * own. They come first, since some take long.
 */
const APART = [
  'test/{support,system}/**/*.test.ts',
  'test/steps/!(addresses|standard-webhooks).test.ts',
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
    retry: 0,
    // What is polled is in this process, or in a process beside it.
    expect: { poll: { interval: 5 } },
    // Each project would compile the sources anew. In the folder of this run: some of what is compiled names that.
    experimental: { fsModuleCache: true, fsModuleCachePath: MODULES },
    env: { ...MODES[mode], ...(process.env['FUZZ_RUNS'] !== undefined && { FUZZ_RUNS: process.env['FUZZ_RUNS'] }) },
  }
  const isCore = mode === 'core'
  const beyond = isCore ? BEYOND_CORE : []
  return {
    test: {
      ...common,
      globalSetup: ['test/support/build.ts', 'test/support/redis-setup.ts'],
      reporters: ['default', ...(process.env['CI'] ? ['json'] : []), ...(isCore ? [new CoreLine()] : [])],
      outputFile: { json: '.ci/report.json' },
      projects: [
        { plugins: [startBuilt], test: { ...common, name: 'apart', include: APART, exclude: beyond } },
        // To load the sources anew takes longer than most of these files.
        {
          plugins: [startBuilt],
          test: {
            ...common,
            name: 'together',
            include: ['test/**/*.test.ts'],
            exclude: [...APART, ...beyond],
            isolate: false,
          },
        },
      ],
    },
  }
})
