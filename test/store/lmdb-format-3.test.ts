// A data folder that version 0.1 wrote: it is read as it is, goes on, and has the present format after a write.
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { open as openLmdb } from 'lmdb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { decodeFormat3 } from '../../src/store/lmdb/records/format-3.ts'
import { diagnose, salvage } from '../../src/store/lmdb/salvage/salvage.ts'
import { openLmdbStore } from '../../src/store/lmdb/store.ts'
import { SimulatedClock } from '../support/simulated-clock.ts'
import { contextOf, idsOf, mustCommit, update, writeOf } from './contract-support.ts'

const quiet = (): void => {}
const log = {
  trace: quiet,
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: (message: string) => {
    throw new Error(message)
  },
}
const BODY = JSON.stringify({ body: 'x'.repeat(100_000) })
const EMPTY_HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

let folder = ''
let file = ''
let free = Infinity
const gauge = { freeBytes: () => free, now: () => performance.now() }
const open = (from = folder): Promise<Store> => openLmdbStore({ folder: from, log, clock: new SimulatedClock(), gauge })

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'actorflux-format-3-'))
  file = join(folder, 'default.mdb')
  free = Infinity
  await writeFile(file, gunzipSync(await readFile(join(import.meta.dirname, 'fixtures/format-3.mdb.gz'))))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** What version 0.1 wrote, in the order of ids. */
const WRITTEN = [
  contextOf(1, 2, { indexKeys: ['waiting', 'small'], due: 5, parts: { head: '{"version":2}' } }),
  contextOf(2, 1, { indexKeys: ['waiting', 'large'], parts: { head: '{}', body: BODY } }),
  contextOf(3, 1, { indexKeys: ['waiting'], parts: { lone: 'a\ud800', plain: 'é😀' } }),
  contextOf(4, 1, { indexKeys: ['running'], owner: 'boot-1', parts: { head: '{"version":1}' } }),
  contextOf(5, 1, { indexKeys: ['ended'], endedAt: 7, parent: 2, parts: { head: '{"version":1}' } }),
  contextOf(6, 1, { indexKeys: ['ended'], endedAt: 8, parts: { head: '{"version":1}' } }),
]

async function expectAll(store: Store): Promise<void> {
  for (const context of WRITTEN) expect(await store.load({ id: context.id })).toEqual(context)
  expect(await store.load({ id: 7 })).toBeNull()
  expect(await store.log({ id: 1, limit: 9 })).toEqual(['row 1', 'row 2'])
  expect(await store.getDefinition({ hash: EMPTY_HASH })).toBe('')
  expect(await idsOf(store.list({ all: ['waiting'], limit: 9 }))).toEqual([1, 2, 3])
  expect(await store.leasedTo({ owner: 'boot-1' })).toEqual([4])
  // The end of 5 was told to 2, which has not answered.
  expect((await store.claimDue({ now: 5, limit: 9, hideFor: 1 })).ids).toEqual([2, 1])
}

async function formatOf(): Promise<unknown> {
  const root = openLmdb({ path: file, noSubdir: true, overlappingSync: false })
  try {
    return root.openDB<unknown, string>('meta', { encoding: 'json' }).get('format')
  } finally {
    await root.close()
  }
}

describe('a data folder of version 0.1', () => {
  it('is read as it is, also where there is no room to write', async () => {
    await (await open()).close()
    free = 0
    const store = await open()
    await expectAll(store)
    const refused = { failure: { kind: 'unavailable' } }
    await expect(store.reserveIds({ count: 1, partition: 0 })).rejects.toMatchObject(refused)
    await store.close()
    expect(await formatOf()).toBe(3)
  })

  it('goes on, and has the present format from the first write on', async () => {
    let store = await open()
    const { first } = await store.reserveIds({ count: 1, partition: 0 })
    expect(first).toBeGreaterThan(10)
    await expectAll(store)
    const next = contextOf(2, 2, { indexKeys: ['waiting', 'large'], parts: { head: '{"more":1}', body: BODY } })
    await mustCommit(store, writeOf(next, { changed: ['head'], answersNotification: true }))
    await update(store, 1, { indexKeys: ['small'], due: null }, { log: ['row 3'] })
    await mustCommit(store, writeOf(contextOf(first, 1, { indexKeys: ['waiting'], parts: { body: BODY } })))
    await store.close()
    expect(await formatOf()).toBe(4)
    store = await open()
    expect((await store.load({ id: 2 }))?.parts).toEqual({ head: '{"more":1}', body: BODY })
    expect(await store.log({ id: 1, limit: 9 })).toEqual(['row 1', 'row 2', 'row 3'])
    expect(await idsOf(store.list({ all: ['waiting'], limit: 9 }))).toEqual([2, 3, first])
    for (const id of [3, 4]) expect(await store.load({ id })).toEqual(WRITTEN[id - 1])
    expect(await store.purge({ endedBefore: 10, limit: 9 })).toBe(2)
    await store.close()
  })

  it('is as it was when its upgrade was broken off, and is upgraded by the next write', async () => {
    // The rows of large parts have their place before the first group says that the format is another one.
    const root = openLmdb({ path: file, noSubdir: true, overlappingSync: false, maxDbs: 6 })
    root.openDB('parts', { encoding: 'binary' })
    await root.close()
    const findings = { damage: [], unreadable: [], contexts: 6, counted: 6, isDoubtful: false }
    expect(await diagnose({ folder, namespace: 'default' })).toMatchObject(findings)
    let store = await open()
    await expectAll(store)
    expect(await formatOf()).toBe(3)
    const next = contextOf(2, 2, { parts: { head: '{"more":1}', body: BODY } })
    await mustCommit(store, writeOf(next, { changed: ['head'] }))
    await store.close()
    expect(await formatOf()).toBe(4)
    store = await open()
    expect(await store.load({ id: 2 })).toEqual(next)
    await store.close()
  })

  it('is looked at by the doctor, and saved into a folder of the present format', async () => {
    await (await open()).close()
    const findings = { damage: [], unreadable: [], contexts: 6, counted: 6, isDoubtful: false }
    expect(await diagnose({ folder, namespace: 'default' })).toMatchObject(findings)
    const into = join(folder, 'saved')
    await salvage({ folder, namespace: 'default' }, { into, log })
    const saved = await open(into)
    await expectAll(saved)
    await saved.close()
    await copyFile(join(into, 'default.mdb'), file)
    expect(await formatOf()).toBe(4)
  })
})

it('a record of version 0.1 that is cut short, or too long, is none', () => {
  const facts = {
    version: 1,
    due: null,
    terms: [],
    owner: null,
    endedAt: null,
    parent: null,
    firstRow: 0,
    nextRow: 0,
  }
  const header = JSON.stringify({ ...facts, parts: [['head', 2]] })
  const read = (texts: string) => decodeFormat3(1, Buffer.from(`${header}\n${texts}`)).parts
  expect(read('{}')).toEqual({ head: '{}' })
  const unreadable = expect.objectContaining({ failure: expect.objectContaining({ kind: 'unreadable' }) })
  for (const texts of ['', '{', '{}}']) expect(() => read(texts)).toThrow(unreadable)
})
