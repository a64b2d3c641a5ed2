// The store port: index keys that one context of a partition has alone, and the newest that has a key.
import { listed, newest } from './listed.ts'
import { describe, expect } from 'vitest'
import type { CommitOutcome, Store, Write } from '../../src/ports/store.ts'
import { contextOf, create, createOne, newId, type ScenarioTest, update, writeOf } from './contract-support.ts'

const KEY = 'key:order-17'

/** A context that is to have the key alone. */
const holding = (id: number, version = 1, more: readonly string[] = []): Write =>
  writeOf(contextOf(id, version, { indexKeys: [...more, KEY] }), { unique: KEY })

/** A context that has it no more. */
const leaves = (id: number, version: number): Write => writeOf(contextOf(id, version, { indexKeys: ['a'] }))

const taken = (by: number): CommitOutcome => ({ ok: false, unique: { key: KEY, by } })

async function holders(store: Store): Promise<number[]> {
  return (await listed(store, { all: [KEY], limit: 99 })).map(({ id }) => id)
}

export function uniquePromises(test: ScenarioTest): void {
  describe('a unique index key', () => {
    test('is one context’s as long as it has it', async ({ store, again }) => {
      const [one, two] = [await newId(store), await newId(store)]
      expect(await store.commit({ writes: [holding(one)] })).toEqual({ ok: true })
      expect(await store.commit({ writes: [holding(two)] })).toEqual(taken(one))
      expect(await store.load({ id: two })).toBeNull()
      // Who has it keeps it, and says so or not.
      expect(await store.commit({ writes: [holding(one, 2)] })).toEqual({ ok: true })
      await update(store, one, { due: 7 })
      for await (const reader of again()) {
        expect(await reader.commit({ writes: [holding(two)] })).toEqual(taken(one))
        expect(await holders(reader)).toEqual([one])
      }
    })

    test('is free again when its context loses it, or is purged', async ({ store }) => {
      const [one, two, three] = [await newId(store), await newId(store), await newId(store)]
      await store.commit({ writes: [holding(one)] })
      await update(store, one, { indexKeys: [], endedAt: 1 })
      expect(await store.commit({ writes: [holding(two)] })).toEqual({ ok: true })
      await update(store, two, { endedAt: 2 })
      expect(await store.commit({ writes: [holding(three)] })).toEqual(taken(two))
      expect(await store.purge({ endedBefore: 3, limit: 9 })).toBe(2)
      expect(await store.commit({ writes: [holding(three)] })).toEqual({ ok: true })
      expect(await holders(store)).toEqual([three])
    })

    test('passes from one context to another in one commit, in whatever order', async ({ store }) => {
      const [one, two, three] = [await newId(store), await newId(store), await newId(store)]
      await store.commit({ writes: [holding(one, 1, ['a'])] })
      expect(await store.commit({ writes: [leaves(one, 2), holding(two)] })).toEqual({ ok: true })
      expect(await store.commit({ writes: [holding(three), leaves(two, 2)] })).toEqual({ ok: true })
      expect(await holders(store)).toEqual([three])
      // Written, and still there.
      const stays = writeOf(contextOf(three, 2, { indexKeys: [KEY] }))
      expect(await store.commit({ writes: [stays, holding(await newId(store))] })).toEqual(taken(three))
    })

    test('is not given to two in one commit', async ({ store }) => {
      const [one, two] = [await newId(store), await newId(store)]
      expect(await store.commit({ writes: [holding(one), holding(two)] })).toMatchObject({
        ok: false,
        unique: { key: KEY },
      })
      expect(await holders(store)).toEqual([])
    })

    test('is one’s of many who start at once, and of many who replace one another', async ({ store }) => {
      const ids = await Promise.all(Array.from({ length: 30 }, () => newId(store)))
      const outcomes = await Promise.all(ids.map((id) => store.commit({ writes: [holding(id)] })))
      const [winner = 0] = await holders(store)
      expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1)
      expect(outcomes.filter(({ ok }) => !ok)).toEqual(Array.from({ length: 29 }, () => taken(winner)))
      // Each ends the one before and takes its place; then none ends anyone.
      const heirs = [winner, ...(await Promise.all(Array.from({ length: 30 }, () => newId(store))))]
      const chain = await Promise.all(
        heirs
          .slice(1)
          .map((id, place) =>
            store.commit({ writes: [holding(id), writeOf(contextOf(heirs[place] ?? 0, 2, { endedAt: 9 }))] }),
          ),
      )
      expect(chain.every(({ ok }) => ok)).toBe(true)
      expect(await holders(store)).toEqual([heirs.at(-1)])
    })

    test('is anyone’s in another partition', async ({ store, again }) => {
      const ids = await Promise.all(Array.from({ length: store.partitions }, (_, partition) => newId(store, partition)))
      for (const id of ids) expect(await store.commit({ writes: [holding(id)] })).toEqual({ ok: true })
      for await (const reader of again()) {
        expect(await newest(reader, KEY)).toBe(Math.max(...ids))
        for (const id of ids) expect(await newest(reader, KEY, id % store.partitions)).toBe(id)
      }
    })
  })

  describe('the newest context', () => {
    test('that has a key is the one with the highest id', async ({ store, again }) => {
      expect(await newest(store, 'a')).toBeNull()
      const ids = await create(store, ...Array.from({ length: 200 }, () => ({ indexKeys: ['a', '\ud800'] })))
      for await (const reader of again()) {
        expect(await newest(reader, 'a')).toBe(ids.at(-1))
        expect(await newest(reader, '\ud800', 0)).toBe(ids.at(-1))
        expect(await newest(reader, 'b')).toBeNull()
      }
    })

    test('is another when that one loses the key', async ({ store }) => {
      const one = await createOne(store, { indexKeys: ['a'] })
      const two = await createOne(store, { indexKeys: ['a'] })
      await update(store, two, { indexKeys: [] })
      expect(await newest(store, 'a')).toBe(one)
      await update(store, one, { indexKeys: [] })
      expect(await newest(store, 'a')).toBeNull()
    })
  })
}
