// The store port: how contexts go, and the store itself.
import { listed } from './listed.ts'
import { describe, expect } from 'vitest'
import { contextOf, create, createOne, idsOf, newId, type ScenarioTest, update, writeOf } from './contract-support.ts'

export function endPromises(test: ScenarioTest): void {
  describe('a purge', () => {
    test('deletes what finished before that time, and nothing else', async ({ store, again }) => {
      const [gone = 0, atThatTime = 0, running = 0] = await create(
        store,
        { endedAt: 99, indexKeys: ['t'] },
        { endedAt: 100, indexKeys: ['t'] },
        { indexKeys: ['t'] },
      )
      expect(await store.purge({ endedBefore: 100, limit: 10 })).toBe(1)
      for await (const reader of again()) {
        expect(await reader.load({ id: gone })).toBeNull()
        expect(await idsOf(listed(reader, { all: ['t'], limit: 10 }))).toEqual([atThatTime, running])
        expect(await idsOf(listed(reader, { all: [], limit: 10 }))).toEqual([atThatTime, running])
        expect(await reader.purge({ endedBefore: 100, limit: 10 })).toBe(0)
      }
    })

    test('takes the log, the due time, the owner and the poke with it', async ({ store, again, pass }) => {
      const [id = 0, other = 0] = await create(store, { log: ['a', 'b'], endedAt: 5, due: 7, owner: 'dead' }, {})
      await update(store, other, {}, { notifies: [id] })
      expect(await store.purge({ endedBefore: 6, limit: 10 })).toBe(1)
      await pass()
      for await (const reader of again()) {
        expect(await reader.log({ id, limit: 10 })).toEqual([])
        expect(await reader.claimDue({ now: 1e15, limit: 10, hideFor: 1 })).toEqual({ ids: [], next: null })
        expect(await reader.claimAbandoned({ owner: 'me', limit: 10, hideFor: 100_000 })).toEqual([])
      }
    })

    test('deletes at most so many, until none is left', async ({ store }) => {
      await create(store, ...Array.from({ length: 7 }, (_, index) => ({ endedAt: 10 + index, log: ['x'] })))
      const numbers: number[] = []
      for (let count = -1; count !== 0;) numbers.push((count = await store.purge({ endedBefore: 100, limit: 3 })))
      expect(numbers.reduce((sum, number) => sum + number)).toBe(7)
      expect(Math.max(...numbers)).toBe(3)
      expect(await listed(store, { all: [], limit: 10 })).toEqual([])
    })

    test('passes over a context whose parent has yet to look at it', async ({ store, reopen }) => {
      const parent = await createOne(store)
      const [child = 0, other = 0] = await create(store, { parent }, { endedAt: 50 })
      await update(store, child, { endedAt: 40 }, { notifies: [parent] })
      expect(await store.purge({ endedBefore: 100, limit: 10 })).toBe(1)
      expect(await store.load({ id: other })).toBeNull()
      const later = await reopen()
      expect(await later.purge({ endedBefore: 100, limit: 10 })).toBe(0)
      expect(await later.load({ id: child })).toMatchObject({ endedAt: 40 })
      await update(later, parent, {}, { answersNotification: true })
      expect(await later.purge({ endedBefore: 100, limit: 10 })).toBe(1)
      expect(await later.load({ id: child })).toBeNull()
    })

    test('takes a child whose parent is gone', async ({ store }) => {
      const parent = await createOne(store, { endedAt: 1 })
      expect(await store.purge({ endedBefore: 2, limit: 1 })).toBe(1)
      const child = await createOne(store, { parent, endedAt: 3 })
      await update(store, child, {}, { notifies: [parent] })
      expect(await store.purge({ endedBefore: 10, limit: 10 })).toBe(1)
    })

    test("leaves a context that isn't finished any more", async ({ store }) => {
      const id = await createOne(store, { endedAt: 1 })
      await update(store, id, { endedAt: null })
      expect(await store.purge({ endedBefore: 10, limit: 10 })).toBe(0)
    })

    test('makes later commits on what it deleted stale', async ({ store }) => {
      const id = await createOne(store, { endedAt: 1 })
      const [deleted, outcome] = await Promise.all([
        store.purge({ endedBefore: 2, limit: 1 }),
        store.commit({ writes: [writeOf(contextOf(id, 2, { endedAt: 1 }))] }),
      ])
      expect(deleted === 1).toBe(!outcome.ok)
      await store.purge({ endedBefore: 2, limit: 1 })
      expect(await store.commit({ writes: [writeOf(contextOf(id, 3))] })).toMatchObject({ ok: false, stale: id })
    })
  })

  describe('closing', () => {
    test('waits for what is under way', async ({ store, reopen }) => {
      const id = await newId(store)
      const commit = store.commit({ writes: [writeOf(contextOf(id, 1, { indexKeys: ['late'] }))] })
      const later = await reopen()
      expect(await commit).toEqual({ ok: true })
      expect(await idsOf(listed(later, { all: ['late'], limit: 1 }))).toEqual([id])
      expect(await later.highestId()).toBe(id)
    })

    test('may be asked for twice, and ends all writing', async ({ store }) => {
      const id = await newId(store)
      await Promise.all([store.close(), store.close()])
      await expect(store.commit({ writes: [writeOf(contextOf(id, 1))] })).rejects.toThrow()
      await expect(store.load({ id })).rejects.toThrow()
    })
  })
}
