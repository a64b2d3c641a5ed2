// Lists and counts: each combination of filters gives what a look at each context gives, on every store.
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ListRequest, ListedContext } from '../../src/api/context-lists.ts'
import type { ContextView } from '../../src/api/contexts.ts'
import { ANONYMOUS } from '../../src/model/caller.ts'
import { isFinished } from '../../src/model/context.ts'
import { openBench, type Bench } from '../support/engine.ts'
import { runs, storesOf } from '../support/effort.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { openRedis } from '../support/redis-store.ts'

const waiting = {
  tags: ['${tag}'],
  input: [{ name: 'tag' }],
  states: [
    {
      name: 'open',
      waiting: true,
      transitions: [
        { event: 'move', to: 'held' },
        { event: 'end', to: 'done' },
      ],
    },
    {
      name: 'held',
      waiting: true,
      transitions: [
        { event: 'end', to: 'done' },
        { wait: 'duration:86400', to: 'done' },
      ],
    },
    { name: 'done' },
  ],
}
const throwing = (type: string) => ({
  states: [{ name: 'act', action: { type: 'invokeCode', className: 'Fn', methodName: `throw${type}` } }],
})
const FILES = {
  'p/Order.flux': { ...waiting, key: 'k-${tag}' },
  'p/Other.flux': waiting,
  'q/Other.flux': waiting,
  'p/Secret.flux': { ...waiting, secured: true },
  'q/Secret.flux': waiting,
  'p/Fn.mjs': `export const throwTypeError = () => { throw new TypeError('no') }
export const throwRangeError = () => { throw new RangeError('no') }`,
  'p/Fails.flux': throwing('TypeError'),
  'p/Breaks.flux': throwing('RangeError'),
  'p/Parent.flux': { states: [{ name: 'calls', action: { type: 'invokeFlux', name: 'Child' } }] },
  'p/Child.flux': waiting,
}
const TAGS = ['red', 'green', 'blue']

async function openOn(partitions: number | null): Promise<Bench> {
  if (partitions === null) return openBench(FILES, { onDisk: true })
  const store = await openRedis({ partitions })
  return openBench(FILES, { store, clock: new SimulatedClock(Date.now()) })
}

/** Starts contexts of all kinds, at times of their own, of which some move and end. */
async function fill(bench: Bench): Promise<void> {
  const ids: number[] = []
  for (let index = 0; index < 40; index += 1) {
    const tag = TAGS[index % 3]
    const [fluxName, owner] = [
      ['Other', 'p'],
      ['Other', 'q'],
      ['Secret', index % 2 === 0 ? 'p' : 'q'],
      ['Fails', 'p'],
      ['Parent', 'p'],
      ['Breaks', 'p'],
      ['Other', 'p'],
    ][index % 7] ?? ['Other', 'p']
    const input = ['Other', 'Secret'].includes(fluxName ?? '') ? { tag } : {}
    ids.push(await bench.run(fluxName ?? '', input, { package: owner }))
    await bench.advance(700)
  }
  for (const tag of TAGS) ids.push(await bench.run('Order', { tag }))
  for (const [place, contextId] of ids.entries()) {
    if (place % 3 === 0) continue
    await bench.advance(900)
    const event = place % 3 === 1 ? 'move' : 'end'
    const sent = place % 5 === 4 ? bench.terminate({ contextId }) : bench.sendEvent({ contextId, event })
    await sent.catch(() => null)
  }
  for (const contextId of ids) {
    const { fluxName } = await bench.getContext({ contextId })
    if (['Fails', 'Breaks'].includes(fluxName))
      await bench.until(contextId, ({ status }) => status === 'FAILED' || status === 'TERMINATED')
  }
}

/** A context, and what views don't show. */
type Known = ContextView & { readonly parentId: number | null }

async function all(bench: Bench): Promise<Known[]> {
  const views = await bench.listContexts({ status: 'all', limit: 1000 })
  return Promise.all(
    views.map(async (view) => {
      const stored = await bench.parts.store.load({ id: view.id })
      return { ...view, parentId: stored?.parent ?? null }
    }),
  )
}

const between = (time: number | null, after: number | undefined, before: number | undefined): boolean =>
  (after === undefined && before === undefined) ||
  (time !== null && time > (after ?? -Infinity) && time < (before ?? Infinity))

interface Asked {
  readonly [name: string]: string | number | boolean | readonly string[] | undefined
  readonly status?: readonly string[] | undefined
  readonly tag?: readonly string[] | undefined
  readonly startedAfter?: number | undefined
  readonly startedBefore?: number | undefined
  readonly updatedAfter?: number | undefined
  readonly updatedBefore?: number | undefined
  readonly endedAfter?: number | undefined
  readonly endedBefore?: number | undefined
  readonly dueBefore?: number | undefined
}

function passes(view: Known, asked: Asked, isStatusMeant: (status: ContextView['status']) => boolean): boolean {
  const is = (name: string, value: unknown) => asked[name] === undefined || asked[name] === value
  const { status, tag = [] } = asked
  return (
    (status ? status.includes('all') || status.includes(view.status) : isStatusMeant(view.status)) &&
    (is('fluxName', view.fluxName) || is('fluxName', `${view.package}/${view.fluxName}`)) &&
    is('currentState', view.currentState) &&
    is('startState', view.startState) &&
    is('key', view.key) &&
    is('errorType', view.error?.type) &&
    is('parent', view.parentId) &&
    asked['paused'] !== true &&
    tag.every((each) => view.tags.includes(each)) &&
    between(view.startedAt, asked.startedAfter, asked.startedBefore) &&
    between(view.updatedAt, asked.updatedAfter, asked.updatedBefore) &&
    between(view.endedAt, asked.endedAfter, asked.endedBefore) &&
    between(view.nextRun, undefined, asked.dueBefore)
  )
}

async function pages(bench: Pick<Bench, 'listPage'>, request: ListRequest): Promise<ListedContext[]> {
  const found: ListedContext[] = []
  for (let place = {}; ;) {
    const { contexts, next } = await bench.listPage({ ...request, ...place })
    found.push(...contexts)
    if (next === null) return found
    place = request.order === 'desc' ? { before: next } : { after: next }
  }
}

/** Filters of values that some contexts have, and few of them at once: nothing passes many. */
function asking(known: readonly Known[]): fc.Arbitrary<Asked> {
  const some = <T>(value: (view: Known) => T) => fc.constantFrom(...new Set(known.map(value)))
  const times = known.flatMap(({ startedAt, updatedAt, endedAt }) => [startedAt, updatedAt, endedAt ?? updatedAt + 1])
  const time = fc.constantFrom(...times)
  const statuses = ['RUNNING', 'WAITING', 'WAITING_UNTIL', 'COMPLETED', 'FAILED', 'TERMINATED']
  const status = fc.oneof(fc.constant(['all']), fc.subarray(statuses, { minLength: 1 }))
  const filters = {
    fluxName: fc.oneof(
      some(({ fluxName }) => fluxName),
      some((view) => `${view.package}/${view.fluxName}`),
      fc.constant('none/Other'),
    ),
    currentState: some(({ currentState }) => currentState),
    startState: some(({ startState }) => startState),
    tag: fc.subarray(TAGS, { minLength: 1, maxLength: 1 }),
    key: fc.constantFrom('k-red', 'nobody'),
    errorType: fc.constantFrom('TypeError', 'RangeError', 'Nothing'),
    parent: fc.constantFrom(...known.flatMap(({ parentId }) => parentId ?? []), 99_999),
    paused: fc.boolean(),
    startedAfter: time,
    startedBefore: time,
    updatedAfter: time,
    updatedBefore: time,
    endedAfter: time,
    endedBefore: time,
    dueBefore: fc.constantFrom(...known.flatMap(({ nextRun }) => nextRun ?? [])),
  }
  return fc
    .tuple(
      fc.record(filters),
      fc.subarray(Object.keys(filters), { maxLength: 3 }),
      fc.option(status, { nil: undefined, freq: 4 }),
    )
    .map(([values, names, given]) => ({
      ...Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name))),
      ...(given && { status: given }),
    }))
}

/** What a summary leaves out, and what views don't show. */
const NOT_SHOWN = new Set(['input', 'output', 'stateContexts', 'executionHistory', 'pending', 'parentId'])

const totalOf = ({ total }: { total: number }) => total

describe.each(
  storesOf([
    ['the embedded store', null],
    ['Redis', 1],
    ['Redis with 4 partitions', 4],
  ]),
)('on %s', (_, partitions) => {
  let bench: Bench
  let known: Known[]
  beforeAll(async () => {
    bench = await openOn(partitions)
    await fill(bench)
    known = await all(bench)
  }, 60_000)
  afterAll(() => bench.close())

  test('there is something of everything', () => {
    const statuses = new Set(known.map(({ status }) => status))
    expect([...statuses].sort()).toEqual(['COMPLETED', 'FAILED', 'RUNNING', 'TERMINATED', 'WAITING', 'WAITING_UNTIL'])
    expect(known.filter(({ parentId }) => parentId !== null).length).toBeGreaterThan(3)
    expect(new Set(known.map(({ error }) => error?.type))).toEqual(new Set([undefined, 'TypeError', 'RangeError']))
  })

  test('lists are what a look at each context gives, in either order', async () => {
    await fc.assert(
      fc.asyncProperty(
        asking(known),
        fc.constantFrom('asc' as const, 'desc' as const, undefined),
        fc.constantFrom(2, 7, 1000),
        fc.constantFrom(0, 0, 1),
        async (asked, order, limit, page) => {
          const expected = known.filter((view) => passes(view, asked, (status) => !isFinished(status)))
          if (order === 'desc') expected.reverse()
          const found = await pages(bench, { ...asked, order, limit, page })
          expect(found.map(({ id }) => id)).toEqual(expected.slice(page * limit).map(({ id }) => id))
        },
      ),
      { numRuns: runs(250, 50) },
    )
  }, 120_000)

  test('counts are what a look at each context gives', async () => {
    await fc.assert(
      fc.asyncProperty(
        asking(known),
        fc.constantFrom('status' as const, 'currentState' as const, 'fluxName' as const),
        async (asked, by) => {
          const counts: { [name: string]: number } = {}
          for (const view of known) {
            if (!passes(view, asked, (status) => by === 'status' || !isFinished(status))) continue
            const name = by === 'fluxName' ? `${view.package}/${view.fluxName}` : view[by]
            counts[name] = (counts[name] ?? 0) + 1
          }
          const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
          expect(await bench.countContexts({ ...asked, by })).toEqual({ total, by, counts })
        },
      ),
      { numRuns: runs(120, 30) },
    )
  }, 120_000)

  test('a stranger learns nothing of secured contexts', async () => {
    const anyone = bench.engine.api(ANONYMOUS)
    const open = known.filter((view) => view.fluxName !== 'Secret' || view.package !== 'p')
    const ids = (await pages(anyone, { status: 'all', order: 'desc', limit: 9 })).map(({ id }) => id)
    expect(ids).toEqual(open.map(({ id }) => id).toReversed())
    for (const by of ['status', 'currentState', 'fluxName'] as const)
      expect(totalOf(await anyone.countContexts({ by, status: 'all' }))).toBe(open.length)
    expect(totalOf(await anyone.countContexts({ status: 'all', startedAfter: 1 }))).toBe(open.length)
  })

  test('who may only read counts and lists what is secured, too', async () => {
    const reader = bench.engine.api({ roles: ['read'] })
    const ids = (await pages(reader, { status: 'all', limit: 9 })).map(({ id }) => id)
    expect(ids).toEqual(known.map(({ id }) => id))
    for (const by of ['status', 'currentState', 'fluxName'] as const)
      expect(totalOf(await reader.countContexts({ by, status: 'all' }))).toBe(known.length)
  })

  test('a summary has no data, states and history, and of an error type and message', async () => {
    const summaries = await bench.listContexts({ status: 'all', view: 'summary', limit: 1000 })
    expect(summaries).toEqual(
      known.map(({ error, ...view }) => {
        const left = Object.entries(view).filter(([name]) => !NOT_SHOWN.has(name))
        return { ...Object.fromEntries(left), error: error && { message: error.message, type: error.type } }
      }),
    )
  })
})
