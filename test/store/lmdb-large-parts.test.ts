// Large parts of a context are rows of their own: written when they change, read with their context, gone with it.
import { listed } from './listed.ts'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { type Database, open as openLmdb } from 'lmdb'
import { beforeEach, describe, expect, it } from 'vitest'
import { examineData } from '../../src/main/data.ts'
import type { Store } from '../../src/ports/store.ts'
import { readSettings } from '../../src/settings.ts'
import { placeLargeParts } from '../../src/store/lmdb/stored-context.ts'
import { openLmdbStore } from '../../src/store/lmdb/store.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { contextOf, idsOf, mustCommit, newId, writeOf } from './contract-support.ts'
import { silent } from '../support/silent.ts'
import { newFolder } from '../support/at-end.ts'

const PAGE_BYTES = 4096
const MIB = 1024 * 1024
const errors: { message: string; fields: object | undefined }[] = []
const log = {
  ...silent,
  error: (message: string, fields?: object) => void errors.push({ message, fields }),
}

let folder = ''
let file = ''
const open = (): Promise<Store> => openLmdbStore({ folder, log: { ...log }, clock: new SimulatedClock() })

beforeEach(async () => {
  folder = await newFolder()
  file = join(folder, 'default.mdb')
  errors.length = 0
})

/** Bytes of the pages in which two states of the file differ. */
function bytesBetween(before: Buffer, after: Buffer): number {
  let pages = 0
  for (let at = 0; at < after.length; at += PAGE_BYTES) {
    if (!after.subarray(at, at + PAGE_BYTES).equals(before.subarray(at, at + PAGE_BYTES))) pages += 1
  }
  return pages * PAGE_BYTES
}

/** Does something to the rows of the large parts while no store has the file open. */
async function withRows<T>(use: (rows: Database<Buffer, [number, number]>) => T): Promise<T> {
  const root = openLmdb({ path: file, noSubdir: true, overlappingSync: false })
  try {
    return await use(root.openDB<Buffer, [number, number]>('parts', { encoding: 'binary' }))
  } finally {
    await root.close()
  }
}

const rowCount = (): Promise<number> => withRows((rows) => rows.getCount())

/** Its length differs, so that what is written behind it lies at another place in its pages. */
const headOf = (version: number): string => 'x'.repeat(version)

describe('a context with a body of 1 MiB', () => {
  it('costs a few pages at each later event, as long as the body stays as it is', async () => {
    const store = await open()
    const id = await newId(store)
    const body = randomBytes(MIB / 2).toString('hex')
    const contextAt = (version: number) => contextOf(id, version, { parts: { head: headOf(version), body } })
    const write = (version: number, changed: string[]) => mustCommit(store, writeOf(contextAt(version), { changed }))
    await write(1, ['head', 'body'])
    for (let version = 2; version <= 10; version++) await write(version, ['head'])
    const before = readFileSync(file)
    await write(11, ['head'])
    expect(bytesBetween(before, readFileSync(file))).toBeLessThanOrEqual(16 * PAGE_BYTES)
    await write(12, ['head', 'body'])
    expect(bytesBetween(before, readFileSync(file))).toBeGreaterThan(MIB)
    expect(await store.load({ id })).toEqual(contextAt(12))
    await store.close()
  })
})

describe('parts that come, change, grow, shrink and go', () => {
  const text = fc.oneof(
    fc.string({ maxLength: 10 }),
    fc.integer({ min: 2040, max: 5000 }).map((length) => 'é'.repeat(length)),
    fc.constantFrom('\ud800'.repeat(2048), 'x'.repeat(2047)),
  )
  const change = fc.record({ name: fc.constantFrom('head', 'body', '__proto__', 'ü'), text: fc.option(text) })

  it('are read as they were written, also after the store was opened again, and leave no row behind', async () => {
    const histories = fc.array(fc.array(change, { maxLength: 3 }), { minLength: 1, maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(histories, fc.nat(11), async (steps, reopenAt) => {
        let store = await open()
        const id = await newId(store)
        const parts = new Map<string, string>()
        for (const [index, changes] of steps.entries()) {
          for (const { name, text: next } of changes) {
            if (next === null) parts.delete(name)
            else parts.set(name, next)
          }
          const endedAt = index + 1 === steps.length ? 5 : null
          const context = contextOf(id, index + 1, { parts: Object.fromEntries(parts), endedAt })
          await mustCommit(store, writeOf(context, { changed: changes.map(({ name }) => name) }))
          if (index === reopenAt) {
            await store.close()
            store = await open()
          }
          expect(await store.load({ id })).toEqual(context)
        }
        await store.close()
        expect(await rowCount()).toBe([...parts.values()].filter(({ length }) => length >= 2048).length)
        store = await open()
        expect(await store.purge({ endedBefore: 6, limit: 10 })).toBe(1)
        await store.close()
        expect(await rowCount()).toBe(0)
      }),
      { numRuns: 30 },
    )
  }, 90_000)
})

describe("a large part that can't be read", () => {
  const COUNT = 12
  let ids: number[] = []

  beforeEach(async () => {
    const store = await open()
    const { first } = await store.reserveIds({ count: COUNT, partition: 0 })
    ids = Array.from({ length: COUNT }, (_, index) => first + index)
    for (const version of [1, 2]) {
      for (const id of ids) {
        const parts = { head: `${version}`, body: `${id}`.repeat(20_000), other: `${id}:${version} `.repeat(1000) }
        const changed = version === 1 ? ['head', 'body', 'other'] : ['head', 'other']
        await mustCommit(store, writeOf(contextOf(id, version, { indexKeys: ['t'], parts }), { changed }))
      }
    }
    await store.close()
  })

  const FAULTS = ['lost', 'noise', 'cut short', 'of another version']
  it.each(FAULTS)('(%s) spoils its own context and no other', async (what) => {
    const [bad = 0, ...good] = ids
    await withRows(async (rows) => {
      const row = Buffer.from(rows.get([bad, 1]) ?? '')
      expect(row.length).toBeGreaterThan(4000)
      if (what === 'lost') await rows.remove([bad, 1])
      if (what === 'noise') await rows.put([bad, 1], Buffer.from(row.map((byte) => byte ^ 0x5a)))
      if (what === 'cut short') await rows.put([bad, 1], row.subarray(0, -1))
      if (what === 'of another version') {
        row.writeDoubleLE(1, 1)
        await rows.put([bad, 1], row)
      }
    })
    const store = await open()
    expect(errors).toEqual([])
    expect(await idsOf(listed(store, { all: ['t'], limit: 100 }))).toEqual(good)
    const detail = `the stored record of context ${bad} can't be read`
    await expect(store.load({ id: bad })).rejects.toMatchObject({ failure: { kind: 'unreadable', detail } })
    for (const id of good) expect((await store.load({ id }))?.parts['other']).toBe(`${id}:2 `.repeat(1000))
    expect(errors).toMatchObject([{ fields: { contextId: bad } }])
    await store.close()

    expect(await examineData(readSettings({ ACTORFLUX_DATA: folder }))).toEqual({
      file,
      unreadable: [detail],
      contexts: COUNT - 1,
    })
  })
})

it('is written where its length differs, whatever is said to have changed', () => {
  const body = { name: 'body', length: 3000, version: 1, slot: 0 }
  const placed = (length: number) =>
    placeLargeParts(writeOf(contextOf(1, 2, { parts: { body: 'x'.repeat(length) } }), { changed: ['head'] }), [body])
  expect(placed(3000)).toEqual([body])
  expect(placed(3001)).toEqual([{ ...body, length: 3001, version: 2 }])
})
