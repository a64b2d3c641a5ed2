// Generated services: all that a state can do, combined at random.
import * as fc from 'fast-check'
import type { CompiledFlux } from '../../../src/definitions/flux.ts'
import { folderOf, open } from '../../definitions/catalog-files.ts'

const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })

const names = ['a', 'b', 'c', 'd']
const line = fc.constantFrom(
  { type: 'set', expression: 'n + 1', evaluate: true, to: ['n'] },
  { type: 'set', expression: '$fluxEvent', evaluate: true, to: ['text'] },
  // It fails.
  { type: 'set', expression: 'no number', to: ['n'] },
)
const lines = fc.array(line, { maxLength: 2 })
const target = fc.record({
  to: fc.constantFrom(...names),
  event: some(fc.constantFrom('go', 'stop', '$else', '$exception')),
  wait: some(fc.constantFrom('duration:3600', 'duration:0')),
})
const action = fc.oneof(
  fc.record({ type: fc.constant('map'), lines }),
  fc.record({
    type: fc.constant('invokeCode'),
    className: fc.constant('functions'),
    methodName: fc.constant('run'),
    inputs: fc.constant([]),
    outputs: fc.constant([]),
    retry: some(fc.record({ maxAttempts: fc.integer({ min: 1, max: 3 }), delay: fc.constantFrom(0, 1) })),
  }),
  fc.record({
    type: fc.constant('invokeFlux'),
    name: fc.constant('Child'),
    inputs: fc.constant([]),
    outputs: fc.constant([]),
  }),
)
const stateOf = (name: string) =>
  fc.record({
    name: fc.constant(name),
    waiting: fc.boolean(),
    action: some(action),
    transitions: fc.uniqueArray(target, { minLength: 1, maxLength: 4, selector: ({ event }) => event ?? '' }),
  })
const service = fc.record({
  output: fc.constant([{ name: 'n', type: 'integer', defaultValue: 0 }, { name: 'text' }]),
  states: fc.tuple(...names.map(stateOf)),
})
const files = {
  'p/functions.ts': 'export const run = () => ({ ok: true })',
  'p/Child.flux': { states: [{ name: 'end' }] },
}

/** Those that have no faults, such as two transitions for one event, of so many; and `Child`. */
export async function generated(count: number, seed: number): Promise<readonly CompiledFlux[]> {
  const sampled = fc.sample(service, { numRuns: count, seed })
  const own = Object.fromEntries(sampled.map((source, index) => [`p/S${index}.flux`, source]))
  return (await open(await folderOf({ ...files, ...own }))).catalog.all()
}
