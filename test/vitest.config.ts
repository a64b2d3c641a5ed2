import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Runs of each property of the fuzz: many in a mode of their own (`npm run fuzz`). */
const FUZZ_RUNS = { FUZZ_RUNS: '20000' }

export default defineConfig(({ mode }) => ({
  test: {
    root: resolve(import.meta.dirname, '..'),
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/build.ts', 'test/support/redis-setup.ts'],
    maxWorkers: 2,
    testTimeout: 30_000,
    reporters: process.env['CI'] ? ['default', ['json', { outputFile: '.ci/report.json' }]] : ['default'],
    env: mode === 'fuzz' && process.env['FUZZ_RUNS'] === undefined ? FUZZ_RUNS : {},
  },
}))
