// A data file that a fault of the machine has damaged: it is refused in one line, and what can be read of it is saved.
import { listed, waiting } from './listed.ts'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open as openLmdb } from 'lmdb'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { PageFile } from '../../src/store/lmdb/salvage/page-file.ts'
import { walkAll } from '../../src/store/lmdb/salvage/page-walk.ts'
import { diagnose, salvage } from '../../src/store/lmdb/salvage/salvage.ts'
import { DataFolderError } from '../../src/store/lmdb/data-folder.ts'
import { openLmdbStore } from '../../src/store/lmdb/store.ts'
import { SimulatedClock } from '../support/simulated-clock.ts'
import { contextOf, idsOf, writeOf } from './contract-support.ts'

const COUNT = 300
const PAGE_BYTES = 4096
const PAGE_HEADER_BYTES = 24
/** Large enough for pages of its own. */
const LARGE = 9000

const errors: { message: string; fields: object | undefined }[] = []
const quiet = (): void => {}
const log = {
  trace: quiet,
  debug: quiet,
  info: quiet,
  warn: quiet,
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
  await store.putDefinition({ hash: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', text: '' })
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

function overwrite(at: number, bytes: Buffer): void {
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, bytes, 0, bytes.length, at)
  closeSync(descriptor)
}

/** The first page of that kind in the tree of a database. */
async function pageIn(database: string, kind: 'branch' | 'leaf'): Promise<number> {
  const pages = new PageFile(file)
  try {
    const { used, trees } = await walkAll(pages)
    for (let number = 2; number < pages.pages; number++) {
      if (trees[used[number] ?? 0] !== database) continue
      try {
        if (pages.page(number).kind === kind) return number
      } catch {
        // A page of a large value.
      }
    }
  } finally {
    pages.close()
  }
  throw new Error(`there is no ${kind} in ${database}`)
}

const noiseIn = async (database: string, kind: 'branch' | 'leaf') =>
  overwrite((await pageIn(database, kind)) * PAGE_BYTES, randomBytes(PAGE_BYTES))

const DAMAGE: { readonly [what: string]: () => Promise<void> | void } = {
  '100 bytes cut off': async () => truncate(file, (await stat(file)).size - 100),
  'half of it cut off': async () => truncate(file, Math.floor((await stat(file)).size / 2)),
  'all but its first page cut off': () => truncate(file, PAGE_BYTES),
  'a page of noise where records are': () => noiseIn('contexts', 'leaf'),
  'a page of noise where their index is': () => noiseIn('contexts', 'branch'),
  'a page of noise where large parts are': () => noiseIn('parts', 'leaf'),
  'a page of noise where logs are': () => noiseIn('rows', 'leaf'),
  'a page of noise where the format is': () => noiseIn('meta', 'leaf'),
  'zeros at its head': () => overwrite(0, Buffer.alloc(3 * PAGE_BYTES)),
  'zeros in place of the first page': () => overwrite(0, Buffer.alloc(PAGE_BYTES)),
  'noise in place of the second page': () => overwrite(PAGE_BYTES, randomBytes(PAGE_BYTES)),
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
      await expect(openIn(folder)).rejects.toThrow(/^[^\n]* actorflux doctor --salvage <new folder>$/)
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
    await expect(openIn(folder)).rejects.toThrow(/default\.mdb has no format: [^\n]*--salvage/)
  })

  it('whose index leads to the same records twice is damaged there', async () => {
    const at = (await pageIn('contexts', 'branch')) * PAGE_BYTES
    const page = (await readFile(file)).subarray(at, at + PAGE_BYTES)
    const pages = new PageFile(file)
    // A node begins with the number of its page.
    const [own, other] = [0, 1].map((index) => PAGE_HEADER_BYTES + page.readUInt16LE(PAGE_HEADER_BYTES + 2 * index))
    overwrite(at + (own ?? 0), page.subarray(other, (other ?? 0) + 4))
    const { damage } = await walkAll(pages).finally(() => pages.close())
    expect(damage).toEqual([`the database 'contexts': page ${page.readUInt32LE(other)} is in use twice`])
    await expect(openIn(folder)).rejects.toThrow(DataFolderError)
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
      const pages = new PageFile(file)
      if (pages.size < ((pages.meta?.lastPage ?? 0) + 1) * PAGE_BYTES) shorter += 1
      expect((await walkAll(pages)).damage).toEqual([])
      pages.close()
    }
    await root.close()
    expect(shorter).toBeGreaterThan(0)
    await (await openIn(folder)).close()
    expect(await diagnose({ folder, namespace: 'default' })).toMatchObject({
      damage: [],
      unreadable: [],
      contexts: COUNT,
    })
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

async function diagnoseClosed(store: Store) {
  await store.close()
  return diagnose({ folder, namespace: 'default' })
}

describe("a record that can't be read", () => {
  it("is told of once, left out of what concerns many, and takes nobody's place there", async () => {
    const [bad, worse] = [first + 3, first + 4]
    await garble(bad)
    await garble(worse)
    const store = await openIn(folder)
    expect(errors).toEqual([])
    const all = Array.from({ length: COUNT }, (_, index) => first + index).filter((id) => id !== bad && id !== worse)
    expect(await idsOf(listed(store, { all: ['v2'], limit: 10 }))).toEqual(all.slice(0, 10))
    expect(await idsOf(listed(store, { all: ['v2'], limit: 1000 }))).toEqual(all)
    expect(await waiting(store, { any: ['v2'], upTo: first + COUNT, limit: 1000 })).toEqual(all)
    for (const id of [bad, bad]) {
      await expect(store.load({ id })).rejects.toMatchObject({
        failure: { kind: 'unreadable', detail: `the stored record of context ${id} can't be read` },
      })
    }
    expect(errors).toMatchObject(
      [bad, worse].map((id) => ({
        message: `the stored record of context ${id} can't be read`,
        fields: { contextId: id },
      })),
    )
    expect(await diagnoseClosed(store)).toMatchObject({
      damage: [],
      unreadable: [bad, worse],
      contexts: COUNT - 2,
      counted: COUNT,
    })
  })

  it('is left out of the log that it is a part of', async () => {
    const root = openLmdb({ path: file, noSubdir: true, overlappingSync: false })
    await root.openDB<Buffer, [number, number]>('rows', { encoding: 'binary' }).put([first, 0], Buffer.from('garbage'))
    await root.close()
    const store = await openIn(folder)
    for (let look = 0; look < 2; look++) expect(await store.log({ id: first, limit: 10 })).toEqual(['row 2'])
    expect(errors).toMatchObject([{ fields: { contextId: first, row: 0 } }])
    await store.close()
  })
})

const save = async () => {
  const into = join(base, 'saved')
  await rm(into, { recursive: true, force: true })
  const findings = await salvage({ folder, namespace: 'default' }, { into, log })
  return { into, findings }
}

const versions = async (store: Store) => {
  const found = new Map<number, number>()
  for (let id = first; id < first + COUNT; id++) {
    const context = await store.load({ id })
    if (context) found.set(id, context.version)
  }
  return found
}

describe('what is salvaged', () => {
  it('of a whole file is all of it, with logs, definitions, what is outstanding, and no id given out again', async () => {
    const { into, findings } = await save()
    expect(findings).toMatchObject({ damage: [], unreadable: [], contexts: COUNT, counted: COUNT, isDoubtful: false })
    const [old, saved] = [await openIn(folder), await openIn(into)]
    for (let id = first; id < first + COUNT; id++) expect(await saved.load({ id })).toEqual(await old.load({ id }))
    expect(await saved.log({ id: first + 7, limit: 10 })).toEqual(['row 1', 'row 2'])
    expect(
      await saved.getDefinition({ hash: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' }),
    ).toBe('')
    const claim = { now: 0, limit: 10, hideFor: 1 }
    expect(await saved.claimDue(claim)).toEqual(await old.claimDue(claim))
    expect(await saved.reserveIds({ count: 1, partition: 0 })).toEqual(await old.reserveIds({ count: 1, partition: 0 }))
    await Promise.all([old.close(), saved.close()])
  })

  it('of one whose index of records is lost is every record', async () => {
    await noiseIn('contexts', 'branch')
    const { into, findings } = await save()
    expect(findings).toMatchObject({ contexts: COUNT, counted: COUNT, isDoubtful: false })
    expect(findings.damage).toHaveLength(1)
    const store = await openIn(into)
    expect((await versions(store)).size).toBe(COUNT)
    expect(await idsOf(listed(store, { all: ['v2'], limit: 1000 }))).toHaveLength(COUNT)
    await store.close()
  })

  it('of one with a page of noise is all but what lay there, and nothing older than it was', async () => {
    await noiseIn('contexts', 'leaf')
    const { into, findings } = await save()
    expect(findings).toMatchObject({ counted: COUNT, isDoubtful: false })
    expect(findings.contexts).toBeGreaterThanOrEqual(COUNT - 40)
    expect(findings.contexts).toBeLessThan(COUNT)
    const store = await openIn(into)
    const found = await versions(store)
    expect(found.size).toBe(findings.contexts)
    for (const [id, version] of found) expect(version).toBe(id === first ? 3 : 2)
    await store.close()
  })

  it('of one whose large parts are lost is every context without any', async () => {
    await noiseIn('parts', 'leaf')
    const { into, findings } = await save()
    // The first has become small.
    const large = Array.from({ length: COUNT / 10 - 1 }, (_, index) => first + 10 * (index + 1))
    expect(findings).toMatchObject({
      contexts: COUNT - large.length,
      counted: COUNT,
      unreadable: large,
      isDoubtful: false,
    })
    const store = await openIn(into)
    expect([...(await versions(store)).keys()].filter((id) => large.includes(id))).toEqual([])
    expect((await versions(store)).size).toBe(COUNT - large.length)
    await store.close()
  })

  it.each([
    '100 bytes cut off',
    'half of it cut off',
    'zeros in place of the first page',
    'noise in place of the second page',
  ])('of one with %s is a store that opens, with what was there', async (what) => {
    await DAMAGE[what]?.()
    const { into, findings } = await save()
    expect(findings.damage.length).toBeGreaterThan(0)
    expect(findings.contexts).toBeGreaterThan(what.startsWith('half') ? 50 : COUNT - 40)
    const store = await openIn(into)
    expect((await versions(store)).size).toBe(findings.contexts)
    const { first: next } = await store.reserveIds({ count: 1, partition: 0 })
    expect(next).toBeGreaterThan(first + COUNT)
    await store.close()
  })

  it('of noise is nothing, and no folder is made', async () => {
    await DAMAGE['noise all over']?.()
    const { into, findings } = await save()
    expect(findings).toMatchObject({ contexts: 0, counted: null })
    expect(findings.damage.length).toBeGreaterThan(0)
    await expect(stat(into)).rejects.toThrow('ENOENT')
  })

  it('goes into no folder that has something in it, and not while a server has the data open', async () => {
    await expect(salvage({ folder, namespace: 'default' }, { into: healthy, log })).rejects.toThrow(/must be empty/)
    await expect(
      salvage({ folder: join(base, 'nowhere'), namespace: 'default' }, { into: join(base, 'saved'), log }),
    ).rejects.toThrow(/there is no data in/)
    const store = await openIn(folder)
    await expect(diagnose({ folder, namespace: 'default' })).rejects.toThrow(/in use by another server/)
    await store.close()
  })
})
