// Whatever a definition has become, its contexts can be shown, listed, tagged and terminated, and nothing that comes to
// them is left undone.
import { WorkBudget } from '../../src/definitions/work-budget.ts'
import { expect, test } from 'vitest'
import { hashOf } from '../../src/definitions/pinned/text.ts'
import { SYSTEM } from '../../src/model/caller.ts'
import { type ContextRecord, isFinished } from '../../src/model/context.ts'
import type { Json } from '../../src/model/json/value.ts'
import type { StoredContext } from '../../src/ports/store.ts'
import { decodeRecord } from '../../src/engine/record/decode.ts'
import { decide } from '../../src/engine/interpreter/decide.ts'
import type { Decision, Input, DecisionEnv } from '../../src/engine/interpreter/decision.ts'
import { pinnedFluxOf } from '../../src/engine/record/pinned-flux.ts'
import { indexKeysOf, parseIndexKeys } from '../../src/engine/record/index-keys.ts'
import { newestMoves } from '../../src/engine/record/move-log.ts'
import { contextView, stateView } from '../../src/engine/record/views.ts'
import { folderOf, open } from '../definitions/catalog-files.ts'
import { runs } from '../support/effort.ts'
import { viewEnv } from '../support/turns.ts'
import { readCorpus } from '../definitions/pinned/corpus.ts'
import { Random } from '../recorded/random.ts'
import { emptyStore, storeOfDefinition } from '../support/stores.ts'
import { silent } from '../support/silent.ts'

/** Definitions made of each that a context runs on. */
const DAMAGES = runs(24, 5)
const TIMEOUT_MS = 60_000

const INSTEAD: readonly Json[] = [
  null,
  '',
  'x',
  '${',
  0,
  -1,
  true,
  [],
  {},
  ['x'],
  { name: 'x' },
  [null],
  { type: 'set', expression: '(', evaluate: true, to: ['x'] },
]

/** One or two places of it hold something else, or nothing. */
function damaged(text: string, random: Random): string {
  if (random.chance(0.05)) return text.slice(0, random.between(0, text.length - 1))
  const stored = JSON.parse(text)
  for (let times = random.between(1, 2); times > 0; times -= 1) damage(stored['source'], random)
  return JSON.stringify(stored)
}

function damage(root: Json, random: Random): void {
  let place = root
  for (;;) {
    if (typeof place !== 'object' || place === null) return
    const keys = Object.keys(place)
    if (keys.length === 0) return
    const key = random.pick(keys)
    const value: Json = Reflect.get(place, key)
    if (typeof value === 'object' && value !== null && random.chance(0.8)) place = value
    else if (random.chance(0.3) && !Array.isArray(place)) return void Reflect.deleteProperty(place, key)
    else return void Reflect.set(place, key, structuredClone(random.pick(INSTEAD)))
  }
}

const given = (now: number): DecisionEnv => ({
  now,
  random: () => 0.5,
  uuid: () => 'u',
  owner: 'me',
  budget: new WorkBudget(Infinity),
  past: { historyOf: () => [] },
  tagLimits: { count: 64, bytes: 256 },
})

/** What brings a context on that stands there: none of it may come to nothing. */
function due(record: ContextRecord): { readonly input: Input; readonly now: number }[] {
  const { epoch, attempt } = record.position
  const now = Math.max(record.updatedAt, record.due ?? 0)
  const error = { message: 'no', type: 'Error', className: 'Error', realException: null }
  const owner = record.lease === null ? {} : { owner: record.lease.owner }
  const answers: Input[] =
    record.lease || record.child !== null
      ? [
          { type: 'DONE', epoch, attempt, result: {}, ...owner },
          { type: 'FAIL', epoch, attempt, error, ...owner },
        ]
      : []
  const wakes: Input[] = record.due === null ? [] : [{ type: 'WAKE' }]
  return [
    ...answers,
    ...wakes,
    { type: 'TERMINATE' as const, caller: SYSTEM },
    { type: 'OUTGROWN' as const, error },
  ].map((input) => ({ input, now }))
}

test('damaged at any place', { timeout: TIMEOUT_MS }, async () => {
  const corpus = await readCorpus('0.3')
  const { catalog } = await open(await folderOf({ 'p/readme.md': '' }))
  const texts = new Map(corpus.definitions.map(({ hash, text }) => [hash, text]))
  let [looked, broken] = [0, 0]
  for (const { context } of corpus.records) {
    const record = decodeRecord(context)
    const text = texts.get(record.definition) ?? ''
    for (let times = 0; times < DAMAGES; times += 1) {
      const seed = context.id * 1000 + times
      const other = damaged(text, new Random(seed))
      const flux = await pinnedFluxOf({ catalog, store: storeOfDefinition(other) }, context, {
        ...record,
        definition: hashOf(other),
      })
      await expect.soft(look(context, record, flux), `seed ${seed}`).resolves.toBeUndefined()
      looked += 1
      if (flux.faults.length > 0) broken += 1
    }
  }
  expect(broken).toBeGreaterThan(looked / 4)
})

test('a record that names a state that no definition has harms itself alone', async () => {
  const { records } = await readCorpus('0.3')
  const { catalog } = await open(await folderOf({ 'p/readme.md': '' }))
  const [first] = records
  if (first === undefined) throw new Error('the corpus has records')
  const { context } = first
  const head = JSON.parse(context.parts['head'] ?? '')
  for (const damage of [{ state: 2 ** 40 }, { state: -1 }, { state: 'x' }, { visited: [0, 1e9] }]) {
    const parts = { ...context.parts, head: JSON.stringify({ ...head, ...damage }) }
    const flux = pinnedFluxOf({ catalog, store: emptyStore() }, context, decodeRecord({ ...context, parts }))
    await expect(flux).rejects.toMatchObject({ failure: { kind: 'unreadable', contextId: context.id } })
  }
})

async function look(
  context: StoredContext,
  record: ContextRecord,
  flux: Awaited<ReturnType<typeof pinnedFluxOf>>,
): Promise<void> {
  const moves = newestMoves(record, silent)
  expect(contextView(record, flux, viewEnv(moves)).stateContexts).toHaveLength(record.visited.length)
  for (const state of flux.states) expect(stateView(record, flux, state, moves).name).toBe(state.name)
  expect(new Set(flux.states.map(({ name }) => name)).size).toBe(flux.states.length)
  expect(indexKeysOf(record, flux)).toEqual(
    expect.arrayContaining(context.indexKeys.filter((term) => /^(status|[uf]:(all|flux|tag))/.test(term))),
  )
  if (isFinished(record.status)) return
  for (const { input, now } of due(record))
    expect(kindOf(decide(flux, record, input, given(now))), input.type).toBe('next')
  for (const name of [...parseIndexKeys(context.indexKeys).events, 'unknown']) {
    const kind = kindOf(
      decide(
        flux,
        record,
        { type: 'EVENT', name, eventId: 'e-1', input: {}, untyped: false, tags: null, caller: SYSTEM },
        given(record.updatedAt),
      ),
    )
    expect(['next', 'refused']).toContain(kind)
  }
  expect(
    kindOf(decide(flux, record, { type: 'TAG', add: ['more'], remove: [], caller: SYSTEM }, given(record.updatedAt))),
  ).toBe('next')
}

const kindOf = ({ kind }: Decision) => kind
