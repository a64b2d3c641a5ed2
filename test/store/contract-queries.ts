// The store port: finding contexts by their words.
import { listed, waiting } from './listed.ts'
import { describe, expect } from 'vitest'
import {
  contextOf,
  createAll as create,
  createOne,
  HOSTILE,
  idsOf,
  newId,
  type ScenarioTest,
  update,
  writeOf,
} from './contract-support.ts'
import { nextTurn } from '../support/held.ts'

export function queryPromises(test: ScenarioTest): void {
  describe('a count', () => {
    test('is of those with all the words', async ({ store, again }) => {
      const ids = await create(
        store,
        ...Array.from({ length: 150 }, (_, index) => ({
          indexKeys: ['all', ...(index % 3 === 0 ? ['third'] : []), ...(index < 100 ? ['low'] : []), `${index}`],
        })),
      )
      await update(store, ids[0] ?? 0, { indexKeys: ['all'] })
      for await (const reader of again()) {
        expect(await reader.count({ any: [['all']] })).toBe(150)
        expect(await reader.count({ any: [['third']] })).toBe(49)
        expect(await reader.count({ any: [['low', 'third']] })).toBe(33)
        expect(await reader.count({ any: [['all', 'low', 'third']] })).toBe(33)
        expect(await reader.count({ any: [['all', '149']] })).toBe(1)
        expect(await reader.count({ any: [['low', '149']] })).toBe(0)
        expect(await reader.count({ any: [['all', 'nobody']] })).toBe(0)
        expect(await reader.count({ any: [['nobody']] })).toBe(0)
      }
    })
  })

  describe('a list', () => {
    test('has the contexts with all the words, by ascending id', async ({ store, again }) => {
      const [a = 0, b = 0, c = 0, d = 0] = await create(
        store,
        { indexKeys: ['x', 'y'] },
        { indexKeys: ['y'] },
        { indexKeys: ['z', 'y', 'x'] },
        {},
      )
      for await (const reader of again()) {
        expect(await idsOf(listed(reader, { all: ['x'], limit: 10 }))).toEqual([a, c])
        expect(await idsOf(listed(reader, { all: ['y'], limit: 10 }))).toEqual([a, b, c])
        expect(await idsOf(listed(reader, { all: ['x', 'y'], limit: 10 }))).toEqual([a, c])
        expect(await idsOf(listed(reader, { all: ['y', 'z', 'x'], limit: 10 }))).toEqual([c])
        expect(await idsOf(listed(reader, { all: ['x', 'x'], limit: 10 }))).toEqual([a, c])
        expect(await idsOf(listed(reader, { all: ['x', 'nobody'], limit: 10 }))).toEqual([])
        expect(await idsOf(listed(reader, { all: [], limit: 10 }))).toEqual([a, b, c, d])
      }
    })

    test('leaves out those with a word', async ({ store, again }) => {
      const [a = 0, b = 0, c = 0, d = 0] = await create(
        store,
        { indexKeys: ['x', 'no'] },
        { indexKeys: ['x', 'y'] },
        { indexKeys: ['y'] },
        { indexKeys: ['no', 'y', 'x'] },
      )
      for await (const reader of again()) {
        expect(await idsOf(listed(reader, { all: ['x'], without: ['no'], limit: 10 }))).toEqual([b])
        expect(await idsOf(listed(reader, { all: [], without: ['no'], limit: 10 }))).toEqual([b, c])
        expect(await idsOf(listed(reader, { all: ['x', 'y'], without: ['no'], limit: 10 }))).toEqual([b])
        expect(await idsOf(listed(reader, { all: ['y'], without: ['no'], skip: 1, limit: 10 }))).toEqual([c])
        expect(await idsOf(listed(reader, { all: ['y'], without: ['no'], after: b, limit: 10 }))).toEqual([c])
        expect(await idsOf(listed(reader, { all: ['y'], without: ['nobody'], limit: 10 }))).toEqual([b, c, d])
        expect(await idsOf(listed(reader, { all: ['no'], without: ['no'], limit: 10 }))).toEqual([])
        expect(await idsOf(listed(reader, { all: ['x'], without: ['y'], limit: 10 }))).toEqual([a])
      }
    })

    test('leaves out those with any of several words', async ({ store }) => {
      const [a = 0, b = 0, c = 0, d = 0, e = 0] = await create(
        store,
        { indexKeys: ['x'] },
        { indexKeys: ['x', 'no'] },
        { indexKeys: ['x', 'nor'] },
        { indexKeys: ['x', 'no', 'nor'] },
        { indexKeys: ['x'] },
      )
      expect(await idsOf(listed(store, { all: ['x'], without: ['no', 'nor'], limit: 10 }))).toEqual([a, e])
      expect(await idsOf(listed(store, { all: [], without: ['nor', 'no', 'nobody'], skip: 1, limit: 10 }))).toEqual([e])
      expect(await idsOf(listed(store, { all: ['x'], without: ['nobody', 'nor'], limit: 10 }))).toEqual([a, b, e])
      expect(await idsOf(listed(store, { all: ['x'], without: [], limit: 10 }))).toEqual([a, b, c, d, e])
    })

    test('passes over any number that are left out, or not', async ({ store }) => {
      const indexKeys = Array.from({ length: 600 }, (_, index): string[] => [
        'all',
        ...(index % 2 === 0 ? ['even'] : []),
        ...(index >= 150 && index < 400 ? ['middle'] : []),
        ...(index === 70 ? ['one'] : []),
      ])
      const ids = await create(store, ...indexKeys.map((own) => ({ indexKeys: own })))
      for (const [all, without] of [
        [['all'], ['one']],
        [['all'], ['middle']],
        [['all'], ['even', 'one']],
        [['all', 'even'], ['middle']],
        [['even', 'middle', 'all'], []],
        [[], ['middle', 'even']],
      ] as const) {
        const matches = ids.filter(
          (_, index) =>
            all.every((word) => indexKeys[index]?.includes(word)) &&
            !without.some((word) => indexKeys[index]?.includes(word)),
        )
        for (const skip of [0, 1, 69, 70, 71, 149, 150, 151, 299, 300, 301, 345, 599, 600, 1e12]) {
          expect(await idsOf(listed(store, { all, without, skip, limit: 5 })), `${all} ${without} ${skip}`).toEqual(
            matches.slice(skip, skip + 5),
          )
        }
        const after = ids[200] ?? 0
        expect(await idsOf(listed(store, { all, without, skip: 20, after, limit: 400 }))).toEqual(
          matches.filter((id) => id > after).slice(20, 420),
        )
      }
    })

    test('ends early with so many characters, and has one context at least', async ({ store }) => {
      const ids = await create(
        store,
        ...Array.from({ length: 40 }, (_, index) => ({
          indexKeys: ['x'],
          parts: { record: 'é'.repeat(index === 5 ? 5000 : 500) },
        })),
      )
      const list = (characters: number, after = 0) =>
        idsOf(listed(store, { all: ['x'], limit: 100, characters, after }))
      expect(await list(1)).toEqual(ids.slice(0, 1))
      expect(await list(1000)).toEqual(ids.slice(0, 2))
      expect(await list(1001)).toEqual(ids.slice(0, 3))
      expect(await list(5000, ids[4])).toEqual(ids.slice(5, 6))
      expect(await list(1_000_000)).toEqual(ids)
      expect(await idsOf(listed(store, { all: ['x'], limit: 3, characters: 5000 }))).toEqual(ids.slice(0, 3))
    })

    test('knows what somebody has read, and so do those who look who waits for an event', async ({ store }) => {
      for (let round = 0; round < 50; round++) {
        const id = await newId(store)
        const written = store.commit({ writes: [writeOf(contextOf(id, 1, { indexKeys: [`only ${round}`] }))] })
        // In one turn as often as that goes: what is written meanwhile can be on the disk before the store itself hears
        // of it.
        for (let read = null; read === null; await nextTurn()) {
          for (const until = performance.now() + 5; read === null && performance.now() < until;)
            read = await store.load({ id })
          if (read === null) continue
          expect(await waiting(store, { any: [`only ${round}`], upTo: id, limit: 10 })).toEqual([id])
        }
        expect(await idsOf(listed(store, { all: [`only ${round}`], limit: 10 }))).toEqual([id])
        expect(await written).toMatchObject({ ok: true })
      }
    })

    test('gives whole contexts', async ({ store }) => {
      const id = await createOne(store, { indexKeys: ['x'], due: 5, parts: { record: 'r', 'state:1': 's' } })
      expect(await listed(store, { all: ['x'], limit: 10 })).toEqual([await store.load({ id })])
    })

    test('follows the words of each write, and no others', async ({ store, again }) => {
      const id = await createOne(store, { indexKeys: ['stays', 'goes'] })
      await update(store, id, { indexKeys: ['comes', 'stays', 'comes'] })
      for await (const reader of again()) {
        expect(await idsOf(listed(reader, { all: ['stays'], limit: 10 }))).toEqual([id])
        expect(await idsOf(listed(reader, { all: ['comes'], limit: 10 }))).toEqual([id])
        expect(await idsOf(listed(reader, { all: ['goes'], limit: 10 }))).toEqual([])
      }
    })

    test('pages by skip and by after, with one word, several and none', async ({ store }) => {
      const ids = await create(
        store,
        ...Array.from({ length: 60 }, (_, index) => ({ indexKeys: ['all', index % 3 === 0 ? 'third' : 'other'] })),
      )
      const thirds = ids.filter((_, index) => index % 3 === 0)
      for (const [all, matches] of [
        [['all'], ids],
        [['all', 'third'], thirds],
        [['third'], thirds],
        [[], ids],
      ] as const) {
        for (const limit of [0, 1, 7, 1000]) {
          for (const skip of [undefined, 0, 1, 19, 20, 59, 60, 1000]) {
            expect(await idsOf(listed(store, { all, limit, skip }))).toEqual(matches.slice(skip).slice(0, limit))
            for (const after of [0, ids[0] ?? 0, ids[30] ?? 0, ids[59] ?? 0]) {
              expect(await idsOf(listed(store, { all, limit, skip, after }))).toEqual(
                matches
                  .filter((id) => id > after)
                  .slice(skip)
                  .slice(0, limit),
              )
            }
          }
        }
      }
    })

    test('keeps words apart that look alike', async ({ store }) => {
      const [a = 0, b = 0, c = 0] = await create(
        store,
        { indexKeys: ['a:b', 'c'] },
        { indexKeys: ['a', 'b:c'] },
        { indexKeys: ['a:b:c', 'A', 'é'] },
      )
      expect(await idsOf(listed(store, { all: ['a'], limit: 9 }))).toEqual([b])
      expect(await idsOf(listed(store, { all: ['a:b'], limit: 9 }))).toEqual([a])
      expect(await idsOf(listed(store, { all: ['b:c'], limit: 9 }))).toEqual([b])
      expect(await idsOf(listed(store, { all: ['A'], limit: 9 }))).toEqual([c])
      expect(await idsOf(listed(store, { all: ['e\u0301'], limit: 9 }))).toEqual([])
    })

    test('takes any text as a word', async ({ store }) => {
      const ids = await create(store, ...HOSTILE.map((word) => ({ indexKeys: [word] })))
      for (const [index, word] of HOSTILE.entries())
        expect(await idsOf(listed(store, { all: [word], limit: 9 })), JSON.stringify(word)).toEqual([ids[index]])
    })
  })

  describe('ids of those who have any of several words', () => {
    test('gives who has any of the words, ascending, each once', async ({ store, again }) => {
      const [a = 0, b = 0, c = 0] = await create(
        store,
        { indexKeys: ['hear:go', 'hear:go:red'] },
        { indexKeys: ['any'] },
        { indexKeys: ['hear:go:red', 'any'] },
        { indexKeys: ['else'] },
      )
      for await (const reader of again()) {
        const upTo = await reader.highestId()
        expect(await waiting(reader, { any: ['hear:go', 'any', 'hear:go:red', 'any'], upTo, limit: 10 })).toEqual([
          a,
          b,
          c,
        ])
        expect(await waiting(reader, { any: ['hear:go'], upTo, limit: 10 })).toEqual([a])
        expect(await waiting(reader, { any: ['nobody', 'any'], upTo, limit: 10 })).toEqual([b, c])
        expect(await waiting(reader, { any: ['nobody'], upTo, limit: 10 })).toEqual([])
        expect(await waiting(reader, { any: [], upTo, limit: 10 })).toEqual([])
      }
    })

    test('goes up to an id, and not beyond', async ({ store }) => {
      const ids = await create(store, ...Array.from({ length: 5 }, () => ({ indexKeys: ['w'] })))
      for (const [index, upTo] of ids.entries()) {
        expect(await waiting(store, { any: ['w'], upTo, limit: 10 })).toEqual(ids.slice(0, index + 1))
        expect(await waiting(store, { any: ['w', 'v'], upTo: upTo - 1, limit: 10 })).toEqual(ids.slice(0, index))
      }
    })

    test('pages by after and skip', async ({ store }) => {
      const ids = await create(
        store,
        ...Array.from({ length: 30 }, (_, index) => ({ indexKeys: index % 2 === 0 ? ['w'] : ['v', 'u'] })),
      )
      const upTo = ids[27] ?? 0
      const matches = ids.slice(0, 28)
      for (const after of [undefined, 0, ids[4] ?? 0, upTo]) {
        for (const skip of [undefined, 3, 40]) {
          const rest = matches.filter((id) => id > (after ?? 0)).slice(skip)
          for (const limit of [0, 1, 10, 100])
            expect(await waiting(store, { any: ['w', 'v', 'u'], upTo, limit, after, skip })).toEqual(
              rest.slice(0, limit),
            )
        }
      }
    })

    test('leaves out who has one of other words, over many pages', async ({ store }) => {
      const ids = await create(
        store,
        ...Array.from({ length: 90 }, (_, index) => ({
          indexKeys: [index % 2 === 0 ? 'w' : 'v', ...(index >= 10 && index < 80 ? ['out'] : []), `only ${index}`],
        })),
      )
      const upTo = ids[88] ?? 0
      const matches = ids.filter((_, index) => index < 89 && (index < 10 || index >= 80) && index !== 3 && index !== 82)
      const without = ['out', 'nobody', 'only 3', 'only 82']
      for (const after of [0, ids[4] ?? 0, ids[40] ?? 0, upTo])
        for (const skip of [0, 3, 12])
          for (const limit of [0, 1, 7, 100])
            expect(await waiting(store, { any: ['w', 'v'], without, upTo, limit, after, skip })).toEqual(
              matches.filter((id) => id > after).slice(skip, skip + limit),
            )
      expect(await waiting(store, { any: ['w'], without: ['w'], upTo, limit: 9 })).toEqual([])
    })

    test('forgets who no longer waits', async ({ store }) => {
      const [a = 0, b = 0] = await create(store, { indexKeys: ['w'] }, { indexKeys: ['w'] })
      await update(store, a, { indexKeys: [] })
      expect(await waiting(store, { any: ['w'], upTo: b, limit: 10 })).toEqual([b])
    })
  })
}
