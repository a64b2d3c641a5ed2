// Random sequences of calls to contexts, and new starts of the server, compared with what a model says of them.
import { array, assert, asyncProperty, constantFrom } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { outputs, type Bench } from '../support/engine.ts'
import { openSteered, refusalOf, set, STEERED_STORES } from './steered.ts'

const FILES = {
  'p/Tally.flux': {
    output: [{ name: 'seen', defaultValue: '' }],
    states: [
      {
        name: 'w',
        waiting: true,
        input: [{ name: 'n', type: 'integer', required: true }],
        action: { type: 'map', lines: [set('seen', 'seen + n + ","')] },
        transitions: [
          { to: 'w', event: 'add' },
          { to: 'w', wait: 'duration:3600' },
        ],
      },
    ],
  },
}

const CALLS = ['add', 'add', 'add', 'pause', 'resume', 'terminate', 'retry', 'tag', 'restart'] as const
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 0) > 1000 ? 100 : 8

/** What a context must have come to. */
class Model {
  seen = ''
  kept: number[] = []
  isPaused = false
  hasEnded = false

  /** Whether the call succeeds. */
  does(call: (typeof CALLS)[number], n: number): boolean {
    if (call === 'restart') return true
    if (this.hasEnded !== (call === 'retry')) return false
    if (call === 'add') {
      if (this.isPaused) this.kept.push(n)
      else this.#take([n])
    } else if (call === 'pause') this.isPaused = true
    else if (call === 'resume') {
      this.isPaused = false
      this.#take(this.kept.splice(0))
    } else if (call === 'terminate') {
      this.hasEnded = true
      this.isPaused = false
      this.kept = []
    } else if (call === 'retry') this.hasEnded = false
    return true
  }

  #take(tokens: readonly number[]): void {
    for (const n of tokens) this.seen += `${n},`
  }
}

async function make(bench: Bench, call: Exclude<(typeof CALLS)[number], 'restart'>, contextId: number, n: number) {
  switch (call) {
    case 'add':
      return bench.sendEvent({ contextId, event: 'add', input: { n } })
    case 'tag':
      return bench.addTags({ contextId, tag: [`t${n % 5}`] })
    default:
      return bench[call]({ contextId })
  }
}

describe.each(STEERED_STORES)('on the %s store', (kind) => {
  test('calls in any order come to what each of them says', async () => {
    const { bench: first, open } = await openSteered(kind, FILES)
    let bench = first
    const restart = async () => {
      await bench.engine.close({ grace: 0 })
      bench = await open(kind === 'embedded' ? { folder: first.folder } : {})
    }
    const sequence = array(constantFrom(...CALLS), { minLength: 10, maxLength: 40 })
    await assert(
      asyncProperty(sequence, async (calls) => {
        const contextId = await bench.run('Tally')
        const model = new Model()
        for (const [n, call] of calls.entries()) {
          if (call === 'restart') {
            await restart()
            continue
          }
          const refusal = await refusalOf(make(bench, call, contextId, n))
          if (model.does(call, n)) expect(refusal, `${n} ${call}`).toBeNull()
          else expect(refusal, `${n} ${call}`).toMatchObject({ kind: 'conflict' })
          const view = await bench.getContext({ contextId })
          expect(outputs(view)['seen'], `${n} ${call}`).toBe(model.seen)
          expect([view.paused, view.status, view.pending.length], `${n} ${call}`).toEqual([
            model.isPaused,
            model.hasEnded ? 'TERMINATED' : 'WAITING_UNTIL',
            model.kept.length,
          ])
        }
        expect(await bench.listPending({ contextId })).toHaveLength(model.kept.length)
        const paused = await bench.listContexts({ paused: true, limit: 1000 })
        expect(paused.some(({ id }) => id === contextId)).toBe(model.isPaused)
      }),
      { numRuns: RUNS },
    )
  })
})
