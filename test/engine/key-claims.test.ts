// Idempotency keys in a store of several partitions, where the effect of a call may be in another partition than that
// of its key: one effect for each key, over servers, crashes, and claimers that come late.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { isReplayed } from '../../src/api/replayed.ts'
import { SEND_EVENT } from '../../src/api/send-event.ts'
import { rowKeyOf } from '../../src/engine/idempotency/kept-answer.ts'
import { scopeOfToken, SYSTEM } from '../../src/model/caller.ts'
import { partitionOf } from '../../src/model/rows.ts'
import { inDoubt, unavailable } from '../../src/model/failure.ts'
import type { CommitRequest, Store } from '../../src/ports/store.ts'
import { explore } from '../../src/store/redis/connection.ts'
import { openRedisStore } from '../../src/store/redis/store.ts'
import { openBench, outputs, type Bench, type Files } from '../support/engine.ts'
import { held } from '../support/held.ts'
import { MemoryStore } from '../simulation/memory-store.ts'
import { Memory } from '../simulation/memory.ts'
import { SimulatedClock } from '../support/simulated-clock.ts'
import { withVerbs } from '../support/stores.ts'

const states = [
  {
    name: 'w',
    waiting: true,
    action: { type: 'map', lines: [{ type: 'set', expression: 'n + 1', evaluate: true, to: ['n'] }] },
    transitions: [
      { to: 'w', event: 'tick' },
      { to: 'end', event: 'finish' },
    ],
  },
  { name: 'end' },
]
const output = [{ name: 'n', type: 'integer', defaultValue: 0 }]
const FILES: Files = {
  'p/Count.flux': { output, states },
  'p/Random.flux': { output, states, key: 'r-${random()}' },
}
const PARTITIONS = 5
const BEAT_MS = 1000
const LEASE_MS = 7 * BEAT_MS
const MISMATCH = { failure: { kind: 'idempotencyMismatch' } }
const IN_PROGRESS = { failure: { kind: 'idempotencyInProgress', retryAfter: 1 } }

const quiet = (): void => {}
const log = { trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet }
const feed = {
  notify: quiet,
  onNotified: quiet,
  notifyReady: quiet,
  onReady: quiet,
  watch: quiet,
  onWatched: quiet,
  close: () => Promise.resolve(),
}

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

let clock: SimulatedClock
let memory: Memory
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})
beforeEach(() => {
  // Redis has a time of its own.
  clock = new SimulatedClock(Date.now())
  memory = new Memory({ now: () => clock.now(), partitions: PARTITIONS, silence: LEASE_MS })
})

async function open(shared: Store = new MemoryStore(memory)): Promise<Server> {
  const fate: Fate = { next: [], commits: 0 }
  const store = withVerbs(shared, {
    commit(request) {
      if (!request.rows?.length) return shared.commit(request)
      fate.commits += 1
      const run = fate.next.shift()
      return run ? run(() => shared.commit(request), request) : shared.commit(request)
    },
  })
  const bench = await openBench(FILES, { store, clock, others: { beat: BEAT_MS, feed } })
  closing.push(() => bench.close())
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
const sum = async (server: Server, ids: readonly number[]) => (await counts(server, ids)).reduce((a, b) => a + b, 0)
const randoms = async ({ bench }: Server) => (await bench.listContexts({ fluxName: 'Random', limit: 100 })).length
const startRandom = ({ bench }: Server, idempotencyKey = 'k') =>
  bench.execute({ package: 'p', fluxName: 'Random', idempotencyKey })

describe.each(['memory', 'Redis'] as const)('over partitions, on %s', (where) => {
  const openAll = async (): Promise<[Server, Server]> => {
    if (where === 'memory') return [await open(), await open()]
    const [address, namespace] = [await explore(inject('redisUrl')), `test-${randomUUID()}`]
    const onRedis = () => openRedisStore({ address, namespace, partitions: PARTITIONS, deadAfterMs: 60_000, log })
    return [await open(await onRedis()), await open(await onRedis())]
  }

  test('a key that is used for another context is a mismatch, at whichever server', async () => {
    const servers = await openAll()
    const ids = await inAll(servers[0])
    for (const [at, contextId] of ids.entries()) {
      const eventId = `e${at}`
      const first = await tick(servers[0], contextId, eventId)
      for (const server of servers) {
        for (const other of ids.filter((id) => id !== contextId))
          await expect(tick(server, other, eventId)).rejects.toMatchObject(MISMATCH)
        const again = await tick(server, contextId, eventId)
        expect([again, isReplayed(again)]).toEqual([first, true])
        await expect(server.bench.sendEvent({ event: 'tick', eventId })).rejects.toMatchObject(MISMATCH)
        expect(await server.bench.getEvent({ eventId })).toMatchObject({ moved: [{ contextId }] })
      }
    }
    expect(await counts(servers[1], ids)).toEqual(ids.map(() => 1))
  })

  test('of calls with one key at once, one has an effect', async () => {
    const servers = await openAll()
    const ids = await inAll(servers[0])
    for (let round = 0; round < 10; round += 1) {
      const before = await sum(servers[0], ids)
      const calls = servers.flatMap((server) => ids.map((id) => tick(server, id, `r${round}`)))
      const settled = await Promise.allSettled(calls)
      expect(await sum(servers[0], ids)).toBe(before + 1)
      const told = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
      expect(told.filter((answer) => !isReplayed(answer))).toHaveLength(1)
      expect(new Set(told.map(({ transitions }) => transitions[0]?.contextId)).size).toBe(1)
    }
  })

  test('a start whose key is made by chance is made once, by two servers at once', async () => {
    const servers = await openAll()
    for (let round = 0; round < 10; round += 1) {
      const settled = await Promise.allSettled(servers.map((server) => startRandom(server, `k${round}`)))
      expect(await randoms(servers[0])).toBe(round + 1)
      const ids = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value.contextId] : []))
      expect(new Set(ids).size).toBe(1)
      for (const server of servers) expect((await startRandom(server, `k${round}`)).contextId).toBe(ids[0])
    }
  })

  test('a call that is refused leaves no key behind', async () => {
    const servers = await openAll()
    const [first = 0, ...others] = await inAll(servers[0])
    await servers[0].bench.sendEvent({ contextId: first, event: 'finish' })
    await expect(tick(servers[0], first)).rejects.toMatchObject({ failure: { kind: 'conflict' } })
    for (const server of servers)
      await expect(tick(server, first)).rejects.toMatchObject({ failure: { kind: 'conflict' } })
    const [next = 0, other = 0] = others
    expect(isReplayed(await tick(servers[1], next))).toBe(false)
    await expect(tick(servers[1], other)).rejects.toMatchObject(MISMATCH)
  })
})

/** Contexts of two partitions that are not that of the key, so that a claim comes first. */
async function apart(server: Server): Promise<[number, number]> {
  const rowKey = rowKeyOf({ scope: scopeOfToken(SYSTEM.name), of: SEND_EVENT, key: 'probe' })
  const home = partitionOf(rowKey, PARTITIONS)
  const [one, other] = (await inAll(server)).filter((id) => id % PARTITIONS !== home)
  if (one === undefined || other === undefined) throw new Error('there are four')
  return [one, other]
}

const dead = () => Promise.reject(unavailable('dead'))
/** Holds back a commit, until it is told to go on. */
function holdBack() {
  const [reached, gate] = [held<void>(), held<void>()]
  const run = async (commit: Commit) => {
    reached.release()
    await gate.promise
    return commit()
  }
  return { run, reached: reached.promise, goOn: gate.release }
}
/** It is made, and nobody hears of it. */
const lost = async (commit: Commit) => {
  await commit()
  throw inDoubt('the answer was lost')
}

describe('an event whose key lies elsewhere', () => {
  let one: Server
  let two: Server
  let near: number
  let far: number
  beforeEach(async () => {
    ;[one, two] = [await open(), await open()]
    ;[near, far] = await apart(one)
  })
  const send = (server: Server, contextId: number) => tick(server, contextId, 'probe')
  const all = () => two.bench.sendEvent({ event: 'tick', eventId: 'probe' })
  const done = async () => counts(one, [near, far])
  let base: number[]
  beforeEach(async () => {
    base = await done()
  })
  const grown = async () => (await done()).map((count, at) => count - (base[at] ?? 0))
  test('takes two commits', async () => {
    const before = one.fate.commits
    await send(one, near)
    expect(one.fate.commits - before).toBe(2)
  })

  test.each(['claim', 'effect'] as const)('is cut off before its %s: the key is free after the lease', async (what) => {
    one.fate.next.push(...(what === 'claim' ? [dead] : [(commit: Commit) => commit(), dead, dead]))
    await expect(send(one, near)).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
    // A repeat needn't wait, wherever it comes.
    const other = await send(two, far).catch((error: unknown) => error)
    if (what === 'effect') expect(other).toMatchObject(MISMATCH)
    await clock.advance(LEASE_MS)
    expect(await send(two, far)).toMatchObject({ transitions: [{ contextId: far }] })
    await expect(send(one, near)).rejects.toMatchObject(MISMATCH)
    expect(await grown()).toEqual([0, 1])
  })

  test('is cut off after its claim: a repeat at another server does it at once', async () => {
    one.fate.next.push((commit) => commit(), dead, dead)
    await expect(send(one, near)).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
    expect(isReplayed(await send(two, near))).toBe(false)
    expect(await grown()).toEqual([1, 0])
  })

  test.each([0, 1])('whose commit %i got no answer is found to be made', async (at) => {
    one.fate.next.push(...Array.from({ length: at }, () => (commit: Commit) => commit()), lost)
    const first = await send(one, near).catch((error: unknown) => error)
    if (at === 1) expect(first).toMatchObject({ transitions: [{ contextId: near }] })
    // Of a claim alone nothing comes, so there is no doubt.
    else expect(first).not.toMatchObject({ failure: { inDoubt: true } })
    expect(isReplayed(await send(two, near))).toBe(at === 1)
    expect(await grown()).toEqual([1, 0])
    await clock.advance(LEASE_MS)
    await expect(send(two, far)).rejects.toMatchObject(MISMATCH)
  })

  test('whose effect comes late has none, once the key was used for another context', async () => {
    const late: Commit[] = []
    one.fate.next.push(
      (commit) => commit(),
      (commit) => {
        late.push(commit)
        return Promise.reject(inDoubt('it is under way'))
      },
    )
    await expect(send(one, near)).rejects.toMatchObject({ failure: { inDoubt: true } })
    await expect(send(two, far)).rejects.toMatchObject(MISMATCH)
    await clock.advance(LEASE_MS)
    expect(isReplayed(await send(two, far))).toBe(false)
    expect(await late[0]?.()).toMatchObject({ ok: false })
    expect(await grown()).toEqual([0, 1])
  })

  test('whose claimer is slow has none, and is told what came of the other', async () => {
    let goOn = quiet
    one.fate.next.push(
      (commit) => commit(),
      async (commit) => {
        await new Promise<void>((resolve) => {
          goOn = resolve
        })
        return commit()
      },
    )
    const slow = send(one, near)
    await expect.poll(() => goOn === quiet).toBe(false)
    await expect(send(two, far)).rejects.toMatchObject(MISMATCH)
    // The same content joins it.
    await clock.advance(LEASE_MS)
    expect(isReplayed(await send(two, far))).toBe(false)
    goOn()
    await expect(slow).rejects.toMatchObject(MISMATCH)
    expect(await grown()).toEqual([0, 1])
  })

  test('whose claimer is slow is done by a repeat, and both have the answer', async () => {
    let goOn = quiet
    one.fate.next.push(
      (commit) => commit(),
      async (commit) => {
        await new Promise<void>((resolve) => {
          goOn = resolve
        })
        return commit()
      },
    )
    const slow = send(one, near)
    await expect.poll(() => goOn === quiet).toBe(false)
    const first = await send(two, near)
    goOn()
    expect([await slow, isReplayed(await slow), isReplayed(first)]).toEqual([first, true, false])
    expect(await grown()).toEqual([1, 0])
  })

  test('whose claimer is slow has none, once a repeat of it has failed and given the key back', async () => {
    const effect = holdBack()
    one.fate.next.push((commit) => commit(), effect.run)
    const slow = send(one, near)
    await effect.reached
    two.fate.next.push(
      (commit) => commit(),
      (commit) => commit(),
      dead,
    )
    await expect(send(two, near)).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
    expect(isReplayed(await send(two, far))).toBe(false)
    effect.goOn()
    await expect(slow).rejects.toMatchObject(MISMATCH)
    expect(await grown()).toEqual([0, 1])
  })

  test('whose claimer is slow claims the key anew, before who took it for dead has it', async () => {
    const [effect, claim] = [holdBack(), holdBack()]
    one.fate.next.push((commit) => commit(), effect.run)
    const slow = send(one, near)
    await effect.reached
    await clock.advance(LEASE_MS)
    // It meets the claim, and makes sure that nothing comes of it; then its own claim is held up.
    two.fate.next.push(
      (commit) => commit(),
      (commit) => commit(),
      claim.run,
    )
    const other = send(two, far)
    await claim.reached
    effect.goOn()
    expect(isReplayed(await slow)).toBe(false)
    claim.goOn()
    await expect(other).rejects.toMatchObject(MISMATCH)
    expect(await grown()).toEqual([1, 0])
  })

  test('is cut off after its claim: its own server knows that, and waits for no lease', async () => {
    one.fate.next.push((commit) => commit(), dead, dead)
    await expect(send(one, near)).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
    expect(isReplayed(await send(one, far))).toBe(false)
    expect(await grown()).toEqual([0, 1])
  })

  test('is known by its claim as long as its answer is kept', async () => {
    const first = await send(one, near)
    await clock.advance(600_000)
    await expect(send(two, far)).rejects.toMatchObject(MISMATCH)
    expect([await send(two, near), await grown()]).toEqual([first, [1, 0]])
  })

  test('is refused in its commit: nothing of the key is left, and the answer of who was faster is told', async () => {
    const before = memory.rows.count('idempotency')
    // The context ends between the claim and the commit.
    one.fate.next.push(async (commit) => {
      const outcome = await commit()
      await two.bench.sendEvent({ contextId: near, event: 'finish' })
      return outcome
    })
    await expect(send(one, near)).rejects.toMatchObject({ failure: { kind: 'conflict' } })
    expect(memory.rows.count('idempotency')).toBe(before)
    expect(isReplayed(await send(two, far))).toBe(false)
  })

  test('a broadcast under that key waits for the lease, and then takes the key', async () => {
    one.fate.next.push((commit) => commit(), dead, dead)
    await expect(send(one, near)).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
    await expect(all()).rejects.toMatchObject(MISMATCH)
    await clock.advance(LEASE_MS)
    expect((await all()).transitions).toHaveLength(PARTITIONS)
    await expect(send(one, near)).rejects.toMatchObject(MISMATCH)
    expect(await grown()).toEqual([1, 1])
  })

  test('many under keys of their own keep their order', async () => {
    const sent = Array.from({ length: 50 }, (_, at) =>
      one.bench.sendEvent({ contextId: near, event: at === 49 ? 'finish' : 'tick', eventId: `o${at}` }),
    )
    const answers = await Promise.all(sent)
    expect(answers.at(-1)?.transitions).toEqual([{ contextId: near, state: 'end' }])
    expect((await grown())[0]).toBe(50)
  })
})

test('another start under the key of one that is under way elsewhere is told so', async () => {
  const [one, two] = [await open(), await open()]
  for (let round = 0; round < 8; round += 1) {
    const key = `slow-${round}`
    let goOn = quiet
    let isHeld = false
    const hold = async (commit: Commit, { writes }: CommitRequest) => {
      if (writes.length > 0) {
        isHeld = true
        await new Promise<void>((resolve) => {
          goOn = resolve
        })
      } else one.fate.next.push(hold)
      return commit()
    }
    one.fate.next.push(hold)
    const before = one.fate.commits
    const slow = startRandom(one, key)
    await expect.poll(() => isHeld).toBe(true)
    const isClaimed = one.fate.commits - before > 1
    if (isClaimed) {
      // Its own key may lie in the same partition by chance.
      const second = await startRandom(two, key).catch((error: unknown) => error)
      if (second instanceof Error) expect(second).toMatchObject(IN_PROGRESS)
    }
    goOn()
    const { contextId } = await slow
    expect((await startRandom(two, key)).contextId).toBe(contextId)
    expect(await randoms(one)).toBe(round + 1)
  }
})
