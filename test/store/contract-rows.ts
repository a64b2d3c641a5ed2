// The store port: rows, small key-value records that a commit writes beside its contexts, under guards.
import { listed, newest } from './listed.ts'
import { describe, expect } from 'vitest'
import { partitionOfCommit, type RowSpace, type RowWrite } from '../../src/model/rows.ts'
import type { Store } from '../../src/ports/store.ts'
import { contextOf, createOne, HOSTILE, newId, type ScenarioTest, writeOf } from './contract-support.ts'

/** A write of a row with what matters to a test; the rest is plain. */
export const rowOf = (key: string, value: string | null, more: Partial<RowWrite> = {}): RowWrite => ({
  partition: 0,
  space: 'items',
  key,
  value,
  expiresAt: null,
  ...more,
})

const commitRows = (store: Store, ...rows: readonly RowWrite[]) => store.commit({ writes: [], rows })

export async function mustWrite(store: Store, ...rows: readonly RowWrite[]): Promise<void> {
  expect(await commitRows(store, ...rows)).toEqual({ ok: true })
}

const valueOf = async (store: Store, key: string, space: RowSpace = 'items') =>
  (await store.readRow({ partition: 0, space, key }))?.value ?? null

const keysOf = async (store: Store, prefix = '') =>
  (await store.listRows({ space: 'items', prefix, limit: 1000 })).map(({ key }) => key)

const ownOf = (partition: number) => `own${String(partition).padStart(2, '0')}`

/** What a store takes as the key of a row. */
const KEYS = HOSTILE.filter((key) => {
  try {
    return partitionOfCommit([], [rowOf(key, '')], 1) === 0
  } catch {
    return false
  }
})

export function rowPromises(test: ScenarioTest): void {
  describe('a row', () => {
    test('is kept just as it was given, and is gone when it is deleted', async ({ store, again }) => {
      const value = '{"a":"é😀\\n\u0000\u001f"}'
      await mustWrite(store, rowOf('k', value, { expiresAt: 1e15 }), rowOf('other', ''))
      for await (const reader of again()) {
        expect(await reader.readRow({ partition: 0, space: 'items', key: 'k' })).toEqual({
          partition: 0,
          key: 'k',
          value,
          expiresAt: 1e15,
        })
        expect(await valueOf(reader, 'other')).toBe('')
        expect(await valueOf(reader, 'k', 'pending')).toBeNull()
        expect(await reader.countRows({ space: 'items' })).toBe(2)
      }
    })

    test('is gone when it is deleted, also for one who opens the store later', async ({ store, again }) => {
      await mustWrite(store, rowOf('k', '1'), rowOf('l', '1', { expiresAt: 1e15 }), rowOf('m', '1'))
      await mustWrite(store, rowOf('k', null), rowOf('l', null), rowOf('never was', null))
      for await (const reader of again()) {
        expect(await keysOf(reader)).toEqual(['m'])
        expect(await valueOf(reader, 'k')).toBeNull()
        expect(await reader.countRows({ space: 'items' })).toBe(1)
        expect(await reader.sweepRows({ now: 2e15, limit: 10 })).toBe(0)
      }
    })

    test('may be of any size, and have any key of well-formed text', async ({ store, again }) => {
      expect(KEYS.length).toBeGreaterThan(15)
      const large = 'x'.repeat(300_000)
      await mustWrite(store, rowOf('large', large), ...KEYS.map((key, index) => rowOf(key, `${index}`)))
      for await (const reader of again()) {
        for (const [index, key] of KEYS.entries()) expect(await valueOf(reader, key)).toBe(`${index}`)
        expect(await valueOf(reader, 'large')).toBe(large)
        const expected = ['large', ...KEYS].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
        expect(await keysOf(reader)).toEqual(expected)
      }
    })

    test('that can not be kept is refused, and nothing is written', async ({ store }) => {
      const other = store.partitions === 1 ? 1 : 0
      for (const rows of [
        [rowOf('', '1')],
        [rowOf('\ud800', '1')],
        [rowOf('x'.repeat(1001), '1')],
        [rowOf('k', '\udc00')],
        [rowOf('k', '1', { expiresAt: 1.5 })],
        [rowOf('k', '1'), rowOf('k', '2')],
        [rowOf('k', '1', { partition: store.partitions })],
        [rowOf('k', '1'), rowOf('l', '1', { partition: other + 1 })],
      ]) {
        await expect(commitRows(store, rowOf('good', '1'), ...rows)).rejects.toThrow(TypeError)
      }
      const id = await newId(store)
      const elsewhere = rowOf('k', '1', { partition: (id % store.partitions) + 1 })
      await expect(store.commit({ writes: [writeOf(contextOf(id, 1))], rows: [elsewhere] })).rejects.toThrow(TypeError)
      expect(await keysOf(store)).toEqual([])
      expect(await store.load({ id })).toBeNull()
    })
  })

  describe('the guard of a row', () => {
    test('lets pass exactly the value that is there, or nothing', async ({ store }) => {
      await mustWrite(store, rowOf('k', '1', { expects: null }))
      const refused = { ok: false, row: { space: 'items', key: 'k', value: '1' } }
      for (const expects of [null, '', '2', '11']) {
        expect(await commitRows(store, rowOf('good', '1'), rowOf('k', '2', { expects }))).toEqual(refused)
      }
      expect(await commitRows(store, rowOf('k', null, { expects: '2' }))).toEqual(refused)
      expect(await keysOf(store)).toEqual(['k'])
      await mustWrite(store, rowOf('k', '2', { expects: '1' }))
      await mustWrite(store, rowOf('k', null, { expects: '2' }))
      expect(await commitRows(store, rowOf('k', '3', { expects: '2' }))).toEqual({
        ok: false,
        row: { space: 'items', key: 'k', value: null },
      })
      await mustWrite(store, rowOf('k', '4'), rowOf('l', '5', { expects: null }))
      expect(await store.countRows({ space: 'items' })).toBe(2)
    })

    test('stops the contexts of its commit, too, and their unique keys', async ({ store }) => {
      const id = await createOne(store, { indexKeys: ['before'] })
      await mustWrite(store, rowOf('k', '1'))
      const [born] = [await newId(store)]
      const writes = [
        writeOf(contextOf(id, 2, { indexKeys: ['after'], due: 1 }), { log: ['lost'], notifies: [id] }),
        writeOf(contextOf(born, 1, { indexKeys: ['mine'] }), { unique: 'mine' }),
      ]
      expect(await store.commit({ writes, rows: [rowOf('k', '2', { expects: null })] })).toMatchObject({
        ok: false,
        row: { key: 'k', value: '1' },
      })
      expect(await store.load({ id })).toMatchObject({ version: 1, indexKeys: ['before'] })
      expect(await store.load({ id: born })).toBeNull()
      expect(await newest(store, 'mine')).toBeNull()
      expect((await store.claimDue({ now: 1e15, limit: 9, hideFor: 1 })).ids).toEqual([])
      expect(await store.commit({ writes, rows: [rowOf('k', '2', { expects: '1' })] })).toEqual({ ok: true })
      expect(await valueOf(store, 'k')).toBe('2')
      expect(await newest(store, 'mine')).toBe(born)
    })

    test('is not asked when a context is stale, whose rows are not written', async ({ store }) => {
      const id = await createOne(store)
      await mustWrite(store, rowOf('k', '1'))
      const outcome = await store.commit({
        writes: [writeOf(contextOf(id, 3))],
        rows: [rowOf('k', '2', { expects: null }), rowOf('l', '1')],
      })
      expect(outcome).toMatchObject({ ok: false, stale: id })
      expect(await keysOf(store)).toEqual(['k'])
    })

    test('lets one of many at once through', async ({ store }) => {
      const racers = Array.from({ length: 40 }, (_, index) => index)
      const outcomes = await Promise.all(
        racers.map(async (racer) => {
          const id = await newId(store)
          return store.commit({
            writes: racer % 2 === 0 ? [writeOf(contextOf(id, 1, { indexKeys: ['racer'] }))] : [],
            rows: [rowOf('k', `${racer}`, { expects: null, space: 'idempotency' })],
          })
        }),
      )
      const winners = racers.filter((racer) => outcomes[racer]?.ok)
      expect(winners).toHaveLength(1)
      const value = `${winners[0]}`
      expect(await valueOf(store, 'k', 'idempotency')).toBe(value)
      for (const outcome of outcomes.filter(({ ok }) => !ok)) expect(outcome).toMatchObject({ row: { value } })
      expect(await listed(store, { all: ['racer'], limit: 99 })).toHaveLength(Number(value) % 2 === 0 ? 1 : 0)
      // A chain of commits that each expect what the one before wrote.
      const chain = await Promise.all(
        racers.map((step) =>
          commitRows(store, rowOf('chain', `${step + 1}`, { expects: step === 0 ? null : `${step}` })),
        ),
      )
      expect(chain.every(({ ok }) => ok)).toBe(true)
      expect(await valueOf(store, 'chain')).toBe('40')
    })
  })

  describe('an expired row', () => {
    test('is as if absent, whether or not a sweep came by', async ({ store, again, now, lapse }) => {
      const expiresAt = now() + 200
      await mustWrite(store, rowOf('k', '1', { expiresAt }), rowOf('l', '1', { expiresAt: 1e15 }))
      expect(await keysOf(store)).toEqual(['k', 'l'])
      expect(await commitRows(store, rowOf('k', '2', { expects: null }))).toMatchObject({ ok: false })
      await lapse(201)
      for await (const reader of again()) {
        expect(await keysOf(reader)).toEqual(['l'])
        expect(await valueOf(reader, 'k')).toBeNull()
        expect(await reader.countRows({ space: 'items' })).toBe(2)
        expect(await commitRows(reader, rowOf('k', '2', { expects: '1' }))).toMatchObject({ row: { value: null } })
      }
    })

    test('gives way to one that expects nothing to be there', async ({ store }) => {
      await mustWrite(store, rowOf('k', '1', { expiresAt: 5 }))
      await mustWrite(store, rowOf('k', '2', { expects: null }))
      expect(await valueOf(store, 'k')).toBe('2')
      expect(await store.countRows({ space: 'items' })).toBe(1)
    })

    test('is swept, and what took its place stays', async ({ store, again }) => {
      await mustWrite(
        store,
        rowOf('gone', '1', { expiresAt: 5 }),
        rowOf('later', '1', { expiresAt: 9 }),
        rowOf('renewed', '1', { expiresAt: 4 }),
        rowOf('unending', '1', { expiresAt: 4 }),
        rowOf('deleted', '1', { expiresAt: 4 }),
        rowOf('gone', '1', { expiresAt: 5, space: 'idempotency' }),
      )
      await mustWrite(store, rowOf('renewed', '2', { expiresAt: 1e15 }), rowOf('unending', '2'), rowOf('deleted', null))
      expect(await store.countRows({ space: 'items' })).toBe(4)
      expect(await store.sweepRows({ now: 5, limit: 10 })).toBe(2)
      for await (const reader of again()) {
        expect(await reader.countRows({ space: 'items' })).toBe(3)
        expect(await reader.countRows({ space: 'idempotency' })).toBe(0)
        expect(await keysOf(reader)).toEqual(['renewed', 'unending'])
        expect(await reader.sweepRows({ now: 5, limit: 10 })).toBe(0)
      }
    })

    test('is swept by the time of the store, not by that of who asks', async ({ store, now }) => {
      await mustWrite(store, rowOf('k', '1', { expiresAt: now() + 100_000 }))
      expect(await store.sweepRows({ now: 1e15, limit: 10 })).toBe(0)
      expect(await valueOf(store, 'k')).toBe('1')
    })

    test('is swept with at most so many others', async ({ store }) => {
      const rows = Array.from({ length: 25 }, (_, index) => rowOf(`${index}`, 'x', { expiresAt: index + 1 }))
      await mustWrite(store, ...rows)
      const swept: number[] = []
      for (let count = -1; count !== 0;) swept.push((count = await store.sweepRows({ now: 100, limit: 10 })))
      expect(swept).toEqual([10, 10, 5, 0])
      expect(await store.countRows({ space: 'items' })).toBe(0)
    })
  })

  describe('a list of rows', () => {
    test('has those whose keys begin alike, page by page', async ({ store }) => {
      const keys = Array.from({ length: 30 }, (_, index) => `a:${String(index).padStart(2, '0')}`)
      await mustWrite(store, ...['a', 'b:1', 'a;', 'A:1', ...keys].map((key) => rowOf(key, `v${key}`)))
      await mustWrite(store, rowOf('a:05', 'x', { expiresAt: 1 }), rowOf('a:99', '1', { space: 'pending' }))
      const expected = keys.filter((key) => key !== 'a:05')
      const found: string[] = []
      for (let after: { key: string; partition: number } | undefined; ;) {
        const rows = await store.listRows({ space: 'items', prefix: 'a:', after, limit: 7 })
        found.push(...rows.map(({ key }) => key))
        after = rows.at(-1)
        if (rows.length < 7) break
      }
      expect(found).toEqual(expected)
      expect(await keysOf(store, 'a:2')).toEqual(keys.slice(20))
      expect(await keysOf(store, 'c')).toEqual([])
      const before = { key: 'A', partition: 0 }
      expect(await store.listRows({ space: 'items', prefix: 'b', after: before, limit: 9 })).toHaveLength(1)
      expect(await store.listRows({ space: 'items', prefix: '', limit: 0 })).toEqual([])
    })

    test('is of all partitions, or of one', async ({ store }) => {
      const partitions = Array.from({ length: store.partitions }, (_, partition) => partition)
      for (const partition of partitions)
        await mustWrite(store, ...['a', 'b', ownOf(partition)].map((key) => rowOf(key, `${partition}`, { partition })))
      const found: string[] = []
      for (let after: { key: string; partition: number } | undefined; ;) {
        const rows = await store.listRows({ space: 'items', prefix: '', after, limit: 2 })
        found.push(...rows.map(({ key, partition, value }) => `${key}${partition}${value}`))
        after = rows.at(-1)
        if (rows.length < 2) break
      }
      const all = ['a', 'b'].flatMap((key) => partitions.map((partition) => `${key}${partition}${partition}`))
      expect(found).toEqual([...all, ...partitions.map((partition) => `${ownOf(partition)}${partition}${partition}`)])
      for (const partition of partitions) {
        const own = await store.listRows({ space: 'items', prefix: '', partition, limit: 9 })
        expect(own.map(({ key }) => key)).toEqual(['a', 'b', ownOf(partition)])
      }
      expect(await store.countRows({ space: 'items' })).toBe(3 * store.partitions)
    })

    test('passes over thousands that are expired', async ({ store }) => {
      const rows = Array.from({ length: 2500 }, (_, index) => rowOf(`k${index + 1000}`, 'x', { expiresAt: 1 }))
      await mustWrite(store, ...rows.slice(0, 1200))
      await mustWrite(store, ...rows.slice(1200), rowOf('z', 'last'))
      expect(await keysOf(store)).toEqual(['z'])
    })
  })

  describe('a commit', () => {
    test('tells whether its partition has lookups when it gives a context an index key', async ({ store }) => {
      const lookup = (value: string | null) => rowOf('hear:go', value, { space: 'lookups' })
      const id = await newId(store)
      const next = (version: number, indexKeys: string[]) => [writeOf(contextOf(id, version, { indexKeys }))]
      expect(await store.commit({ writes: next(1, ['a']) })).toEqual({ ok: true })
      await mustWrite(store, lookup('1'))
      expect(await store.commit({ writes: next(2, ['a', 'hear:go']) })).toEqual({ ok: true, lookups: true })
      expect(await store.commit({ writes: next(3, ['b']), rows: [rowOf('k', '1')] })).toEqual({
        ok: true,
        lookups: true,
      })
      expect(await store.commit({ writes: next(4, ['c']), rows: [lookup(null)] })).toEqual({ ok: true })
      expect(await store.commit({ writes: next(5, ['d']), rows: [lookup('1')] })).toEqual({ ok: true, lookups: true })
      if (store.partitions === 1) return
      const other = await newId(store, 1)
      expect(await store.commit({ writes: [writeOf(contextOf(other, 1, { indexKeys: ['a'] }))] })).toEqual({ ok: true })
    })
  })
}
