// A data file that a fault of the machine has damaged: it is refused in one line.
import { listed, waiting } from './listed.ts'
import { randomBytes } from 'node:crypto'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open as openLmdb } from 'lmdb'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { examineData } from '../../src/main/data.ts'
import { readSettings } from '../../src/settings.ts'
import { DataFolderError } from '../../src/store/lmdb/data-folder.ts'
import { numberIn } from '../../src/store/lmdb/lmdb-file.ts'
import { openLmdbStore } from '../../src/store/lmdb/store.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { contextOf, idsOf, writeOf } from './contract-support.ts'
import { nodesOf, overwrite, PAGE_BYTES, pageIn, pageOf } from './data-pages.ts'
import { putDefinition } from '../support/stores.ts'
import { silent } from '../support/silent.ts'

const COUNT = 300
/** Large enough for pages of its own. */
const LARGE = 9000

const errors: { message: string; fields: object | undefined }[] = []
const log = {
  ...silent,
  error: (message: string, fields?: object) => void errors.push({ message, fields }),
}
const clock = new SimulatedClock()
const openIn = (folder: string): Promise<Store> => openLmdbStore({ folder, log: { ...log }, clock })

let base = ''
let healthy = ''
let first = 0
let folder = ''
let file = ''

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'actorflux-damage-'))
  healthy = join(base, 'healthy')
  const store = await openIn(healthy)
  ;({ first } = await store.reserveIds({ count: COUNT, partition: 0 }))
  await putDefinition(store, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', '')
  for (let version = 1; version <= 2; version++) {
    await Promise.all(
      Array.from({ length: COUNT }, (_, index) =>
        store.commit({
          writes: [
            writeOf(
              contextOf(first + index, version, {
                indexKeys: [`v${version}`],
                parts: { data: 'x'.repeat(index % 10 === 0 ? LARGE : 700) },
              }),
              { log: [`row ${version}`] },
            ),
          ],
        }),
      ),
    )
  }
  await store.commit({
    writes: [writeOf(contextOf(first, 3, { indexKeys: ['v2'], parts: { data: 'x' } }), { notifies: [first + 1] })],
  })
  await store.close()
})

afterAll(() => rm(base, { recursive: true, force: true }))

beforeEach(async () => {
  errors.length = 0
  folder = join(base, 'damaged')
  file = join(folder, 'default.mdb')
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder)
  for (const name of await readdir(healthy)) await copyFile(join(healthy, name), join(folder, name))
})

const noiseIn = (database: string, kind: 'branch' | 'leaf') =>
  overwrite(file, pageOf(file, database, kind) * PAGE_BYTES, randomBytes(PAGE_BYTES))

const DAMAGE: { readonly [what: string]: () => Promise<void> | void } = {
  '100 bytes cut off': async () => truncate(file, (await stat(file)).size - 100),
  'half of it cut off': async () => truncate(file, Math.floor((await stat(file)).size / 2)),
  'all but its first page cut off': () => truncate(file, PAGE_BYTES),
  'a page of noise where records are': () => noiseIn('contexts', 'leaf'),
  'a page of noise where their index is': () => noiseIn('contexts', 'branch'),
  'a page of noise where large parts are': () => noiseIn('parts', 'leaf'),
  'a page of noise where logs are': () => noiseIn('rows', 'leaf'),
  'a page of noise where the format is': () => noiseIn('meta', 'leaf'),
  'a page of noise where free pages are': () => noiseIn('free', 'leaf'),
  'zeros at its head': () => overwrite(file, 0, Buffer.alloc(3 * PAGE_BYTES)),
  'zeros in place of the first page': () => overwrite(file, 0, Buffer.alloc(PAGE_BYTES)),
  'noise in place of the second page': () => overwrite(file, PAGE_BYTES, randomBytes(PAGE_BYTES)),
  'noise all over': async () => writeFile(file, randomBytes((await stat(file)).size)),
}

describe('a data file', () => {
  it.each(Object.keys(DAMAGE))(
    'with %s is refused in one line that says what to do, and is left as it is',
    async (what) => {
      await DAMAGE[what]?.()
      const { size, mtimeMs } = await stat(file)
      await expect(openIn(folder)).rejects.toThrow(DataFolderError)
      await expect(openIn(folder)).rejects.toThrow(
        /^the data in \S*default\.mdb (is damaged|can't be opened): [^\n]*; restore a backup /,
      )
      await expect(openIn(folder)).rejects.toThrow(/^[^\n]* as actorflux backup makes it$/)
      expect(await stat(file)).toMatchObject({ size, mtimeMs })
    },
  )

  it('that is empty, or gone, is refused where there has been data', async () => {
    await truncate(file)
    await expect(openIn(folder)).rejects.toThrow(/default\.mdb is gone or empty, [^\n]*restore a backup/)
    await rm(file)
    await expect(openIn(folder)).rejects.toThrow(DataFolderError)
    await rm(folder, { recursive: true })
    await (await openIn(folder)).close()
  })

  it('that is empty is made where there has been none: a process was killed while it made it', async () => {
    await rm(folder, { recursive: true })
    await mkdir(folder)
    await writeFile(file, '')
    await (await openIn(folder)).close()
    // Right after lmdb made it.
    await rm(folder, { recursive: true })
    await mkdir(folder)
    await openLmdb({ path: file, noSubdir: true, overlappingSync: false }).close()
    await (await openIn(folder)).close()
  })

  it('without a format is refused when there are records, or have been', async () => {
    const root = openLmdb({ path: file, noSubdir: true, overlappingSync: false })
    await root.openDB<unknown, string>('meta', { encoding: 'json' }).remove('format')
    await root.close()
    await expect(openIn(folder)).rejects.toThrow(/default\.mdb has no format: [^\n]*restore a backup/)
  })

  it('whose index leads to the same records twice is damaged there', async () => {
    const at = pageOf(file, 'contexts', 'branch') * PAGE_BYTES
    const page = pageIn(await readFile(file), at / PAGE_BYTES)
    // A node begins with the number of its page.
    const [own = 0, other = 0] = nodesOf(page)
    overwrite(file, at + own, page.subarray(other, other + 4))
    await expect(openIn(folder)).rejects.toThrow(
      /is damaged: the database 'contexts' (is out of order|has \d+ records)/,
    )
  })

  it('that is whole is opened, though it may be shorter than its number of pages says', async () => {
    // What a transaction writes and takes back leaves pages at the end that were never written.
    const root = openLmdb({ path: file, noSubdir: true, overlappingSync: false, eventTurnBatching: false })
    const contexts = root.openDB<Buffer, number>('contexts', { encoding: 'binary' })
    let shorter = 0
    for (let round = 1; round <= 10; round++) {
      await root.batch(() => {
        for (let id = 1; id <= 5; id++) void contexts.put(10_000 + id, Buffer.alloc(50_000 * round))
        for (let id = 1; id <= 5; id++) void contexts.remove(10_000 + id)
      })
      if ((await stat(file)).size < (numberIn(root.getStats(), 'lastPageNumber') + 1) * PAGE_BYTES) shorter += 1
    }
    await root.close()
    expect(shorter).toBeGreaterThan(0)
    await (await openIn(folder)).close()
    expect(await examineIt()).toEqual({ file, unreadable: [], contexts: COUNT })
  })
})

describe('a data file that the machine does not let be read', () => {
  const { execPath } = process
  afterEach(() => {
    process.execPath = execPath
  })

  it.each([
    ['starts no process', async () => (process.execPath = join(folder, 'none'))],
    [
      'ends the process that reads it',
      async () => {
        process.execPath = join(folder, 'killed.sh')
        await writeFile(process.execPath, '#!/bin/sh\nkill -9 $$\n', { mode: 0o700 })
      },
    ],
  ])('because it %s is not called damaged', async (_, prepare) => {
    await prepare()
    await expect(openIn(folder)).rejects.toThrow(/^the data in \S*default\.mdb can't be read: (?![^\n]*backup)[^\n]+$/)
  })

  it('because the system refuses to read it is not called damaged', async () => {
    await rm(file)
    await mkdir(file)
    await expect(openIn(folder)).rejects.toThrow(/^the data in \S*default\.mdb can't be read: (?![^\n]*backup)[^\n]+$/)
  })
})

/** Other characters within the record of a context, where its parts are: of as many bytes, and half as many. */
async function garble(id: number): Promise<void> {
  const root = openLmdb({ path: file, noSubdir: true, overlappingSync: false })
  const contexts = root.openDB<Buffer, number>('contexts', { encoding: 'binary' })
  const record = contexts.get(id) ?? Buffer.alloc(0)
  await contexts.put(id, Buffer.concat([record.subarray(0, -50), Buffer.from('é'.repeat(25))]))
  await root.close()
}

const examineIt = () => examineData(readSettings({ ACTORFLUX_DATA: folder }))

describe("a record that can't be read", () => {
  it("is told of once, left out of what concerns many, and takes nobody's place there", async () => {
    const [bad, worse] = [first + 3, first + 4]
    await garble(bad)
    await garble(worse)
    const store = await openIn(folder)
    const told = [bad, worse].map((id) => ({
      message: `the stored record of context ${id} can't be read`,
      fields: { contextId: id },
    }))
    expect(errors).toMatchObject(told)
    const all = Array.from({ length: COUNT }, (_, index) => first + index).filter((id) => id !== bad && id !== worse)
    expect(await idsOf(listed(store, { all: ['v2'], limit: 10 }))).toEqual(all.slice(0, 10))
    expect(await idsOf(listed(store, { all: ['v2'], limit: 1000 }))).toEqual(all)
    expect(await waiting(store, { any: ['v2'], upTo: first + COUNT, limit: 1000 })).toEqual(all)
    for (const id of [bad, bad]) {
      await expect(store.load({ id })).rejects.toMatchObject({
        failure: { kind: 'unreadable', detail: `the stored record of context ${id} can't be read` },
      })
    }
    expect(errors).toMatchObject(told)
    await store.close()
    expect(await examineIt()).toEqual({ file, unreadable: told.map(({ message }) => message), contexts: COUNT - 2 })
  })

  it('is left out of the log that it is a part of', async () => {
    const root = openLmdb({ path: file, noSubdir: true, overlappingSync: false })
    await root.openDB<Buffer, [number, number]>('rows', { encoding: 'binary' }).put([first, 0], Buffer.from('garbage'))
    await root.close()
    const store = await openIn(folder)
    for (let look = 0; look < 2; look++) expect(await store.log({ id: first, limit: 10 })).toEqual(['row 2'])
    expect(errors).toMatchObject([{ fields: { contextId: first, row: 0 } }])
    await store.close()
    expect((await examineIt()).unreadable).toEqual([
      `row 0 of the log of context ${first} can't be read, and is left out`,
    ])
  })

  it('is told of by those who read all of them, whatever it is of', async () => {
    const root = openLmdb({ path: file, noSubdir: true, overlappingSync: false })
    const definitions = root.openDB<Buffer, Buffer>('space:definitions', { encoding: 'binary', keyEncoding: 'binary' })
    for (const key of definitions.getKeys()) await definitions.put(key, Buffer.from('garbage'))
    await root.close()
    expect(await examineIt()).toEqual({
      file,
      contexts: COUNT,
      unreadable: [expect.stringMatching(/^the row "e3b0c\w+" of 'definitions' can't be read, and is left out$/)],
    })
  })
})
