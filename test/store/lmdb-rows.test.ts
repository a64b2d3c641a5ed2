// Rows in the embedded store: what a fault leaves of them.
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
const openIn = (from = folder): Promise<Store> => openLmdbStore({ folder: from, log, clock: new SimulatedClock() })

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'actorflux-rows-'))
  errors.length = 0
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const file = () => join(folder, 'default.mdb')

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
