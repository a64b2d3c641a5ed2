// What a rehearsal says is what happens: for random services and calls, each seed on every store. One seed alone:
// `REHEARSED_SEED=17`; more of them: `REHEARSED_SEEDS=500`.
import { describe, expect, test } from 'vitest'
import { runs, storesOf } from '../../support/effort.ts'
import { playSeed } from './agreement.ts'
import { STAGES } from './stage.ts'

const SEEDS = runs(Number(process.env['REHEARSED_SEEDS'] ?? 96), 32)
const SEEDS_A_TEST = 16
const only = process.env['REHEARSED_SEED']
const seeds = only === undefined ? Array.from({ length: SEEDS }, (_, seed) => seed) : [Number(only)]
const groups = Array.from({ length: Math.ceil(seeds.length / SEEDS_A_TEST) }, (_, group) =>
  seeds.slice(group * SEEDS_A_TEST, (group + 1) * SEEDS_A_TEST),
)

describe.each(storesOf(STAGES))('on %s, rehearsals come true', (kind) => {
  test.each(groups)('from seed %i on', { timeout: 300_000 }, async (...group) => {
    let foreseen = 0
    for (const seed of group) foreseen += await playSeed(seed, kind)
    if (group.length > 1) expect(foreseen).toBeGreaterThan(group.length)
  })
})
