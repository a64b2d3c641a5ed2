// The store port: whatever is done to rows and unique keys in whatever order, or at once, it answers as a model does.
import { newest } from './listed.ts'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { ContextId } from '../../src/model/context.ts'
import { compareRows, type RowWrite } from '../../src/model/rows.ts'
import type { CommitOutcome, Store } from '../../src/ports/store.ts'
import { contextOf, newId, type OpenStore, writeOf } from './contract-support.ts'
import { runs } from '../support/effort.ts'

const KEYS = ['a', 'a:1', 'a:2', 'é', '😀', '\uffff']
const SPACES = ['items', 'pending', 'lookups'] as const
const UNIQUES = ['key:x', 'key:y']
const PAST = 1000
const FUTURE = 1e15

const rowWrite = fc.record({
  space: fc.constantFrom(...SPACES),
  key: fc.constantFrom(...KEYS),
  /** What it expects, of what is there: that, something else, nothing, whatever. */
  guard: fc.constantFrom('same', 'same', 'other', 'nothing', 'none'),
  value: fc.option(fc.constantFrom('1', '2', '{"x":"é"}'), { freq: 4 }),
  expiresAt: fc.constantFrom(null, PAST, FUTURE),
})

/** A context that is made, or gets other keys, in the same commit. */
const contextWrite = fc.option(
  fc.record({
    which: fc.nat(4),
    unique: fc.option(fc.constantFrom(...UNIQUES)),
    isStale: fc.constantFrom(false, false, true),
  }),
)

const commit = fc.record({
  do: fc.constant('commit' as const),
  rows: fc.uniqueArray(rowWrite, { maxLength: 4, selector: ({ space, key }) => `${space}:${key}` }),
  contexts: fc.uniqueArray(contextWrite, { maxLength: 2, selector: (one) => one?.which }),
})
const sweep = fc.record({ do: fc.constant('sweep' as const), limit: fc.nat(3) })
const list = fc.record({
  do: fc.constant('list' as const),
  space: fc.constantFrom(...SPACES),
  prefix: fc.constantFrom('', 'a', 'a:'),
  after: fc.option(fc.constantFrom(...KEYS)),
  limit: fc.nat(4),
})
const action = fc.oneof(
  { weight: 5, arbitrary: commit },
  { weight: 1, arbitrary: sweep },
  { weight: 2, arbitrary: list },
)

type Action = typeof action extends fc.Arbitrary<infer A> ? A : never
type Commit = Action & { do: 'commit' }

interface Known {
  version: number
  unique: string | null
}

class Model {
  readonly rows = new Map<string, RowWrite & { value: string }>()
  readonly contexts = new Map<ContextId, Known>()

  readonly ids: readonly ContextId[]

  constructor(ids: readonly ContextId[]) {
    this.ids = ids
  }

  valueOf(space: string, key: string): string | null {
    const row = this.rows.get(`${space}:${key}`)
    return row === undefined || row.expiresAt === PAST ? null : row.value
  }

  count(space: string): number {
    return [...this.rows.values()].filter((row) => row.space === space).length
  }

  holder(unique: string): ContextId | null {
    const ids = [...this.contexts].filter(([, known]) => known.unique === unique).map(([id]) => id)
    return ids.length === 0 ? null : Math.max(...ids)
  }
}

/** The commit as the store is asked for it, and what it must answer; the model changes accordingly. */
function decide(model: Model, step: Commit): { request: Parameters<Store['commit']>[0]; outcome: CommitOutcome } {
  const rows = step.rows.map(({ space, key, guard, value, expiresAt }): RowWrite => {
    const there = model.valueOf(space, key)
    const row = { partition: 0, space, key, value, expiresAt }
    if (guard === 'none') return row
    return { ...row, expects: guard === 'same' ? there : guard === 'nothing' ? null : 'other' }
  })
  const contexts = step.contexts.flatMap((one) => (one === null ? [] : { ...one, id: model.ids[one.which] ?? 0 }))
  const writes = contexts.map(({ id, unique, isStale }) => {
    const version = (model.contexts.get(id)?.version ?? 0) + (isStale ? 2 : 1)
    const context = contextOf(id, version, { indexKeys: ['all', ...(unique === null ? [] : [unique])] })
    return writeOf(context, unique === null ? {} : { unique })
  })
  return { request: { writes, rows }, outcome: outcomeOf(model, contexts, rows) }
}

function outcomeOf(
  model: Model,
  contexts: readonly { id: ContextId; unique: string | null; isStale: boolean }[],
  rows: readonly RowWrite[],
): CommitOutcome {
  const stale = contexts.find(({ isStale }) => isStale)
  if (stale) return { ok: false, stale: stale.id }
  for (const { space, key, expects } of rows) {
    const value = model.valueOf(space, key)
    if (expects !== undefined && expects !== value) return { ok: false, row: { space, key, value } }
  }
  const after = new Map([...model.contexts].map(([id, { unique }]) => [id, unique]))
  for (const { id, unique } of contexts) after.set(id, unique)
  for (const { id, unique } of contexts) {
    const [by] = [...after].find(([other, held]) => other !== id && unique !== null && held === unique) ?? []
    if (unique !== null && by !== undefined) return { ok: false, unique: { key: unique, by } }
  }
  const gains = contexts.some(
    ({ id, unique }) => !model.contexts.has(id) || (unique !== null && unique !== model.contexts.get(id)?.unique),
  )
  for (const { id, unique } of contexts)
    model.contexts.set(id, { version: (model.contexts.get(id)?.version ?? 0) + 1, unique })
  for (const row of rows) {
    if (row.value === null) model.rows.delete(`${row.space}:${row.key}`)
    else model.rows.set(`${row.space}:${row.key}`, { ...row, value: row.value })
  }
  return gains && model.count('lookups') > 0 ? { ok: true, lookups: true } : { ok: true }
}

function check(found: CommitOutcome, expected: CommitOutcome): void {
  if (expected.ok) {
    // It may tell of lookups more often, as long as there are any.
    expect(found).toMatchObject(expected)
  } else if ('unique' in expected) {
    // Of two in one commit, either may be told.
    expect(found).toMatchObject({ ok: false, unique: { key: expected.unique.key } })
  } else expect(found).toMatchObject(expected)
}

async function agree(store: Store, model: Model): Promise<void> {
  for (const space of SPACES) {
    expect(await store.countRows({ space })).toBe(model.count(space))
    for (const key of KEYS) {
      expect((await store.readRow({ partition: 0, space, key }))?.value ?? null).toBe(model.valueOf(space, key))
    }
  }
  for (const unique of UNIQUES) expect(await newest(store, unique)).toBe(model.holder(unique))
  for (const [id, { version }] of model.contexts) expect(await store.version({ id })).toBe(version)
}

/** Commits that follow one another are asked for at once: they come true in their order. */
async function play(store: Store, model: Model, steps: readonly Action[]): Promise<void> {
  let pending: Promise<void>[] = []
  const settle = async () => {
    await Promise.all(pending)
    pending = []
  }
  for (const step of steps) {
    if (step.do === 'commit') {
      const { request, outcome } = decide(model, step)
      pending.push(store.commit(request).then((found) => check(found, outcome)))
      continue
    }
    await settle()
    if (step.do === 'sweep') {
      const expired = [...model.rows].filter(([, { expiresAt }]) => expiresAt === PAST)
      const swept = await store.sweepRows({ now: 2 * PAST, limit: step.limit })
      expect(swept).toBe(Math.min(step.limit, expired.length))
      // Which of them, is the store's own affair: all of them, then.
      for (let count = -1; count !== 0;) count = await store.sweepRows({ now: 2 * PAST, limit: 3 })
      for (const [name] of expired) model.rows.delete(name)
    } else {
      const { space, prefix, after, limit } = step
      const found = await store.listRows({
        space,
        prefix,
        limit,
        after: after === null ? undefined : { key: after, partition: 0 },
      })
      const expected = [...model.rows.values()]
        .filter((row) => row.space === space && row.expiresAt !== PAST && row.key.startsWith(prefix))
        .filter((row) => after === null || compareRows(row, { key: after, partition: 0 }) > 0)
        .sort(compareRows)
        .slice(0, limit)
      expect(found).toEqual(expected.map(({ key, value, expiresAt }) => ({ partition: 0, key, value, expiresAt })))
    }
  }
  await settle()
}

export function rowModelPromises(open: OpenStore): void {
  it('answers of rows and unique keys as a model does, one by one or at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 40 }), async (steps) => {
        const opened = await open()
        try {
          const ids = [0, 1, 2, 3, 4].map(() => newId(opened.store))
          const model = new Model((await Promise.all(ids)).sort((a, b) => a - b))
          await play(opened.store, model, steps)
          await agree(opened.store, model)
          if (opened.reopen !== undefined) await agree(await opened.reopen(), model)
        } finally {
          await opened.close()
        }
      }),
      { numRuns: runs(40, 10) },
    )
  }, 120_000)
}
