// The store port: selecting contexts, in either order, by words and times, and counting them.
import * as fc from 'fast-check'
import { describe, expect } from 'vitest'
import type { ContextId } from '../../src/model/context.ts'
import type { Selection, SelectQuery, Store, StoredContext } from '../../src/ports/store.ts'
import { createAll, type ScenarioTest, update } from './contract-support.ts'

type Facts = Pick<StoredContext, 'id' | 'indexKeys' | 'due' | 'endedAt'>

/** All pages of a list, with the skip on the first of them. */
async function selected(store: Store, query: Parameters<Store['select']>[0]): Promise<ContextId[]> {
  const ids: ContextId[] = []
  for (let { after, before, skip } = query; ; skip = 0) {
    const { contexts, rest } = await store.select({ ...query, after, before, skip })
    expect(contexts.length).toBeLessThanOrEqual(query.limit)
    ids.push(...contexts.map(({ id }) => id))
    if (rest === null) return ids
    if (query.order === 'asc') after = rest
    else before = rest
  }
}

const isIn = (time: number | null, range: { after?: number | undefined; before?: number | undefined } | undefined) =>
  !range || (time !== null && time > (range.after ?? -Infinity) && time < (range.before ?? Infinity))

/** What the port says, by looking at each context. */
function matching(all: readonly Facts[], partitions: number, selection: Selection): ContextId[] {
  const { any, without = [], after = 0, before = Infinity, due, ended, windows = [] } = selection
  return all
    .filter(
      ({ id, indexKeys, due: dueAt, endedAt }) =>
        any.some((keys) => keys.every((key) => indexKeys.includes(key))) &&
        !without.some((key) => indexKeys.includes(key)) &&
        id > after &&
        id < before &&
        isIn(id, windows[id % partitions]) &&
        isIn(dueAt, due) &&
        isIn(endedAt, ended),
    )
    .map(({ id }) => id)
}

const time = fc.integer({ min: 0, max: 40 })
const bound = fc.option(time, { nil: undefined })

/** Contexts of two kinds, of which some have other words, and times. */
async function fill(store: Store, count: number): Promise<Facts[]> {
  const facts = Array.from({ length: count }, (_, index) => ({
    indexKeys: [
      index % 3 === 0 ? 'one' : 'two',
      'all',
      ...(index % 2 === 0 ? ['even'] : []),
      ...(index >= count / 3 && index < count / 2 ? ['middle'] : []),
      ...(index % 50 === 7 ? ['few'] : []),
    ],
    due: index % 5 === 0 ? (index * 7) % 40 : null,
    endedAt: index % 3 === 0 ? (index * 11) % 40 : null,
  }))
  const ids = await createAll(store, ...facts)
  return facts.map((each, index) => ({ id: ids[index] ?? 0, ...each }))
}

export function selectionPromises(test: ScenarioTest): void {
  describe('a selection', () => {
    test('is by ids in either order, and leads on to all matches', async ({ store, again }) => {
      const all = await fill(store, 180)
      const lists = [
        [['all']],
        [[]],
        [['one'], ['two']],
        [
          ['even', 'one'],
          ['two', 'few'],
        ],
        [['nobody']],
        [['middle', 'even']],
      ]
      for await (const reader of again()) {
        for (const any of lists)
          for (const without of [[], ['middle'], ['few', 'even']])
            for (const order of ['asc', 'desc'] as const)
              for (const [limit, skip] of [
                [17, 0],
                [1000, 0],
                [50, 1],
                [30, 100],
                [5, 179],
                [5, 1000],
              ] as const) {
                const expected = matching(all, reader.partitions, { any, without })
                if (order === 'desc') expected.reverse()
                expect(
                  await selected(reader, { any, without, order, limit, skip }),
                  JSON.stringify({ any, without, order, limit, skip }),
                ).toEqual(expected.slice(skip))
              }
      }
    })

    test('is the same as a look at each context gives, and so is a count', async ({ store }) => {
      const all = await fill(store, 300)
      const id = fc.nat(all.length - 1).map((index) => all[index]?.id ?? 0)
      const maybeId = fc.option(id, { nil: undefined })
      const words = fc.subarray(['one', 'even', 'middle', 'few', 'all'], { maxLength: 3 })
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            any: fc.oneof(
              words.map((keys) => [keys]),
              fc.tuple(words, words).map(([one, two]) => [
                [...one.filter((key) => key !== 'one'), 'one'],
                [...two.filter((key) => key !== 'one'), 'two'],
              ]),
            ),
            without: fc.subarray(['few', 'middle', 'nobody']),
            after: id,
            before: id,
            due: fc.record({ before: time }),
            ended: fc.record({ after: bound, before: bound }),
            windows: fc.array(fc.record({ after: maybeId, before: maybeId }), {
              minLength: store.partitions,
              maxLength: store.partitions,
            }),
          }),
          // Few at once: nothing passes all of them.
          fc.subarray(['after', 'before', 'due', 'ended', 'windows'] as const, { maxLength: 2 }),
          fc.constantFrom('asc' as const, 'desc' as const),
          fc.constantFrom(1, 9, 1000),
          fc.constantFrom(0, 0, 3, 60),
          async ({ any, without, ...ranges }, asked, order, limit, skip) => {
            const selection: Selection = {
              any,
              without,
              ...Object.fromEntries(asked.map((name) => [name, ranges[name]])),
            }
            const expected = matching(all, store.partitions, selection)
            expect(await store.count(selection)).toBe(expected.length)
            if (order === 'desc') expected.reverse()
            expect(await selected(store, { ...selection, order, limit, skip })).toEqual(expected.slice(skip))
          },
        ),
        { numRuns: 80 },
      )
    })

    test('gives ids alone, each once, in either order, where lists overlap and where one partition is meant', async ({
      store,
    }) => {
      const all = await fill(store, 120)
      const lists = [
        [['even'], ['one'], ['few']],
        [['all'], ['even', 'two']],
        [[], ['middle']],
      ]
      const idsOf = async (query: SelectQuery) => {
        const found: ContextId[] = []
        for (let { after, before, skip } = query; ; skip = 0) {
          const { ids, rest } = await store.selectIds({ ...query, after, before, skip })
          found.push(...ids)
          if (rest === null) return found
          if (query.order === 'asc') after = rest
          else before = rest
        }
      }
      for (const any of lists)
        for (const order of ['asc', 'desc'] as const)
          for (const partition of [undefined, store.partitions - 1])
            for (const [limit, skip] of [
              [7, 0],
              [1000, 50],
            ] as const) {
              const expected = matching(all, store.partitions, { any }).filter(
                (id) => partition === undefined || id % store.partitions === partition,
              )
              if (order === 'desc') expected.reverse()
              expect(await idsOf({ any, order, partition, limit, skip })).toEqual(expected.slice(skip))
            }
    })

    test('has no bound in it, be there more with such times than with the words, or fewer', async ({ store }) => {
      const all = await fill(store, 300)
      for (const any of [[['few']], [['all']]])
        for (const order of ['asc', 'desc'] as const)
          for (const { endedAt, due } of all.filter(({ indexKeys }) => indexKeys.includes('few'))) {
            const times = [due, endedAt].filter((time) => time !== null)
            for (const ranges of times.flatMap((time) => [
              { ended: { after: time } },
              { ended: { before: time } },
              { due: { before: time } },
            ])) {
              const expected = matching(all, store.partitions, { any, ...ranges })
              if (order === 'desc') expected.reverse()
              expect(await selected(store, { any, ...ranges, order, limit: 1000 })).toEqual(expected)
            }
          }
    })

    test('knows when a context is due that is claimed, or was notified', async ({ store, now }) => {
      const start = now()
      const [claimed = 0, notified = 0, later = 0] = await createAll(
        store,
        { indexKeys: ['w'], due: start - 1000 },
        { indexKeys: ['w'], due: start + 600_000 },
        { indexKeys: ['w'], due: start + 900_000 },
        { indexKeys: ['w'] },
      )
      expect((await store.claimDue({ now: start, limit: 10, hideFor: 10_000 })).ids).toEqual([claimed])
      const due = (before: number) => selected(store, { any: [['w']], due: { before }, order: 'asc', limit: 10 })
      expect(await due(start)).toEqual([claimed])
      await update(store, notified, { indexKeys: ['w', 'x'] }, { notifies: [notified] })
      expect(await due(start)).toEqual([claimed])
      expect(await due(start + 600_001)).toEqual([claimed, notified])
      expect(await due(start + 900_001)).toEqual([claimed, notified, later])
      expect(await store.count({ any: [['w']], due: { before: start + 900_000 } })).toBe(2)
    })

    test('follows each write', async ({ store, again }) => {
      const [a = 0, b = 0] = await createAll(store, { indexKeys: ['w'], due: 5 }, { indexKeys: ['w'], due: 6 })
      await update(store, a, { indexKeys: ['w', 'done'], due: null, endedAt: 9 })
      for await (const reader of again()) {
        expect(await selected(reader, { any: [['w']], due: { before: 100 }, order: 'desc', limit: 9 })).toEqual([b])
        expect(await selected(reader, { any: [['w']], ended: { after: 8 }, order: 'desc', limit: 9 })).toEqual([a])
        expect(await selected(reader, { any: [['w']], ended: { after: 9 }, order: 'asc', limit: 9 })).toEqual([])
        expect(await reader.count({ any: [['w']] })).toBe(2)
        expect(await reader.count({ any: [['w'], ['nobody']], without: ['done'] })).toBe(1)
      }
    })

    test('ends early with so many characters, and gives whole contexts', async ({ store }) => {
      const contexts = Array.from({ length: 12 }, () => ({ indexKeys: ['x'], parts: { record: 'é'.repeat(500) } }))
      const ids = await createAll(store, ...contexts)
      const { contexts: some, rest } = await store.select({
        any: [['x']],
        order: 'desc',
        limit: 10,
        characters: 1001,
      })
      expect(some).toEqual(
        await Promise.all(
          ids
            .toReversed()
            .slice(0, 3)
            .map((id) => store.load({ id })),
        ),
      )
      expect(rest).toBe(ids.at(-3))
      expect(await selected(store, { any: [['x']], order: 'desc', limit: 10, characters: 1 })).toEqual(ids.toReversed())
    })
  })
}
