// Idempotency keys in a store of several partitions: the key of a call lies with what it is addressed to, so it has one
// effect for each addressee, in one commit, over servers, crashes, and commits that come late.
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { isReplayed } from '../support/answers.ts'
import { inDoubt, unavailable } from '../../src/model/failure.ts'
import type { CommitRequest, Store } from '../../src/ports/store.ts'
import { openBench, outputs, type Bench, type Files } from '../support/engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { isOfDefinition, withVerbs } from '../support/stores.ts'
import { openRedis } from '../support/redis-store.ts'
import { SharedMemory } from '../support/shared-memory.ts'
import { FINISHING_COUNTER } from '../support/services.ts'

const FILES: Files = {
  'p/Count.flux': FINISHING_COUNTER,
  'p/Random.flux': { ...FINISHING_COUNTER, key: 'r-${random()}' },
  'p/Named.flux': { ...FINISHING_COUNTER, input: [{ name: 'of' }], key: '${of}', tags: ['all'] },
}
const PARTITIONS = 5
const MISMATCH = { failure: { kind: 'idempotencyMismatch' } }

type Commit = () => ReturnType<Store['commit']>
/** What becomes of the commits of one server. */
interface Fate {
  /** Instead of the next commits that write rows; null: as usual. */
  readonly next: ((commit: Commit, request: CommitRequest) => ReturnType<Store['commit']>)[]
  commits: number
}
interface Server {
  readonly bench: Bench
  readonly fate: Fate
}

let shared: SharedMemory
beforeEach(() => {
  // Redis has a time of its own.
  shared = new SharedMemory(PARTITIONS, new SimulatedClock(Date.now()))
})

async function open(under: Store = shared.store()): Promise<Server> {
  const fate: Fate = { next: [], commits: 0 }
  const store = withVerbs(under, {
    commit(request) {
      if (!request.rows?.length || isOfDefinition(request)) return under.commit(request)
      fate.commits += 1
      const run = fate.next.shift()
      return run ? run(() => under.commit(request), request) : under.commit(request)
    },
  })
  const bench = await openBench(FILES, shared.server(store))
  return { bench, fate }
}

/** One context in each partition. */
async function inAll({ bench }: Server): Promise<number[]> {
  const ids: number[] = []
  while (ids.length < PARTITIONS) {
    const id = await bench.run('Count')
    if (!ids.some((one) => one % PARTITIONS === id % PARTITIONS)) ids.push(id)
  }
  return ids.toSorted((a, b) => (a % PARTITIONS) - (b % PARTITIONS))
}

const tick = ({ bench }: Server, contextId: number, eventId = 'e', more: object = {}) =>
  bench.sendEvent({ contextId, event: 'tick', eventId, ...more })
const counts = ({ bench }: Server, ids: readonly number[]) =>
  Promise.all(ids.map(async (contextId) => Number(outputs(await bench.getContext({ contextId }))['n'])))
const randoms = async ({ bench }: Server) => (await bench.listContexts({ fluxName: 'Random', limit: 100 })).length
const startRandom = ({ bench }: Server, idempotencyKey = 'k') =>
  bench.execute({ package: 'p', fluxName: 'Random', idempotencyKey })
const startNamed = ({ bench }: Server, of: string, more: object = {}) =>
  bench.execute({ package: 'p', fluxName: 'Named', input: { of }, idempotencyKey: 'k', ...more })

describe.each(['memory', 'Redis'] as const)('over partitions, on %s', (where) => {
  const openAll = async (): Promise<[Server, Server]> => {
    if (where === 'memory') return [await open(), await open()]
    const namespace = `test-${randomUUID()}`
    const onRedis = () => openRedis({ namespace, partitions: PARTITIONS })
    return [await open(await onRedis()), await open(await onRedis())]
  }

  test('a key that is used for another context, or for all, is another request, at whichever server', async () => {
    const servers = await openAll()
    const ids = await inAll(servers[0])
    const firsts = await Promise.all(ids.map((id) => tick(servers[0], id)))
    for (const server of servers)
      for (const [at, contextId] of ids.entries()) {
        const again = await tick(server, contextId)
        expect([again, isReplayed(again)]).toEqual([firsts[at], true])
        await expect(tick(server, contextId, 'e', { tags: ['x'] })).rejects.toMatchObject(MISMATCH)
      }
    expect(await counts(servers[1], ids)).toEqual(ids.map(() => 1))
    const all = await servers[1].bench.sendEvent({ event: 'tick', eventId: 'e' })
    expect([all.transitions.length, isReplayed(all)]).toEqual([PARTITIONS, false])
    expect(isReplayed(await servers[0].bench.sendEvent({ event: 'tick', eventId: 'e' }))).toBe(true)
    expect(await counts(servers[1], ids)).toEqual(ids.map(() => 2))
    const receipt = await servers[1].bench.getEvent({ eventId: 'e' })
    expect(receipt).toMatchObject({ event: 'tick', repeated: 2 * PARTITIONS + 1, done: true })
    expect(receipt.counts).toMatchObject({ moved: 2 * PARTITIONS, ignored: 0, pending: 0 })
    expect(receipt.moved.map(({ contextId }) => contextId).toSorted()).toEqual([...ids, ...ids].toSorted())
  })

  test('of calls with one key at once, one has an effect on each context', async () => {
    const servers = await openAll()
    const ids = await inAll(servers[0])
    for (let round = 1; round <= 10; round += 1) {
      const calls = servers.flatMap((server) => ids.map((id) => tick(server, id, `r${round}`)))
      const told = await Promise.all(calls)
      expect(await counts(servers[0], ids)).toEqual(ids.map(() => round))
      expect(told.filter((answer) => !isReplayed(answer))).toHaveLength(PARTITIONS)
      expect(told.slice(0, PARTITIONS)).toEqual(told.slice(PARTITIONS))
    }
  })

  test('a start whose key is made by chance is made once, by two servers at once', async () => {
    const servers = await openAll()
    for (let round = 0; round < 10; round += 1) {
      const started = await Promise.all(servers.map((server) => startRandom(server, `k${round}`)))
      expect(await randoms(servers[0])).toBe(round + 1)
      expect(started.filter(isReplayed)).toHaveLength(1)
      for (const server of servers) expect(await startRandom(server, `k${round}`)).toEqual(started[0])
    }
  })

  test('a start under a key of its context is another one than that under another, also where its service gives it', async () => {
    const servers = await openAll()
    for (const of of ['a', 'b', 'c']) {
      const first = await startNamed(servers[0], of)
      for (const server of servers) expect(await startNamed(server, of)).toEqual(first)
      await expect(startNamed(servers[1], of, { tags: ['x'] })).rejects.toMatchObject(MISMATCH)
      // The same context, and another content.
      await expect(startNamed(servers[1], of, { key: of })).rejects.toMatchObject(MISMATCH)
    }
    expect(isReplayed(await startNamed(servers[0], 'a', { key: 'd' }))).toBe(false)
    // Whose key comes out empty has none.
    const nameless = await startNamed(servers[0], '')
    expect(await startNamed(servers[1], '')).toEqual(nameless)
    expect((await servers[0].bench.listContexts({ fluxName: 'Named' })).length).toBe(5)
  })

  test('a call that is refused leaves no key behind', async () => {
    const servers = await openAll()
    const [first = 0, next = 0] = await inAll(servers[0])
    await servers[0].bench.sendEvent({ contextId: first, event: 'finish' })
    for (const server of [...servers, ...servers])
      await expect(tick(server, first)).rejects.toMatchObject({ failure: { kind: 'conflict' } })
    expect(isReplayed(await tick(servers[1], next))).toBe(false)
    expect((await servers[0].bench.getEvent({ eventId: 'e' })).moved).toHaveLength(1)
  })
})

const dead = () => Promise.reject(unavailable('dead'))
/** It is made, and nobody hears of it. */
const lost = async (commit: Commit) => {
  await commit()
  throw inDoubt('the answer was lost')
}

describe('a call under a key', () => {
  let one: Server
  let two: Server
  let ids: number[]
  beforeEach(async () => {
    ;[one, two] = [await open(), await open()]
    ids = await inAll(one)
  })

  test('is one commit and one row, wherever its context lies', async () => {
    const [before, rows] = [one.fate.commits, shared.memory.rows.count('items')]
    for (const id of ids) await tick(one, id, `e${id}`)
    expect([one.fate.commits - before, shared.memory.rows.count('items') - rows]).toEqual([PARTITIONS, PARTITIONS])
    for (let at = 0; at < 2 * PARTITIONS; at += 1) {
      await one.bench.execute({ package: 'p', fluxName: 'Count', idempotencyKey: `k${at}` })
    }
    expect(one.fate.commits - before).toBe(3 * PARTITIONS)
    expect(shared.memory.rows.count('idempotency')).toBe(2 * PARTITIONS)
    await startRandom(one)
    expect(one.fate.commits - before).toBe(3 * PARTITIONS + 1)
  })

  test('that is cut off before its commit leaves the key free, at any server', async () => {
    const [contextId = 0] = ids
    one.fate.next.push(dead)
    await expect(tick(one, contextId)).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
    expect(isReplayed(await tick(two, contextId))).toBe(false)
    expect(isReplayed(await tick(one, contextId))).toBe(true)
    expect(await counts(one, [contextId])).toEqual([1])
  })

  test('whose commit got no answer is found to be made', async () => {
    for (const contextId of ids) {
      one.fate.next.push(lost)
      const first = await tick(one, contextId)
      expect([isReplayed(first), isReplayed(await tick(two, contextId))]).toEqual([false, true])
    }
    expect(await counts(two, ids)).toEqual(ids.map(() => 1))
  })

  test('whose commit comes late has no effect, once a repeat had it', async () => {
    for (const contextId of ids) {
      const late: Commit[] = []
      one.fate.next.push((commit) => {
        late.push(commit)
        return Promise.reject(inDoubt('it is under way'))
      })
      await expect(tick(one, contextId)).rejects.toMatchObject({ failure: { inDoubt: true } })
      expect(isReplayed(await tick(two, contextId))).toBe(false)
      expect(await late[0]?.()).toMatchObject({ ok: false })
    }
    expect(await counts(two, ids)).toEqual(ids.map(() => 1))
  })

  test('whose key is made by chance starts once, though its commit comes late', async () => {
    const late: Commit[] = []
    one.fate.next.push((commit) => {
      late.push(commit)
      return Promise.reject(inDoubt('it is under way'))
    })
    await expect(startRandom(one)).rejects.toMatchObject({ failure: { inDoubt: true } })
    const { contextId } = await startRandom(two)
    expect(await late[0]?.()).toMatchObject({ ok: false })
    expect([(await startRandom(one)).contextId, await randoms(one)]).toEqual([contextId, 1])
  })

  test('many under keys of their own keep their order', async () => {
    const [contextId = 0] = ids
    const sent = Array.from({ length: 50 }, (_, at) =>
      one.bench.sendEvent({ contextId, event: at === 49 ? 'finish' : 'tick', eventId: `o${at}` }),
    )
    const answers = await Promise.all(sent)
    expect(answers.at(-1)?.transitions).toEqual([{ contextId, state: 'end' }])
    expect(await counts(one, [contextId])).toEqual([50])
  })
})

test('the receipt of several contexts tells what is left pending for each of them', async () => {
  const server = await open()
  const ids = await inAll(server)
  for (const contextId of ids) await server.bench.sendEvent({ contextId, event: 'later', eventId: 'e', ttl: 60 })
  const receipt = () => server.bench.getEvent({ eventId: 'e' })
  expect(await receipt()).toMatchObject({ counts: { moved: 0, pending: PARTITIONS } })
  await server.bench.sendEvent({ contextId: ids[0] ?? 0, event: 'finish' })
  expect(await receipt()).toMatchObject({ counts: { pending: PARTITIONS - 1, expired: 1 } })
  await server.bench.withdraw({ eventId: 'e' })
  const ended = await receipt()
  expect(ended.counts).toMatchObject({ pending: 0, expired: 1, withdrawn: PARTITIONS - 1 })
  expect(ended.withdrawn.map(({ contextId }) => contextId).toSorted()).toEqual(ids.slice(1).toSorted())
  await expect(server.bench.withdraw({ eventId: 'e' })).rejects.toMatchObject({ failure: { kind: 'conflict' } })
})
