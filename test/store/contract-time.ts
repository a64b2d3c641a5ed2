// The store port: who is due, who was poked, and whose owner has died.
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect } from 'vitest'
import {
  contextOf,
  create,
  createAll,
  createOne,
  mustCommit,
  newId,
  type ScenarioTest,
  update,
  writeOf,
} from './contract-support.ts'

const NOW = 1_760_000_000_000

export function timePromises(test: ScenarioTest): void {
  describe('a due context', () => {
    test('is claimed at its time and not before', async ({ store, reopen }) => {
      const id = await createOne(store, { due: NOW })
      expect(await store.claimDue({ now: NOW - 1, limit: 10, hideFor: 1000 })).toEqual({ ids: [], next: NOW })
      const later = await reopen()
      expect(await later.claimDue({ now: NOW - 1, limit: 10, hideFor: 1000 })).toEqual({ ids: [], next: NOW })
      expect((await later.claimDue({ now: NOW, limit: 10, hideFor: 1000 })).ids).toEqual([id])
    })

    test('comes before those that are due later; the rest is told by `next`', async ({ store }) => {
      const [c = 0, a = 0, b = 0] = await create(
        store,
        { due: NOW + 3 },
        { due: NOW + 1 },
        { due: NOW + 2 },
        { due: NOW + 1000 },
        {},
      )
      const first = await store.claimDue({ now: NOW + 10, limit: 2, hideFor: 100_000 })
      expect(first).toEqual({ ids: [a, b], next: NOW + 3 })
      expect(await store.claimDue({ now: NOW + 10, limit: 2, hideFor: 100_000 })).toEqual({
        ids: [c],
        next: NOW + 1000,
      })
    })

    test('is hidden once it is claimed, and comes back if nothing is written', async ({ store }) => {
      const id = await createOne(store, { due: NOW })
      expect(await store.claimDue({ now: NOW + 5, limit: 10, hideFor: 1000 })).toEqual({ ids: [id], next: NOW + 1005 })
      expect(await store.claimDue({ now: NOW + 1004, limit: 10, hideFor: 1000 })).toEqual({ ids: [], next: NOW + 1005 })
      expect(await store.claimDue({ now: NOW + 1005, limit: 10, hideFor: 1000 })).toEqual({
        ids: [id],
        next: NOW + 2005,
      })
    })

    test('is hidden no longer when it is written again', async ({ store }) => {
      const id = await createOne(store, { due: NOW })
      await store.claimDue({ now: NOW, limit: 10, hideFor: 100_000 })
      await update(store, id, { due: NOW + 1 })
      expect((await store.claimDue({ now: NOW + 1, limit: 10, hideFor: 100_000 })).ids).toEqual([id])
      await update(store, id, { due: NOW + 1 })
      expect((await store.claimDue({ now: NOW + 1, limit: 10, hideFor: 100_000 })).ids).toEqual([id])
    })

    test('goes by its last due time', async ({ store }) => {
      const [later = 0, sooner = 0, never = 0] = await create(store, { due: NOW }, { due: NOW + 100 }, { due: NOW })
      await update(store, later, { due: NOW + 50 })
      await update(store, sooner, { due: NOW + 10 })
      await update(store, never, { due: null })
      expect(await store.claimDue({ now: NOW + 9, limit: 10, hideFor: 1 })).toEqual({ ids: [], next: NOW + 10 })
      expect(await store.claimDue({ now: NOW + 60, limit: 10, hideFor: 1_000_000 })).toEqual({
        ids: [sooner, later],
        next: NOW + 60 + 1_000_000,
      })
    })

    test('is claimed by one of many callers', async ({ store }) => {
      const ids = await create(store, ...Array.from({ length: 100 }, (_, index) => ({ due: NOW + index })))
      const claims = await Promise.all(
        Array.from({ length: 12 }, () => store.claimDue({ now: NOW + 100, limit: 10, hideFor: 100_000 })),
      )
      expect(claims.flatMap((claim) => claim.ids).sort((a, b) => a - b)).toEqual(ids)
    })

    test('is nobody where nobody waits', async ({ store }) => {
      await createOne(store)
      expect(await store.claimDue({ now: NOW, limit: 10, hideFor: 1 })).toEqual({ ids: [], next: null })
    })

    test('keeps its order among thousands whose time changed again and again', async ({ store }) => {
      const ids = await create(store, ...Array.from({ length: 50 }, () => ({})))
      for (let version = 2; version <= 42; version++) {
        await mustCommit(
          store,
          ...ids.map((id, index) =>
            writeOf(contextOf(id, version, { due: NOW + ((index * 7919 + version * 104_729) % 1000) })),
          ),
        )
      }
      const dues = new Map(
        await Promise.all(ids.map(async (id) => [id, (await store.load({ id }))?.due ?? 0] as const)),
      )
      const claimed = (await store.claimDue({ now: NOW + 1000, limit: 1000, hideFor: 1 })).ids
      expect(claimed.map((id) => dues.get(id))).toEqual([...dues.values()].sort((a, b) => a - b))
    })
  })

  describe('a poked context', () => {
    test('is due at once, and stays so until it answers', async ({ store, reopen }) => {
      const [id = 0, other = 0] = await create(store, { due: NOW + 1000 }, {})
      await update(store, other, {}, { notifies: [id] })
      expect((await store.claimDue({ now: NOW, limit: 10, hideFor: 10 })).ids).toEqual([id])
      expect((await store.claimDue({ now: NOW + 9, limit: 10, hideFor: 10 })).ids).toEqual([])
      expect((await store.claimDue({ now: NOW + 10, limit: 10, hideFor: 100 })).ids).toEqual([id])
      await update(store, id, {})
      expect((await store.claimDue({ now: NOW + 11, limit: 10, hideFor: 10 })).ids).toEqual([id])
      const later = await reopen()
      expect((await later.claimDue({ now: NOW + 100, limit: 10, hideFor: 10 })).ids).toEqual([id])
      await update(later, id, {}, { answersNotification: true })
      expect(await later.claimDue({ now: NOW + 200, limit: 10, hideFor: 10 })).toEqual({ ids: [], next: NOW + 1000 })
    })

    test("that has answered isn't poked after the store was reopened", async ({ store, reopen }) => {
      const id = await createOne(store)
      await update(store, id, {}, { notifies: [id] })
      await update(store, id, {}, { answersNotification: true })
      expect(await (await reopen()).claimDue({ now: NOW, limit: 10, hideFor: 10 })).toEqual({ ids: [], next: null })
    })

    test('may be created in the same commit', async ({ store, reopen }) => {
      const [parent, child] = [await newId(store), await newId(store)]
      await mustCommit(
        store,
        writeOf(contextOf(parent, 1), { notifies: [child] }),
        writeOf(contextOf(child, 1, { parent })),
      )
      expect((await (await reopen()).claimDue({ now: NOW, limit: 10, hideFor: 10 })).ids).toEqual([child])
    })

    test("that doesn't exist is passed over", async ({ store, reopen }) => {
      const id = await createOne(store)
      await update(store, id, {}, { notifies: [id + 1_000_000] })
      expect(await store.claimDue({ now: NOW, limit: 10, hideFor: 10 })).toEqual({ ids: [], next: null })
      expect(await (await reopen()).claimDue({ now: NOW, limit: 10, hideFor: 10 })).toEqual({ ids: [], next: null })
    })

    test('is claimable although it was claimed before', async ({ store }) => {
      const [id = 0, other = 0] = await create(store, { due: NOW }, {})
      expect((await store.claimDue({ now: NOW, limit: 10, hideFor: 1_000_000 })).ids).toEqual([id])
      await update(store, other, {}, { notifies: [id] })
      expect((await store.claimDue({ now: NOW, limit: 10, hideFor: 1_000_000 })).ids).toEqual([id])
    })

    test('stays poked when the poke comes along with its answer to an earlier one', async ({ store }) => {
      const [id = 0, other = 0] = await create(store, {}, {})
      await update(store, other, {}, { notifies: [id] })
      await mustCommit(
        store,
        writeOf(contextOf(other, 3), { notifies: [id] }),
        writeOf(contextOf(id, 2), { answersNotification: true }),
      )
      expect((await store.claimDue({ now: NOW, limit: 10, hideFor: 10 })).ids).toEqual([id])
    })

    test("loses nothing by an answer that it didn't owe", async ({ store }) => {
      const id = await createOne(store, { due: NOW })
      await update(store, id, {}, { answersNotification: true })
      expect((await store.claimDue({ now: NOW, limit: 10, hideFor: 10 })).ids).toEqual([id])
    })
  })

  describe('a leased context', () => {
    test('is found by its owner until it has another or none', async ({ store, again }) => {
      const [mine = 0, lent = 0, other = 0, still = 0] = await createAll(
        store,
        { owner: 'me' },
        { owner: 'me' },
        { owner: 'other' },
        { owner: 'me' },
        {},
      )
      await update(store, mine, { owner: null })
      await update(store, lent, { owner: 'other' })
      await update(store, still, {})
      for await (const reader of again()) {
        expect(await reader.leasedTo({ owner: 'me' })).toEqual([still])
        expect((await reader.leasedTo({ owner: 'other' })).toSorted((a, b) => a - b)).toEqual(
          [lent, other].toSorted((a, b) => a - b),
        )
        expect(await reader.leasedTo({ owner: 'nobody else' })).toEqual([])
      }
    })

    test('is found among thousands', async ({ store }) => {
      const ids = await createAll(store, ...Array.from({ length: 2100 }, () => ({ owner: 'me' })))
      expect((await store.leasedTo({ owner: 'me' })).toSorted((a, b) => a - b)).toEqual(ids)
    })
  })

  describe('an abandoned context', () => {
    test('is told to one caller, once, until it is written again', async ({ store, pass }) => {
      const [mine = 0, lost = 0] = await create(store, { owner: 'me' }, { owner: 'dead' }, {})
      await pass()
      await store.heartbeat({ owner: 'me' })
      expect(await store.claimAbandoned({ owner: 'me', limit: 10, hideFor: 100_000 })).toEqual([
        { id: lost, owner: 'dead' },
      ])
      expect(await store.claimAbandoned({ owner: 'me', limit: 10, hideFor: 100_000 })).toEqual([])
      await update(store, lost, {})
      await pass()
      await store.heartbeat({ owner: 'me' })
      expect(await store.claimAbandoned({ owner: 'me', limit: 10, hideFor: 100_000 })).toEqual([
        { id: lost, owner: 'dead' },
      ])
      await update(store, lost, { owner: 'me' })
      await update(store, mine, { owner: null })
      expect(await store.claimAbandoned({ owner: 'me', limit: 10, hideFor: 100_000 })).toEqual([])
    })

    test('is none that somebody has written since without an owner', async ({ store, pass }) => {
      const lost = await createOne(store, { owner: 'dead' })
      await update(store, lost, { owner: null })
      await pass()
      await store.heartbeat({ owner: 'me' })
      expect(await store.claimAbandoned({ owner: 'me', limit: 10, hideFor: 100_000 })).toEqual([])
    })

    test('is one that has had the same owner before, and none since', async ({ store, pass }) => {
      const lost = await createOne(store, { owner: 'dead' })
      for (const owner of [null, 'dead']) await update(store, lost, { owner })
      await pass()
      await store.heartbeat({ owner: 'me' })
      expect(await store.claimAbandoned({ owner: 'me', limit: 10, hideFor: 100_000 })).toMatchObject([{ id: lost }])
    })

    test('is one of at most so many', async ({ store, pass }) => {
      const ids = await create(store, ...Array.from({ length: 7 }, () => ({ owner: 'dead' })))
      await pass()
      await store.heartbeat({ owner: 'me' })
      const claims = [
        await store.claimAbandoned({ owner: 'me', limit: 3, hideFor: 100_000 }),
        await store.claimAbandoned({ owner: 'me', limit: 3, hideFor: 100_000 }),
        await store.claimAbandoned({ owner: 'me', limit: 3, hideFor: 100_000 }),
      ]
      expect(claims.map((claim) => claim.length)).toEqual([3, 3, 1])
      expect(
        claims
          .flat()
          .map(({ id }) => id)
          .sort((a, b) => a - b),
      ).toEqual(ids)
    })

    test('is told again once a claim has come to nothing', async ({ store, pass }) => {
      const lost = await createOne(store, { owner: 'dead' })
      await pass()
      await store.heartbeat({ owner: 'me' })
      const claim = () => store.claimAbandoned({ owner: 'me', limit: 10, hideFor: 0 })
      expect(await claim()).toEqual([{ id: lost, owner: 'dead' }])
      expect(await claim()).toEqual([{ id: lost, owner: 'dead' }])
    })

    test('is one whose step is ready, for those who ask for that kind, in the order of writing', async ({ store }) => {
      const [first = 0, second = 0, third = 0, other = 0] = await create(
        store,
        { owner: null },
        { owner: 'nobody/code' },
        { owner: 'nobody/code' },
        { owner: 'nobody/isolated' },
      )
      await store.heartbeat({ owner: 'me' })
      await sleep(5)
      await update(store, first, { owner: 'nobody/code' })
      const claim = (ready: readonly string[], limit = 10) =>
        store.claimAbandoned({ owner: 'me', ready, limit, hideFor: 100_000 })
      expect(await claim([])).toEqual([])
      expect((await claim(['nobody/code'], 2)).map(({ id }) => id).toSorted((a, b) => a - b)).toEqual([second, third])
      expect(await claim(['nobody/code', 'nobody/isolated'])).toEqual([
        { id: first, owner: 'nobody/code' },
        { id: other, owner: 'nobody/isolated' },
      ])
      expect(await claim(['nobody/code', 'nobody/isolated'])).toEqual([])
      await update(store, second, {})
      await update(store, third, { owner: 'me' })
      expect(await claim(['nobody/code'])).toEqual([{ id: second, owner: 'nobody/code' }])
      expect(await store.leasedTo({ owner: 'me' })).toEqual([third])
    })

    test('that is ready keeps its place when something else of it is written', async ({ store }) => {
      const [first = 0, second = 0] = await create(store, { owner: 'nobody/code' }, { owner: null })
      await store.heartbeat({ owner: 'me' })
      await sleep(5)
      await update(store, second, { owner: 'nobody/code' })
      await update(store, second, {})
      const request = { owner: 'me', ready: ['nobody/code'], limit: 1, hideFor: 100_000 }
      expect(await store.claimAbandoned(request)).toEqual([{ id: first, owner: 'nobody/code' }])
      expect(await store.claimAbandoned(request)).toEqual([{ id: second, owner: 'nobody/code' }])
    })

    test('is found after the store was reopened', async ({ store, reopen, pass }) => {
      const [lost = 0] = await create(store, { owner: 'boot-1' }, { owner: null })
      const later = await reopen()
      await pass()
      await later.heartbeat({ owner: 'boot-2' })
      expect(await later.claimAbandoned({ owner: 'boot-2', limit: 10, hideFor: 100_000 })).toEqual([
        { id: lost, owner: 'boot-1' },
      ])
    })
  })
}
