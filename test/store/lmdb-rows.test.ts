// Rows in the embedded store: when the file gets its format, what a fault leaves of them, and what a key costs in memory.
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open as openLmdb } from 'lmdb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ROW_SPACES, type RowWrite } from '../../src/model/rows.ts'
import type { Store } from '../../src/ports/store.ts'
import { PageFile } from '../../src/store/lmdb/salvage/page-file.ts'
import { walkAll } from '../../src/store/lmdb/salvage/page-walk.ts'
import { diagnose, salvage } from '../../src/store/lmdb/salvage/salvage.ts'
import { openLmdbStore } from '../../src/store/lmdb/store.ts'
import { SimulatedClock } from '../support/simulated-clock.ts'
import { createOne } from './contract-support.ts'
import { mustWrite, rowOf } from './contract-rows.ts'

const quiet = (): void => {}
const errors: string[] = []
const log = { trace: quiet, debug: quiet, info: quiet, warn: quiet, error: (line: string) => void errors.push(line) }
const PAGE_BYTES = 4096

let folder = ''
let free = Infinity
const gauge = { freeBytes: () => free, now: () => performance.now() }
const openIn = (from = folder): Promise<Store> =>
  openLmdbStore({ folder: from, log, clock: new SimulatedClock(), gauge })

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'actorflux-rows-'))
  free = Infinity
  errors.length = 0
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const file = () => join(folder, 'default.mdb')

async function formatOf(): Promise<unknown> {
  const root = openLmdb({ path: file(), noSubdir: true, readOnly: true, maxDbs: 20 })
  try {
    return root.openDB('meta', { encoding: 'json' }).get('format')
  } finally {
    await root.close()
  }
}

/** The databases of rows that the first version with rows did not have. */
const LATER = ['space:held', 'space:copies']
const held = rowOf('k', 'x', { space: 'held', expiresAt: 1e15 })

async function databasesOf(): Promise<unknown[]> {
  const root = openLmdb({ path: file(), noSubdir: true, readOnly: true, maxDbs: 20 })
  try {
    return [...root.getKeys()]
  } finally {
    await root.close()
  }
}

describe('the format of the data', () => {
  it('rises with the first row: older programs, which would not heed it, refuse the file from then on', async () => {
    let store = await openIn()
    await createOne(store)
    expect(await store.sweepRows({ now: 1e15, limit: 10 })).toBe(0)
    expect(await store.commit({ writes: [], rows: [rowOf('k', '1', { expects: 'x' })] })).toMatchObject({ ok: false })
    await store.close()
    expect(await formatOf()).toBe(4)
    store = await openIn()
    await mustWrite(store, rowOf('k', '1'))
    await store.close()
    expect(await formatOf()).toBe(5)
    store = await openIn()
    expect(await store.readRow({ partition: 0, space: 'items', key: 'k' })).toMatchObject({ value: '1' })
    await store.close()
  })

  it('is the same for a file of a version that kept fewer kinds of rows: those that lack are made when rows are written', async () => {
    let store = await openIn()
    await createOne(store)
    await mustWrite(store, rowOf('k', '1'))
    await store.close()
    const root = openLmdb({ path: file(), noSubdir: true, maxDbs: 20 })
    for (const name of LATER) await root.openDB(name, { encoding: 'binary', keyEncoding: 'binary' }).drop()
    await root.close()
    store = await openIn()
    expect(await store.readRow({ partition: 0, space: 'items', key: 'k' })).toMatchObject({ value: '1' })
    expect(await store.readRow({ partition: 0, space: 'held', key: 'k' })).toBeNull()
    expect(await store.listRows({ space: 'copies', prefix: '', limit: 9 })).toEqual([])
    expect(await store.countRows({ space: 'held' })).toBe(0)
    // Nothing was written so far, for which there might be no room.
    await store.close()
    expect(await databasesOf()).not.toContain(LATER[0])
    store = await openIn()
    free = 2 * 8 * PAGE_BYTES
    await new Promise((resolve) => {
      setTimeout(resolve, 60)
    })
    await expect(store.commit({ writes: [], rows: [held] })).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
    free = Infinity
    await new Promise((resolve) => {
      setTimeout(resolve, 60)
    })
    await mustWrite(store, held)
    await store.close()
    expect((await diagnose({ folder, namespace: 'default' })).damage).toEqual([])
    store = await openIn()
    expect(await store.readRow({ partition: 0, space: 'held', key: 'k' })).toMatchObject({ value: 'x' })
    expect(await store.countRows({ space: 'held' })).toBe(1)
    expect(await store.sweepRows({ now: 2e15, limit: 9 })).toBe(0)
    await store.close()
  })

  it('stays as it was when the disk has no room for the first row', async () => {
    const store = await openIn()
    await createOne(store)
    free = 100_000
    await new Promise((resolve) => {
      setTimeout(resolve, 60)
    })
    const outcome = store.commit({ writes: [], rows: [rowOf('k', '1')] })
    await expect(outcome).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
    expect(await store.countRows({ space: 'items' })).toBe(0)
    await store.close()
    expect(await formatOf()).toBe(4)
  })
})

const COUNT = 2000
const written = (index: number): RowWrite =>
  rowOf(`key-${index}`, JSON.stringify({ index, filler: 'é'.repeat(index % 300) }), {
    space: 'idempotency',
    expiresAt: index % 3 === 0 ? null : 1e15 + index,
  })

async function writeAll(): Promise<void> {
  const store = await openIn()
  await createOne(store)
  for (let from = 0; from < COUNT; from += 500)
    await mustWrite(store, ...Array.from({ length: 500 }, (_, index) => written(from + index)))
  await mustWrite(store, ...Array.from({ length: 100 }, (_, index) => ({ ...written(index), value: null })))
  await store.close()
}

async function noiseIn(database: string, kind: 'branch' | 'leaf'): Promise<void> {
  const pages = new PageFile(file())
  const { used, trees } = await walkAll(pages)
  const number = Array.from({ length: pages.pages }, (_, page) => page).find((page) => {
    if (page < 2 || trees[used[page] ?? 0] !== database) return false
    return pages.page(page).kind === kind
  })
  pages.close()
  if (number === undefined) throw new Error(`there is no ${kind} in ${database}`)
  const descriptor = openSync(file(), 'r+')
  writeSync(descriptor, randomBytes(PAGE_BYTES), 0, PAGE_BYTES, number * PAGE_BYTES)
  closeSync(descriptor)
}

/** How many of them the salvaged folder has, each as it was written. */
async function saved(): Promise<number> {
  const into = join(folder, 'saved')
  await salvage({ folder, namespace: 'default' }, { into, log })
  const store = await openIn(into)
  try {
    let found = 0
    for (let index = 0; index < COUNT; index++) {
      const { key, value, expiresAt } = written(index)
      const row = await store.readRow({ partition: 0, space: 'idempotency', key })
      if (row === null) continue
      expect(row).toEqual({ partition: 0, key, value, expiresAt })
      found += 1
    }
    expect(await store.countRows({ space: 'idempotency' })).toBe(found)
    return found
  } finally {
    await store.close()
  }
}

describe('rows in a damaged file', () => {
  it('are saved, all of them where nothing is wrong', async () => {
    await writeAll()
    expect((await diagnose({ folder, namespace: 'default' })).damage).toEqual([])
    expect(await saved()).toBe(COUNT - 100)
  })

  it('are saved in each space', async () => {
    const store = await openIn()
    await createOne(store)
    const rows = ROW_SPACES.map((space) => rowOf(`key of ${space}`, 'value', { space, expiresAt: 1e15 }))
    await mustWrite(store, ...rows)
    await store.close()
    await noiseIn('space:held', 'leaf')
    const into = join(folder, 'saved')
    await salvage({ folder, namespace: 'default' }, { into, log })
    const saved = await openIn(into)
    for (const { space, key } of rows)
      expect(await saved.readRow({ partition: 0, space, key })).toEqual(
        space === 'held' ? null : { partition: 0, key, value: 'value', expiresAt: 1e15 },
      )
    await saved.close()
  })

  it('are saved when what leads to them is lost, and that is told', async () => {
    await writeAll()
    await noiseIn('space:idempotency', 'branch')
    await expect(openIn()).rejects.toThrow(/is damaged: the database 'space:idempotency'/)
    expect(await saved()).toBe(COUNT - 100)
  })

  it('are saved but for those of a page that is lost, and expire as before', async () => {
    await writeAll()
    await noiseIn('space:idempotency', 'leaf')
    const count = await saved()
    expect(count).toBeGreaterThan(COUNT / 2)
    expect(count).toBeLessThan(COUNT - 100)
  })

  it('lose nothing when it is known no more in what order they expire', async () => {
    await writeAll()
    await noiseIn('expiries', 'leaf')
    expect(await saved()).toBe(COUNT - 100)
  })
})

it('a row that can not be read is left out of lists, and harms nobody else', async () => {
  let store = await openIn()
  await mustWrite(store, rowOf('a', '1'), rowOf('b', '2'))
  await store.close()
  const root = openLmdb({ path: file(), noSubdir: true, maxDbs: 20 })
  await root
    .openDB('space:items', { encoding: 'binary', keyEncoding: 'binary' })
    .put(Buffer.from('a'), Buffer.from('x'))
  await root.close()
  store = await openIn()
  expect((await store.listRows({ space: 'items', prefix: '', limit: 9 })).map(({ key }) => key)).toEqual(['b'])
  expect(errors).toEqual(["a row is left out of a list: it can't be read"])
  await expect(store.readRow({ partition: 0, space: 'items', key: 'a' })).rejects.toThrow(TypeError)
  await expect(store.commit({ writes: [], rows: [rowOf('a', '2', { expects: null })] })).rejects.toThrow(TypeError)
  await mustWrite(store, rowOf('b', '3', { expects: '2' }))
  await store.close()
})
