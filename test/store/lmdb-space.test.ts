// The embedded store on a disk that fills up: nothing is written without room for it, nothing acknowledged is lost, and
// it goes on by itself.
import { setTimeout as sleep } from 'node:timers/promises'
import { listed } from './listed.ts'
import { execFileSync } from 'node:child_process'
import { mkdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { openDisk } from '../../src/store/lmdb/disk.ts'
import { rebuild } from '../../src/store/lmdb/index/rebuild.ts'
import { DataFolderError } from '../../src/store/lmdb/data-folder.ts'
import { openLmdbStore } from '../../src/store/lmdb/store.ts'
import { WriteGroup } from '../../src/store/lmdb/write-group.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { contextOf, createOne, idsOf, newId, writeOf } from './contract-support.ts'
import { canMount, mountSmall } from '../support/small-disk.ts'
import { putDefinition } from '../support/stores.ts'
import { silent as SILENT } from '../support/silent.ts'
import { newFolder } from '../support/at-end.ts'

const MIB = 1024 * 1024
const quiet = (): void => {}
const FULL = {
  failure: {
    kind: 'unavailable',
    retryAfter: 1,
    detail: 'the disk of the data folder is full: nothing can be written until there is room',
  },
}

let folder = ''
const clock = new SimulatedClock()
let now: number
let free: number
let asked: number
let logged: string[]

beforeEach(async () => {
  folder = await newFolder()
  now = 0
  free = 1000 * MIB
  asked = 0
  logged = []
})

const tell = (level: string) => (message: string) => {
  logged.push(`${level} ${message}`)
}

function open(
  freeBytes = (): number => {
    asked += 1
    return free
  },
): Promise<Store> {
  const log = {
    trace: tell('trace'),
    debug: tell('debug'),
    info: tell('info'),
    warn: tell('warn'),
    error: tell('error'),
  }
  return openLmdbStore({ folder, minFree: 64 * MIB, gauge: { freeBytes, now: () => now }, clock, log })
}

describe('with too little room', () => {
  it('refuses every write, serves every read, says so, and goes on by itself when there is room', async () => {
    const store = await open()
    const id = await createOne(store, { indexKeys: ['t'], endedAt: 1 })
    expect(store.trouble()).toBeNull()
    free = 64 * MIB
    now += 50
    const next = writeOf(contextOf(id, 2, { indexKeys: ['t'], endedAt: 1 }))
    for (const write of [
      () => store.commit({ writes: [next] }),
      () => store.reserveIds({ count: 1, partition: 0 }),
      () => putDefinition(store, 'abc', '{}'),
      () => store.purge({ endedBefore: 10, limit: 10 }),
    ])
      await expect(write()).rejects.toMatchObject(FULL)
    expect(store.trouble()).toBe(FULL.failure.detail)
    expect(await store.load({ id })).toMatchObject({ version: 1 })
    expect(await idsOf(listed(store, { all: ['t'], limit: 10 }))).toEqual([id])

    free = 1000 * MIB
    expect(store.trouble()).toBe(FULL.failure.detail)
    now += 50
    // Without a request: nobody sends any to a server that isn't ready.
    expect(store.trouble()).toBeNull()
    expect(await store.commit({ writes: [next] })).toMatchObject({ ok: true })
    expect(logged.filter((line) => line.includes('the disk'))).toEqual([
      'error the disk of the data folder is full: writes are refused until there is room',
      'info the disk of the data folder has room again',
    ])
    await store.close()
  })

  it('is in trouble before a write finds out', async () => {
    const store = await open()
    free = 64 * MIB - 1
    now += 50
    expect(store.trouble()).toBe(FULL.failure.detail)
    await store.close()
  })

  it('refuses the group that does not fit, and takes one that does', async () => {
    const store = await open()
    const [large, small] = [await newId(store), await newId(store)]
    free = 64 * MIB + 2 * MIB
    now += 50
    await expect(
      store.commit({ writes: [writeOf(contextOf(large, 1, { parts: { data: 'x'.repeat(2 * MIB) } }))] }),
    ).rejects.toMatchObject(FULL)
    expect(store.trouble()).toBe(FULL.failure.detail)
    expect(await store.commit({ writes: [writeOf(contextOf(small, 1))] })).toMatchObject({ ok: true })
    expect(store.trouble()).toBeNull()
    await store.close()
  })

  it('counts what it writes between two questions, which are 50 ms apart', async () => {
    const store = await open()
    const id = await newId(store)
    free = 64 * MIB + 8 * MIB
    now += 50
    asked = 0
    const outcomes: boolean[] = []
    for (let version = 1; version <= 20; version++) {
      const write = writeOf(contextOf(id, version, { parts: { data: 'x'.repeat(MIB) } }))
      outcomes.push(
        await store.commit({ writes: [write] }).then(
          ({ ok }) => ok,
          () => false,
        ),
      )
    }
    expect(asked).toBe(1)
    expect(outcomes.filter(Boolean).length).toBeGreaterThan(3)
    expect(outcomes.filter(Boolean).length).toBeLessThan(8)
    now += 49
    store.trouble()
    expect(asked).toBe(1)
    now += 1
    store.trouble()
    expect(asked).toBe(2)
    await store.close()
  })

  it('opens what is there, but makes nothing new', async () => {
    const store = await open()
    const id = await createOne(store)
    await store.close()
    free = 0
    // It has no mark if there was no room for it.
    for (const mark of ['left', 'gone']) {
      if (mark === 'gone') await truncate(join(folder, 'default.lock'))
      const later = await open()
      expect(await later.load({ id })).toMatchObject({ version: 1 })
      await later.close()
    }
    await rm(folder, { recursive: true })
    await expect(open()).rejects.toThrow(DataFolderError)
    await expect(open()).rejects.toThrow(/the disk of the data folder is full/)
  })

  it('goes on where the file system does not tell, and says that once', async () => {
    const store = await open(() => {
      throw new Error('ENOSYS')
    })
    await createOne(store)
    now += 50
    await createOne(store)
    expect(store.trouble()).toBeNull()
    expect(logged.filter((line) => line.startsWith('warn'))).toEqual([
      "warn the free space on the disk of the data folder can't be read",
    ])
    await store.close()
  })
})

it('a group never makes the file grow by more than was asked for', async () => {
  const disk = await openDisk({ folder, namespace: 'default', minFree: 0, log: SILENT })
  const memory = await rebuild(disk, SILENT)
  const taken: number[] = []
  const write = disk.write.bind(disk)
  Object.defineProperty(disk, 'write', {
    value: (operations: readonly (() => void)[], bytes: number) => {
      taken.push(bytes)
      return write(operations, bytes)
    },
  })
  const file = join(folder, 'default.mdb')
  let largest = 0
  for (let round = 0; round < 60; round++) {
    const before = (await stat(file)).size
    const group = new WriteGroup(disk, memory, () => 1000 + round)
    if (round === 0) group.reserveIds(5000)
    if (round % 20 === 19) expect(group.purge(round, 500)).toBeGreaterThan(0)
    for (let index = 0; index < 200; index++) {
      // At first side by side, later all over the place.
      const id = round < 20 ? 200 * round + index + 1 : ((index * 7919 + round * 104_729) % 4000) + 1
      const version = (memory.entry(id)?.version ?? 0) + 1
      if (group.touches(id)) continue
      const parts = {
        data: 'x'.repeat((index * round * 97) % (index % 9 === 0 ? 30_000 : 1500)),
        // A large part that stays as it is, and goes now and then.
        ...(id % 5 === 0 && round % 7 !== 0 && { body: 'y'.repeat(10_000 + id) }),
      }
      const context = contextOf(id, version, { parts, endedAt: index % 3 === 0 ? round : null })
      const write = writeOf(context, { changed: ['data'], log: ['x'.repeat(index % 300)], notifies: [id - 1] })
      const row = {
        partition: 0,
        space: 'items' as const,
        key: `${(index * 7919 * round) % 3000}`.padStart(index % 300),
      }
      const value = index % 10 === 0 ? null : 'z'.repeat((index * round * 31) % (index % 17 === 0 ? 20_000 : 500))
      group.commit({ writes: [write], rows: [{ ...row, value, expiresAt: 1000 + (index % 50) }] })
    }
    if (round % 3 === 0) group.sweepRows(Infinity, 100)
    await group.write()
    group.adopt()
    const grown = (await stat(file)).size - before
    largest = Math.max(largest, grown)
    expect(grown).toBeLessThanOrEqual(taken.at(-1) ?? 0)
  }
  expect(largest).toBeGreaterThan(MIB)
  await disk.close()
})

describe.skipIf(!canMount())('on a small disk (skipped where the user may not mount one)', () => {
  it('survives its being full, keeps all that was acknowledged, and goes on when there is room', async () => {
    const disk = await mountSmall(24 * MIB)
    onTestFinished(disk.remove)
    const minFree = 4 * MIB
    const log = SILENT
    const real = { now: Date.now, after: () => quiet }
    const data = join(disk.folder, 'data')
    await mkdir(data)
    let store = await openLmdbStore({ folder: data, minFree, clock: real, log })
    const acknowledged = new Map<number, number>()
    const fill = async (): Promise<number> => {
      let refused = 0
      for (let round = 0; round < 400; round++) {
        if (refused >= 20) break
        await Promise.all(
          Array.from({ length: 16 }, async (_, index) => {
            const id = index + 1
            const version = (acknowledged.get(id) ?? 0) + 1
            const parts = { data: 'x'.repeat((round * 3571 + index * 977) % 90_000) }
            const write = writeOf(contextOf(id, version, { indexKeys: [`v${version}`], parts }), {
              log: ['x'.repeat(2000)],
            })
            try {
              if ((await store.commit({ writes: [write] })).ok) acknowledged.set(id, version)
            } catch (error) {
              expect(error).toMatchObject(FULL)
              refused += 1
            }
          }),
        )
      }
      return refused
    }
    const check = async () => {
      for (const [id, version] of acknowledged) expect(await store.load({ id })).toMatchObject({ version })
    }
    await store.reserveIds({ count: 16, partition: 0 })
    expect(await fill()).toBeGreaterThan(0)
    await check()
    // Others take the rest: what is asked for is refused, and what is there is opened again.
    const ballast = join(disk.folder, 'ballast')
    await writeFile(ballast, Buffer.alloc(64 * MIB)).catch(quiet)
    expect(await fill()).toBeGreaterThan(0)
    expect(store.trouble()).toBe(FULL.failure.detail)
    await store.close()
    store = await openLmdbStore({ folder: data, minFree, clock: real, log })
    await check()
    expect(store.trouble()).toBe(FULL.failure.detail)
    await rm(ballast)
    execFileSync('mount', ['-o', `remount,size=${64 * MIB}`, disk.folder])
    await sleep(60)
    expect(store.trouble()).toBeNull()
    const before = new Map(acknowledged)
    await fill()
    for (const [id, version] of before) expect(acknowledged.get(id)).toBeGreaterThan(version)
    await check()
    await store.close()
    store = await openLmdbStore({ folder: data, minFree, clock: real, log })
    await check()
    await store.close()
  }, 60_000)
})
