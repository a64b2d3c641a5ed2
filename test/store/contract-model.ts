// The store port: whatever happens in whatever order, it answers as a simple model in memory does.
import { listed, waiting } from './listed.ts'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { ContextId } from '../../src/model/context.ts'
import type { Store, StoredContext } from '../../src/ports/store.ts'
import { contextOf, idsOf, newId, type OpenStore, writeOf } from './contract-support.ts'
import { runs } from '../support/effort.ts'

const WORDS = ['red', 'green', 'blue', 'hear:go', '__proto__']

const facts = fc.record({
  indexKeys: fc.subarray(WORDS),
  due: fc.option(fc.nat(200)),
  endedAt: fc.option(fc.nat(200), { freq: 2 }),
  parts: fc.dictionary(fc.constantFrom('record', 'state:0', 'é'), fc.string({ unit: 'grapheme', maxLength: 40 })),
})

const action = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('create' as const),
      facts,
      parent: fc.option(fc.nat()),
      rows: fc.array(fc.string(), { maxLength: 3 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      which: fc.nat(),
      facts,
      rows: fc.array(fc.string(), { maxLength: 3 }),
      notifies: fc.array(fc.nat(), { maxLength: 2 }),
      answersNotification: fc.boolean(),
      behind: fc.constantFrom(0, 0, 0, 1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('claim' as const),
      later: fc.nat(40),
      hideFor: fc.integer({ min: 1, max: 50 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('purge' as const), endedBefore: fc.nat(200) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('query' as const),
      words: fc.subarray(WORDS),
      limit: fc.nat(5),
      skip: fc.nat(4),
      after: fc.nat(),
    }),
  },
)

type Action = typeof action extends fc.Arbitrary<infer A> ? A : never

interface Known {
  context: StoredContext
  rows: string[]
  poked: boolean
  hiddenUntil: number | null
}

class Model {
  readonly contexts = new Map<ContextId, Known>()
  now = 0

  at(index: number): ContextId {
    const ids = [...this.contexts.keys()]
    return ids[index % Math.max(ids.length, 1)] ?? 999_999
  }

  wakeAt({ context, poked, hiddenUntil }: Known): number | null {
    return hiddenUntil ?? (poked ? 0 : context.due)
  }

  matching(test: (known: StoredContext) => boolean): ContextId[] {
    return [...this.contexts.values()]
      .map(({ context }) => context)
      .filter(test)
      .map(({ id }) => id)
      .sort((a, b) => a - b)
  }
}

async function play(store: Store, model: Model, step: Action): Promise<void> {
  const { contexts } = model
  switch (step.do) {
    case 'create': {
      const parent = step.parent === null || contexts.size === 0 ? null : model.at(step.parent)
      const context = contextOf(await newId(store), 1, { ...step.facts, parent })
      expect(await store.commit({ writes: [writeOf(context, { log: step.rows })] })).toEqual({ ok: true })
      contexts.set(context.id, { context, rows: [...step.rows], poked: false, hiddenUntil: null })
      break
    }
    case 'write': {
      const id = model.at(step.which)
      const known = contexts.get(id)
      if (known === undefined) break
      const previous = known.context.version - step.behind
      const context = contextOf(id, previous + 1, { ...step.facts, parent: known.context.parent })
      const notifies = step.notifies.map((poke) => model.at(poke))
      const changed = Object.keys({ ...known.context.parts, ...context.parts })
      const outcome = await store.commit({
        writes: [
          writeOf(context, {
            previous,
            changed,
            log: step.rows,
            notifies,
            answersNotification: step.answersNotification,
          }),
        ],
      })
      if (step.behind > 0) {
        expect(outcome).toMatchObject({ ok: false, stale: id })
        break
      }
      expect(outcome).toEqual({ ok: true })
      known.context = context
      known.rows.push(...step.rows)
      known.hiddenUntil = null
      if (step.answersNotification) known.poked = false
      for (const poke of notifies) {
        const target = contexts.get(poke)
        if (target !== undefined) Object.assign(target, { poked: true, hiddenUntil: null })
      }
      break
    }
    case 'claim': {
      model.now += step.later
      const due = [...contexts.values()].filter((known) => (model.wakeAt(known) ?? Infinity) <= model.now)
      for (const known of due) known.hiddenUntil = model.now + step.hideFor
      const times = [...contexts.values()].map((known) => model.wakeAt(known)).filter((time) => time !== null)
      const claim = await store.claimDue({ now: model.now, limit: 1000, hideFor: step.hideFor })
      expect(claim.ids.sort((a, b) => a - b)).toEqual(due.map(({ context }) => context.id).sort((a, b) => a - b))
      expect(claim.next).toBe(times.length === 0 ? null : Math.min(...times))
      break
    }
    case 'purge': {
      const ended = [...contexts.values()].filter(
        ({ context: { endedAt, parent } }) =>
          endedAt !== null && endedAt < step.endedBefore && !(parent !== null && contexts.get(parent)?.poked === true),
      )
      expect(await store.purge({ endedBefore: step.endedBefore, limit: 1000 })).toBe(ended.length)
      for (const { context } of ended) contexts.delete(context.id)
      break
    }
    case 'query': {
      const after = step.after % 2 === 0 ? undefined : model.at(step.after)
      const page = (ids: ContextId[]): ContextId[] =>
        ids.filter((id) => id > (after ?? 0)).slice(step.skip, step.skip + step.limit)
      const { limit, skip } = step
      expect(await idsOf(listed(store, { all: step.words, limit, skip, after }))).toEqual(
        page(model.matching(({ indexKeys }) => step.words.every((word) => indexKeys.includes(word)))),
      )
      for (const cut of [1, 2]) {
        const [without, words] = [step.words.slice(0, cut), step.words.slice(cut)]
        expect(await idsOf(listed(store, { all: words, without, limit, skip, after }))).toEqual(
          page(
            model.matching(
              ({ indexKeys }) =>
                words.every((word) => indexKeys.includes(word)) && !without.some((word) => indexKeys.includes(word)),
            ),
          ),
        )
      }
      const upTo = await store.highestId()
      expect(await waiting(store, { any: step.words, upTo, limit, skip, after })).toEqual(
        page(model.matching(({ indexKeys }) => step.words.some((word) => indexKeys.includes(word)))),
      )
    }
  }
}

async function agree(store: Store, model: Model): Promise<void> {
  expect(await idsOf(listed(store, { all: [], limit: 1000 }))).toEqual(model.matching(() => true))
  for (const word of WORDS)
    expect(await idsOf(listed(store, { all: [word], limit: 1000 }))).toEqual(
      model.matching(({ indexKeys }) => indexKeys.includes(word)),
    )
  for (const [id, { context, rows }] of model.contexts) {
    expect(await store.load({ id })).toEqual(context)
    expect(await store.log({ id, limit: 1000 })).toEqual(rows)
  }
}

export function modelPromises(open: OpenStore): void {
  it('answers as a model does, whatever happens in whatever order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 60 }), async (steps) => {
        const opened = await open()
        try {
          const model = new Model()
          for (const step of steps) await play(opened.store, model, step)
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
