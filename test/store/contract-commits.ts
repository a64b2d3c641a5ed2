// The store port: ids, commits under their fence, logs and definitions.
import { listed } from './listed.ts'
import { describe, expect } from 'vitest'
import { MAX_LOG_ROWS } from '../../src/model/context.ts'
import {
  contextOf,
  create,
  createAll,
  createOne,
  HOSTILE,
  idsOf,
  mustCommit,
  newId,
  type ScenarioTest,
  update,
  writeOf,
} from './contract-support.ts'
import { definitionIn, putDefinition } from '../support/stores.ts'

export function commitPromises(test: ScenarioTest): void {
  describe('ids', () => {
    test('are given out once, each higher than all before in its partition', async ({ store }) => {
      for (let partition = 0; partition < store.partitions; partition += 1) {
        let highest = 0
        for (const asked of [1, 5, 1, 100, 1]) {
          const { first, count } = await store.reserveIds({ count: asked, partition })
          expect(count).toBeGreaterThanOrEqual(asked)
          expect(first).toBeGreaterThan(highest)
          expect(first % store.partitions).toBe(partition)
          highest = first + (count - 1) * store.partitions
        }
      }
    })

    test('are never given to two that ask at once', async ({ store }) => {
      const blocks = await Promise.all(
        Array.from({ length: 200 }, (_, index) => store.reserveIds({ count: 3, partition: index % store.partitions })),
      )
      const ids = blocks.flatMap(({ first, count }) =>
        Array.from({ length: count }, (_, index) => first + index * store.partitions),
      )
      expect(ids.length).toBeGreaterThanOrEqual(600)
      expect(new Set(ids).size).toBe(ids.length)
    })

    test('count for the highest id when a context has them, not when they are only given out', async ({ store }) => {
      const id = await createOne(store)
      await store.reserveIds({ count: 100, partition: 0 })
      expect(await store.highestId()).toBe(id)
      const all = await createAll(store, {}, {}, {})
      expect(await store.highestId()).toBe(all.at(-1))
    })

    test('are not given again after the store was reopened, nor when their context is gone', async ({
      store,
      reopen,
    }) => {
      const { first } = await store.reserveIds({ count: 10, partition: 0 })
      const id = await createOne(store, { endedAt: 1 })
      expect(await store.purge({ endedBefore: 2, limit: 10 })).toBe(1)
      const later = await reopen()
      expect(await newId(later)).toBeGreaterThan(Math.max(id, first + 9))
    })
  })

  describe('a commit', () => {
    test('keeps a context just as it was given', async ({ store, reopen }) => {
      const id = await newId(store)
      const context = contextOf(id, 1, {
        indexKeys: ['flux:Polling', 'tag:größe'],
        due: 1_760_000_000_123,
        owner: 'boot-1',
        endedAt: 1_760_000_000_456,
        parent: 7,
        parts: { record: '{"a":"é😀\\n"}', 'state:0': 'two\nlines\u0000', empty: '' },
      })
      expect(await store.load({ id })).toBeNull()
      await mustCommit(store, writeOf(context))
      expect(await store.load({ id })).toEqual(context)
      expect(await (await reopen()).load({ id })).toEqual(context)
    })

    test('creates a context only where there is none', async ({ store }) => {
      const id = await createOne(store)
      const outcome = await store.commit({ writes: [writeOf(contextOf(id, 1, { parts: { record: 'other' } }))] })
      expect(outcome).toMatchObject({ ok: false, stale: id })
      // Where it is told at all, it is the whole context.
      if ('current' in outcome && outcome.current !== undefined)
        expect(outcome.current).toEqual(await store.load({ id }))
      expect((await store.load({ id }))?.parts).toEqual({ record: '{"version":1}' })
    })

    test('is refused when it was decided on another version, and changes nothing', async ({ store }) => {
      const id = await createOne(store, { indexKeys: ['kept'], log: ['first'] })
      await update(store, id, {})
      for (const previous of [0, 1, 3]) {
        const write = writeOf(contextOf(id, previous + 1, { indexKeys: ['lost'], due: 1 }), {
          log: ['lost'],
          notifies: [id],
        })
        expect(await store.commit({ writes: [write] })).toMatchObject({ ok: false, stale: id })
      }
      expect(await store.load({ id })).toMatchObject({ version: 2, indexKeys: ['kept'], due: null })
      expect(await store.log({ id, limit: 10 })).toEqual(['first'])
      expect(await listed(store, { all: ['lost'], limit: 10 })).toEqual([])
      expect(await store.claimDue({ now: 1e15, limit: 10, hideFor: 1 })).toEqual({ ids: [], next: null })
    })

    test('is refused when its context never was', async ({ store }) => {
      const id = await newId(store)
      expect(await store.commit({ writes: [writeOf(contextOf(id, 4))] })).toMatchObject({ ok: false, stale: id })
      expect(await store.load({ id })).toBeNull()
    })

    test('replaces, adds and removes parts', async ({ store, reopen }) => {
      const id = await createOne(store, { parts: { a: '1', b: '2', c: '3' } })
      await mustCommit(
        store,
        writeOf(contextOf(id, 2, { parts: { a: '1', b: 'two', d: '4' } }), { changed: ['b', 'c', 'd'] }),
      )
      expect((await store.load({ id }))?.parts).toEqual({ a: '1', b: 'two', d: '4' })
      await mustCommit(store, writeOf(contextOf(id, 3, { parts: {} }), { changed: ['a', 'b', 'd'] }))
      expect((await (await reopen()).load({ id }))?.parts).toEqual({})
    })

    test('of several contexts is made true as a whole', async ({ store }) => {
      const [parent = 0] = await create(store, { indexKeys: ['parent'] })
      const child = await newId(store)
      await mustCommit(
        store,
        writeOf(contextOf(parent, 2)),
        writeOf(contextOf(child, 1, { parent }), { log: ['born'] }),
      )
      expect((await store.load({ id: parent }))?.version).toBe(2)
      expect(await store.load({ id: child })).toMatchObject({ version: 1, parent })
      expect(await store.log({ id: child, limit: 1 })).toEqual(['born'])
    })

    test('of several contexts is refused as a whole when one of them is stale', async ({ store }) => {
      const [one = 0, two = 0] = await create(store, {}, {})
      const born = await newId(store)
      const writes = [
        writeOf(contextOf(one, 2, { indexKeys: ['x'], due: 1 }), { log: ['x'], notifies: [two] }),
        writeOf(contextOf(born, 1), { log: ['x'] }),
        writeOf(contextOf(two, 3)),
      ]
      expect(await store.commit({ writes })).toMatchObject({ ok: false, stale: two })
      expect(await store.load({ id: one })).toMatchObject({ version: 1, indexKeys: [], due: null })
      expect(await store.load({ id: born })).toBeNull()
      expect(await store.log({ id: one, limit: 1 })).toEqual([])
      expect(await listed(store, { all: ['x'], limit: 9 })).toEqual([])
      expect((await store.claimDue({ now: 1e15, limit: 9, hideFor: 1 })).ids).toEqual([])
    })

    test('of nothing succeeds', async ({ store }) => {
      expect(await store.commit({ writes: [] })).toEqual({ ok: true })
    })

    test('takes any text as the name of a part and as a word', async ({ store, again }) => {
      const id = await newId(store)
      const parts = Object.fromEntries(HOSTILE.map((name, index) => [name, `{"part":${index}}`]))
      Object.defineProperty(parts, '__proto__', {
        value: '{"part":"proto"}',
        enumerable: true,
        configurable: true,
        writable: true,
      })
      await mustCommit(store, writeOf(contextOf(id, 1, { indexKeys: HOSTILE, parts })))
      for await (const reader of again()) {
        const stored = await reader.load({ id })
        expect(Object.entries(stored?.parts ?? {}).sort()).toEqual(Object.entries(parts).sort())
        expect(new Set(stored?.indexKeys)).toEqual(new Set(HOSTILE))
        for (const word of HOSTILE)
          expect(await idsOf(listed(reader, { all: [word], limit: 10 })), JSON.stringify(word)).toEqual([id])
      }
    })

    test('keeps parts of several megabytes', async ({ store, reopen }) => {
      const big = JSON.stringify('é😀x\u0001'.repeat(500_000))
      const id = await createOne(store, { parts: { small: 's', big, last: 'l' } })
      expect((await store.load({ id }))?.parts).toEqual({ small: 's', big, last: 'l' })
      await update(store, id, { parts: { small: 's', big: big.slice(0, 10), last: 'l' } })
      expect((await (await reopen()).load({ id }))?.parts['big']).toBe(big.slice(0, 10))
    })

    test('wins alone among many decided on the same version', async ({ store }) => {
      const ids = await create(store, ...Array.from({ length: 200 }, () => ({})))
      for (let version = 1; version <= 2; version++) {
        const rivals = ids.flatMap((id) => Array.from({ length: 5 }, (_, rival) => ({ id, rival })))
        const outcomes = await Promise.all(
          rivals.map(async ({ id, rival }) => {
            const write = writeOf(
              contextOf(id, version + 1, { indexKeys: [`rival:${rival}`], parts: { record: `${rival}` } }),
              { log: [`${rival}`] },
            )
            return { id, rival, ...(await store.commit({ writes: [write] })) }
          }),
        )
        for (const id of ids) {
          const winners = outcomes.filter((outcome) => outcome.id === id && outcome.ok)
          expect(winners).toHaveLength(1)
          const rival = `${winners[0]?.rival}`
          expect(await store.load({ id })).toMatchObject({
            version: version + 1,
            indexKeys: [`rival:${rival}`],
            parts: { record: rival },
          })
          expect((await store.log({ id, limit: 10 })).at(-1)).toBe(rival)
          expect(await store.log({ id, limit: 10 })).toHaveLength(version)
        }
      }
    })
  })

  describe('a log', () => {
    test('gives its newest rows, the oldest of them first', async ({ store, again }) => {
      const id = await createOne(store, { log: ['1'] })
      await update(store, id, {}, { log: ['2', '3\n"é😀"', ''] })
      await update(store, id, {})
      await update(store, id, {}, { log: ['5'] })
      for await (const reader of again()) {
        expect(await reader.log({ id, limit: 100 })).toEqual(['1', '2', '3\n"é😀"', '', '5'])
        expect(await reader.log({ id, limit: 3 })).toEqual(['3\n"é😀"', '', '5'])
        expect(await reader.log({ id, limit: 1 })).toEqual(['5'])
        expect(await reader.log({ id, limit: 0 })).toEqual([])
        expect(await reader.log({ id: id + 1, limit: 10 })).toEqual([])
      }
    })

    test('stays with its context', async ({ store }) => {
      const [one = 0, two = 0, three = 0] = await create(store, { log: ['one'] }, { log: ['two'] }, {})
      expect(await store.log({ id: one, limit: 10 })).toEqual(['one'])
      expect(await store.log({ id: two, limit: 10 })).toEqual(['two'])
      expect(await store.log({ id: three, limit: 10 })).toEqual([])
    })

    for (const [title, sizes] of [
      ['by a few rows', Array.from({ length: 350 }, () => 7)],
      ['in batches', [1, 700, 3, 999, 1, 400, 1000, 2]],
      ['in one piece', [5000]],
    ] as const) {
      test(`that grows ${title} keeps about the newest ${MAX_LOG_ROWS} rows`, async ({ store, again }) => {
        const id = await createOne(store)
        let rows = 0
        let version = 1
        for (const size of sizes) {
          const log = Array.from({ length: size }, () => `${rows++}`)
          await mustCommit(store, writeOf(contextOf(id, ++version), { log }))
        }
        for await (const reader of again()) {
          const kept = await reader.log({ id, limit: 10_000 })
          expect(kept.length).toBeGreaterThanOrEqual(MAX_LOG_ROWS)
          expect(kept.length).toBeLessThanOrEqual(2 * MAX_LOG_ROWS)
          expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => `${rows - kept.length + index}`))
          expect(await reader.log({ id, limit: 7 })).toEqual(kept.slice(-7))
        }
      })
    }
  })

  describe('a definition', () => {
    test('is kept under its hash', async ({ store, again }) => {
      const text = JSON.stringify({ states: [{ name: 'é😀\u0000' }], filler: 'x'.repeat(100_000) })
      expect(await definitionIn(store, 'abc123')).toBeNull()
      await putDefinition(store, 'abc123', text)
      await putDefinition(store, 'abc123', text)
      await putDefinition(store, 'abc124', '{}')
      for await (const reader of again()) {
        expect(await definitionIn(reader, 'abc123')).toBe(text)
        expect(await definitionIn(reader, 'abc124')).toBe('{}')
        const rows = await reader.listRows({ space: 'definitions', prefix: '', limit: 9 })
        expect(rows.map(({ key }) => key)).toEqual(['abc123', 'abc124'])
      }
    })
  })
}
