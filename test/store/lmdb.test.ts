// The embedded store: what the port promises, and what only it does.
import { listed } from './listed.ts'
import { createHook } from 'node:async_hooks'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { open as openLmdb } from 'lmdb'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { FORMAT } from '../../src/model/format.ts'
import type { Store } from '../../src/ports/store.ts'
import { DataFolderError } from '../../src/store/lmdb/data-folder.ts'
import { ContextIndex } from '../../src/store/lmdb/index/context-index.ts'
import { TimeQueue } from '../../src/store/lmdb/index/time-queue.ts'
import { examineData } from '../../src/main/data.ts'
import { readSettings } from '../../src/settings.ts'
import { openLmdbStore } from '../../src/store/lmdb/store.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { contextOf, create, createOne, idsOf, mustCommit, newId, update, writeOf } from './contract-support.ts'
import { storeContract } from './contract.ts'
import { putDefinition } from '../support/stores.ts'
import { silent } from '../support/silent.ts'
import { nextTurn } from '../support/held.ts'

const errors: { message: string; fields: object | undefined }[] = []
const log = {
  ...silent,
  error: (message: string, fields?: object) => void errors.push({ message, fields }),
}
const openIn = (folder: string, namespace?: string, clock = new SimulatedClock()): Promise<Store> =>
  openLmdbStore({ folder, log, clock, ...(namespace === undefined ? {} : { namespace }) })

storeContract('lmdb', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'actorflux-store-'))
  const clock = new SimulatedClock()
  let store = await openIn(folder, undefined, clock)
  return {
    store,
    now: () => clock.now(),
    lapse: async (milliseconds) => clock.jump(milliseconds),
    async reopen() {
      await store.close()
      store = await openIn(folder, undefined, clock)
      return store
    },
    async close() {
      await store.close()
      await rm(folder, { recursive: true })
    },
  }
})

describe('the embedded store', () => {
  let folder = ''
  let children: ChildProcess[] = []

  beforeEach(async () => {
    folder = join(await mkdtemp(join(tmpdir(), 'actorflux-lmdb-')), 'data')
    errors.length = 0
  })

  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL')
    children = []
    await rm(join(folder, '..'), { recursive: true })
  })

  /**
   * Another process on the same folder, under a limit of the shell's if one is given; gives it and the lines it tells.
   */
  function start(task: string, limit = ''): { child: ChildProcess; lines: AsyncIterableIterator<string> } {
    const jiti = createRequire(import.meta.url)
      .resolve('jiti/package.json')
      .replace('package.json', 'lib/jiti-cli.mjs')
    const script = join(import.meta.dirname, 'lmdb-child.ts')
    // Under a limit lmdb prints what fails.
    const child = spawn('bash', ['-c', `${limit} exec "$@"`, 'bash', process.execPath, jiti, script, task, folder], {
      stdio: ['ignore', 'pipe', limit === '' ? 'inherit' : 'ignore'],
    })
    children.push(child)
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
  }

  it('makes its folder, for its owner alone', async () => {
    const store = await openIn(folder)
    await store.close()
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    expect((await stat(join(folder, 'default.mdb'))).mode & 0o777).toBe(0o600)
  })

  it('begins with id 1', async () => {
    const store = await openIn(folder)
    expect(await store.highestId()).toBe(0)
    expect(await store.reserveIds({ count: 1, partition: 0 })).toMatchObject({ first: 1 })
    await store.close()
  })

  it('goes on after the highest id that it has, though a higher one than it gave out', async () => {
    const store = await openIn(folder)
    await createOne(store)
    await mustCommit(store, writeOf(contextOf(5_000_000, 1)))
    await store.close()
    const later = await openIn(folder)
    expect(await later.reserveIds({ count: 1, partition: 0 })).toMatchObject({ first: 5_000_001 })
    await later.close()
  })

  it('keeps who reads a context waiting until what is being written of it is on the disk and in the indexes', async () => {
    const store = await openIn(folder)
    const id = await createOne(store, { indexKeys: ['before'] })
    const written = store.commit({ writes: [writeOf(contextOf(id, 2, { indexKeys: ['after'] }))] })
    // The group is being written from the next turn on.
    await nextTurn()
    const [read, early, found] = await Promise.all([
      store.load({ id }),
      idsOf(listed(store, { all: ['before'], limit: 10 })),
      idsOf(listed(store, { all: ['after'], limit: 10 })),
    ])
    expect([read?.version, early, found]).toEqual([2, [], [id]])
    expect(await idsOf(listed(store, { all: ['after'], limit: 10 }))).toEqual([id])
    expect(await written).toMatchObject({ ok: true })
    await store.close()
  })

  it('writes nothing more once memory could not be changed, and has what it wrote when it is opened again', async () => {
    let store = await openIn(folder)
    const ids = await create(store, {}, {}, {})
    const [first = 0, second = 0] = ids
    await mustCommit(store, writeOf(contextOf(first, 2), { notifies: [second] }))
    const put = vi.spyOn(ContextIndex.prototype, 'put')
    onTestFinished(() => put.mockRestore())
    put.mockImplementationOnce(() => {
      throw new RangeError('Map maximum size exceeded')
    })
    // One group.
    const commits = [second, first, ...ids.slice(2)].map((id) => {
      const version = id === first ? 3 : 2
      const rows = [{ partition: 0, space: 'idempotency', key: `k${id}`, value: 'v', expiresAt: null }] as const
      return store.commit({ writes: [writeOf(contextOf(id, version, { indexKeys: ['moved'] }))], rows })
    })
    const inDoubt = { failure: { kind: 'unavailable', inDoubt: true } }
    await Promise.all(commits.map((commit) => expect(commit).rejects.toMatchObject(inDoubt)))
    expect(store.trouble()).toMatch(/^the store can not write any more/)
    for (const version of [2, 3])
      await expect(store.commit({ writes: [writeOf(contextOf(second, version))] })).rejects.toMatchObject({
        failure: { kind: 'unavailable' },
      })
    await store.close()
    store = await openIn(folder)
    expect(await idsOf(listed(store, { all: ['moved'], limit: 10 }))).toEqual(ids)
    expect(await store.countRows({ space: 'idempotency' })).toBe(3)
    expect(await store.claimDue({ now: 0, limit: 10, hideFor: 1 })).toMatchObject({ ids: [second] })
    for (const id of ids) {
      const { version = 0 } = (await store.load({ id })) ?? {}
      expect(version).toBe(id === first ? 3 : 2)
      await mustCommit(store, writeOf(contextOf(id, version + 1)))
    }
    await store.close()
  })

  it('wakes a context in time when its entry in memory was made by half before it was opened again', async () => {
    let store = await openIn(folder)
    const id = await newId(store)
    const push = vi.spyOn(TimeQueue.prototype, 'push')
    onTestFinished(() => push.mockRestore())
    push.mockImplementationOnce(() => {
      throw new RangeError('Invalid array length')
    })
    const made = store.commit({ writes: [writeOf(contextOf(id, 1, { due: 5 }))] })
    await expect(made).rejects.toMatchObject({ failure: { kind: 'unavailable', inDoubt: true } })
    await store.close()
    store = await openIn(folder)
    expect(await store.claimDue({ now: 5, limit: 10, hideFor: 1 })).toMatchObject({ ids: [id] })
    await store.close()
  })

  it('refuses to be opened twice, naming the folder, and goes on where it is open', async () => {
    const store = await openIn(folder)
    await expect(openIn(folder)).rejects.toThrow(DataFolderError)
    await expect(openIn(folder)).rejects.toThrow(folder)
    await createOne(store)
    await store.close()
    await (await openIn(folder)).close()
  })

  it('keeps namespaces of one folder apart, whatever they are called', async () => {
    const stores = await Promise.all(['one', '../one', '', '..', 'a/b'].map((namespace) => openIn(folder, namespace)))
    for (const [index, store] of stores.entries())
      await create(store, ...Array.from({ length: index }, () => ({ indexKeys: ['x'] })))
    expect(
      await Promise.all(stores.map(async (store) => (await listed(store, { all: ['x'], limit: 10 })).length)),
    ).toEqual([0, 1, 2, 3, 4])
    await Promise.all(stores.map((store) => store.close()))
    expect(await readdir(join(folder, '..'))).toEqual(['data'])
  })

  it('refuses a folder that another process has open, until that is killed', async () => {
    const { child, lines } = start('hold')
    expect(await lines.next()).toMatchObject({ value: 'open' })
    await expect(openIn(folder)).rejects.toThrow(`the data folder ${folder} is in use by another server`)
    child.kill('SIGKILL')
    await once(child, 'exit')
    await (await openIn(folder)).close()
  })

  it('has every acknowledged commit after its process was killed', async () => {
    const { child, lines } = start('write')
    const acknowledged = new Map<number, number>()
    for (let line = 0; line < 2000; line++) {
      const [ok, id, version] = String((await lines.next()).value).split(' ')
      expect(ok).toBe('true')
      acknowledged.set(Number(id), Number(version))
    }
    child.kill('SIGKILL')
    for await (const line of { [Symbol.asyncIterator]: () => lines })
      acknowledged.set(Number(line.split(' ')[1]), Number(line.split(' ')[2]))
    const store = await openIn(folder)
    expect(acknowledged.size).toBe(16)
    for (const [id, version] of acknowledged) {
      const stored = await store.load({ id })
      // One more may have been on disk already, and nobody told.
      expect([version, version + 1]).toContain(stored?.version)
      expect((await store.log({ id, limit: 1 }))[0]).toBe(`${stored?.version}`)
      expect(await idsOf(listed(store, { all: [`version:${stored?.version}`], limit: 100 }))).toContain(id)
    }
    expect(await newId(store)).toBeGreaterThan(Math.max(...acknowledged.keys()))
    await store.close()
  })

  it("rejects what it can't write, knows what it knew before, and takes the next commit", async () => {
    const { lines } = start('fill', 'trap "" XFSZ; ulimit -f 6000;')
    const told: unknown = JSON.parse(String((await lines.next()).value))
    const version: unknown = expect.any(Number)
    expect(told).toMatchObject({
      failure: expect.stringMatching(/can not write/),
      version,
      small: { ok: true },
      before: 0,
      lost: 0,
      log: 'small',
    })
    const { version: before, stored, other } = Object.assign({ version: 0, stored: 0, other: 0 }, told)
    expect(stored).toBe(before + 1)
    expect(other).toBe(before - 1)
  })

  it.each([FORMAT - 1, FORMAT + 1])(
    'refuses data of format %i in a line that says so, and leaves it as it is',
    async (format) => {
      const store = await openIn(folder)
      await createOne(store)
      await store.close()
      const file = join(folder, 'default.mdb')
      const root = openLmdb({ path: file, noSubdir: true, overlappingSync: false })
      await root.openDB<unknown, string>('meta', { encoding: 'json' }).put('format', format)
      await root.close()
      const bytes = await readFile(file)
      const reason = `the data in ${file} has format ${format}, and this version of actorflux reads format ${FORMAT} alone: use the version that wrote it`
      await expect(openIn(folder)).rejects.toThrow(new DataFolderError(reason))
      await expect(examineData(readSettings({ ACTORFLUX_DATA: folder }))).rejects.toThrow(new DataFolderError(reason))
      expect((await readFile(file)).equals(bytes)).toBe(true)
    },
  )

  it("refuses a file that is no database, and a folder that can't be", async () => {
    await (await openIn(folder)).close()
    await writeFile(join(folder, 'default.mdb'), 'garbage'.repeat(3000))
    await expect(openIn(folder)).rejects.toThrow(/default\.mdb is damaged: [^\n]*; restore a backup/)
    await expect(openIn(join(folder, 'default.mdb', 'sub'))).rejects.toThrow(DataFolderError)
  })

  it("tells which record can't be read, and serves all others", async () => {
    const store = await openIn(folder)
    const [a = 0, b = 0, c = 0, d = 0, e = 0] = await create(
      store,
      { indexKeys: ['t'] },
      { indexKeys: ['t'] },
      { indexKeys: ['t'] },
      { indexKeys: ['t'] },
      { indexKeys: ['t'], due: 5 },
    )
    await store.close()
    const root = openLmdb({ path: join(folder, 'default.mdb'), noSubdir: true, overlappingSync: false })
    const contexts = root.openDB<Buffer, number>('contexts', { encoding: 'binary' })
    await Promise.all([
      contexts.put(a, Buffer.from('garbage')),
      contexts.put(c, Buffer.from('{"version":"one"}\n')),
      contexts.put(d, Buffer.alloc(0)),
    ])
    await root.close()
    const later = await openIn(folder)
    expect(errors).toMatchObject(
      [a, c, d].map((id) => ({
        message: `the stored record of context ${id} can't be read`,
        fields: { contextId: id },
      })),
    )
    for (const id of [a, c, d]) await expect(later.load({ id })).rejects.toThrow(`context ${id} `)
    expect(await idsOf(listed(later, { all: ['t'], limit: 10 }))).toEqual([b, e])
    expect((await later.claimDue({ now: 5, limit: 10, hideFor: 1 })).ids).toEqual([e])
    await later.close()
  })

  it('knows words, due times, owners, ends and logs again after it was reopened', async () => {
    let store = await openIn(folder)
    const ids = await create(
      store,
      ...Array.from({ length: 300 }, (_, index) => ({
        indexKeys: [`mod:${index % 7}`],
        due: index % 3 === 0 ? index : null,
        owner: index % 5 === 0 ? 'dead' : null,
        endedAt: index % 10 === 1 ? index : null,
        log: [`${index}`],
      })),
    )
    await store.close()
    store = await openIn(folder)
    const where = (test: (index: number) => boolean): number[] => ids.filter((_, index) => test(index))
    expect(await idsOf(listed(store, { all: ['mod:3'], limit: 1000 }))).toEqual(where((index) => index % 7 === 3))
    expect((await store.claimDue({ now: 1000, limit: 1000, hideFor: 1 })).ids).toEqual(
      where((index) => index % 3 === 0),
    )
    expect(
      (await store.claimAbandoned({ owner: 'me', limit: 1000, hideFor: 100_000 }))
        .map(({ id }) => id)
        .sort((a, b) => a - b),
    ).toEqual(where((index) => index % 5 === 0))
    await update(store, ids[7] ?? 0, {}, { log: ['more'] })
    expect(await store.log({ id: ids[7] ?? 0, limit: 9 })).toEqual(['7', 'more'])
    expect(await store.purge({ endedBefore: 1000, limit: 1000 })).toBe(30)
    await store.close()
  })

  it('takes commits of one context one after the other although nobody waits for them', async () => {
    const store = await openIn(folder)
    const id = await newId(store)
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        store.commit({ writes: [writeOf(contextOf(id, index + 1), { log: [`${index}`] })] }),
      ),
    )
    expect(outcomes.every(({ ok }) => ok)).toBe(true)
    expect(await store.log({ id, limit: 100 })).toEqual(Array.from({ length: 20 }, (_, index) => `${index}`))
    await store.close()
  })

  it("keeps texts that aren't well-formed Unicode", async () => {
    const store = await openIn(folder)
    const id = await newId(store)
    const context = contextOf(id, 1, { parts: { lone: 'a\ud800', plain: 'é😀', split: '\ud83d', again: '\ude00' } })
    await mustCommit(store, writeOf(context, { log: ['\ud800'] }))
    expect(await store.load({ id })).toEqual(context)
    expect(await store.log({ id, limit: 1 })).toEqual(['\ud800'])
    await store.close()
  })

  it('leaves nothing on disk of what was purged', async () => {
    const store = await openIn(folder)
    const [one = 0, two = 0] = await create(store, { log: ['a'] }, { log: ['b'] })
    await update(store, one, { endedAt: 1 }, { log: ['c', 'd'], notifies: [one, two] })
    await update(store, two, { endedAt: 1 })
    expect(await store.purge({ endedBefore: 2, limit: 10 })).toBe(2)
    await store.close()
    const root = openLmdb({ path: join(folder, 'default.mdb'), noSubdir: true, overlappingSync: false })
    expect(['contexts', 'rows', 'notifications'].map((name) => root.openDB({ name }).getCount())).toEqual([0, 0, 0])
    await root.close()
  })

  it("makes nothing of a commit in which a write can't be made, and all of the others of its group", async () => {
    const store = await openIn(folder)
    const { first } = await store.reserveIds({ count: 3, partition: 0 })
    const bad = {
      ...contextOf(first + 1, 1),
      get parts(): never {
        throw new Error('no')
      },
    }
    const outcomes = await Promise.allSettled([
      store.commit({ writes: [writeOf(contextOf(first, 1)), { ...writeOf(contextOf(first + 1, 1)), context: bad }] }),
      store.commit({ writes: [writeOf(contextOf(first + 2, 1))] }),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    for (const id of [first, first + 1]) expect(await store.load({ id })).toBeNull()
    expect(await store.load({ id: first + 2 })).toEqual(contextOf(first + 2, 1))
    await store.close()
  })

  it('makes at most 6 promises of a commit', async () => {
    const store = await openIn(folder)
    const id = await createOne(store)
    let promises = 0
    const hook = createHook({
      init(_, type) {
        if (type === 'PROMISE') promises += 1
      },
    })
    const counts: number[] = []
    for (let version = 2; version <= 11; version++) {
      const write = writeOf(contextOf(id, version))
      promises = 0
      hook.enable()
      await store.commit({ writes: [write] })
      hook.disable()
      counts.push(promises)
    }
    // What else the process does may come in between.
    expect(Math.min(...counts)).toBeLessThanOrEqual(6)
    await store.close()
  })

  it("makes nothing of a commit with a key that can't be one", async () => {
    const store = await openIn(folder)
    const [bad, good] = await Promise.allSettled([
      putDefinition(store, 'x'.repeat(5000), '{}'),
      createOne(store, { indexKeys: ['good'] }),
    ])
    expect(bad.status).toBe('rejected')
    expect(good.status).toBe('fulfilled')
    await store.close()
  })
})
