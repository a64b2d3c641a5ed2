// The alarm clock on BullMQ, in real time on a real Redis: never early, and soon enough whatever becomes of the jobs.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { BullAlarm } from '../../src/alarms/bullmq.ts'
import { systemClock } from '../../src/alarms/clock.ts'
import type { AlarmClock, Clock } from '../../src/ports/clock.ts'
import { connect, explore } from '../../src/store/redis/connection.ts'
import { startRedis, startRedisCluster } from '../support/redis.ts'

/** Milliseconds that anything may take on a busy machine. */
const LATE = { timeout: 20_000, interval: 10 }

/**
 * The time of a store, that may differ from the machine's. What a server does by itself every few seconds, it does when
 * a test says so: all else are jobs.
 */
class StoreClock implements Clock {
  offset: number
  #sweep = (): void => {}

  constructor(offset = 0) {
    this.offset = offset
  }

  now(): number {
    return Date.now() + this.offset
  }

  after(milliseconds: number, callback: () => void): () => void {
    if (milliseconds < 4_000) return systemClock.after(milliseconds, callback)
    this.#sweep = callback
    return () => {
      this.#sweep = () => {}
    }
  }

  sweep(): void {
    this.#sweep()
  }
}

interface Server {
  readonly alarm: AlarmClock
  readonly clock: StoreClock
  /** When each ring began, by the store's clock; without the one at the start. */
  readonly rings: number[]
  readonly logged: string[]
  readonly namespace: string
  /** To Redis, all that it made. */
  readonly connections: readonly { readonly status: string }[]
  start(): Promise<void>
}

interface Facts {
  readonly url?: string
  readonly namespace?: string
  readonly clock?: StoreClock
  /** What a ring resolves with. */
  readonly answer?: () => Promise<number | null>
}

type OnEnd = (end: () => Promise<void>) => void

let redis: Redis
beforeAll(() => {
  redis = new Redis(inject('redisUrl'))
})
afterAll(() => redis.disconnect())

async function openServer(
  onEnd: OnEnd,
  {
    url = inject('redisUrl'),
    namespace = `test-${randomUUID()}`,
    clock = new StoreClock(),
    answer = async () => null,
  }: Facts = {},
): Promise<Server> {
  const [rings, logged]: [number[], string[]] = [[], []]
  const tell = (message: string) => void logged.push(message)
  const address = await explore(url)
  const connections: ReturnType<typeof connect>[] = []
  const connectAs = (role: 'queue' | 'worker') => {
    const made = connect(address, role)
    connections.push(made)
    return made
  }
  const alarm = new BullAlarm({
    connect: connectAs,
    namespace,
    clock,
    log: { trace: tell, debug: tell, info: tell, warn: tell, error: tell },
  })
  onEnd(() => alarm.close())
  const start = async () => {
    let first = true
    alarm.start(async () => {
      rings.push(clock.now())
      if (!first) return answer()
      first = false
      return null
    })
    await vi.waitFor(() => expect(rings).toHaveLength(1), LATE)
    await sleep(0)
    rings.length = 0
  }
  return { alarm, clock, rings, logged, namespace, connections, start }
}

async function startServer(onEnd: OnEnd, facts?: Facts): Promise<Server> {
  const server = await openServer(onEnd, facts)
  await server.start()
  return server
}

const keyOf = (namespace: string, name: string) => `{af:${namespace}:alarms}:rings:${name}`
const jobsOf = async (namespace: string) =>
  (await redis.keys(keyOf(namespace, '*'))).filter((key) => /:\d+-[^:]+$/.test(key))
const bucketOf = (due: number) => Math.ceil(due / 100) * 100

async function deleteKeys(namespace: string): Promise<void> {
  const keys = await redis.keys(keyOf(namespace, '*'))
  expect(keys.length).toBeGreaterThan(0)
  await redis.del(...keys)
}

/**
 * A server rings once for a bucket and never before it: so many rings can only have begun when so many buckets had
 * come.
 */
function expectNoneEarly(rings: readonly number[], dues: readonly number[]): void {
  const buckets = [...new Set(dues.map(bucketOf))].sort((one, other) => one - other)
  for (const [index, ring] of rings.entries()) expect(ring).toBeGreaterThanOrEqual(buckets[index] ?? Infinity)
}

describe.concurrent('the alarm clock on BullMQ', () => {
  test('looks once when it starts', async ({ expect, onTestFinished }) => {
    const { rings } = await startServer(onTestFinished)
    await sleep(300)
    expect(rings).toEqual([])
  })

  test('rings for each of many times, soon after it and never before', async ({ expect, onTestFinished }) => {
    const { alarm, clock, rings } = await startServer(onTestFinished)
    const dues = Array.from({ length: 40 }, () => clock.now() + 200 + Math.random() * 2000)
    for (const due of dues) alarm.set(due)
    const last = Math.max(...dues)
    await expect.poll(() => rings.at(-1), LATE).toBeGreaterThanOrEqual(last)
    expectNoneEarly(rings, dues)
    for (const due of dues) expect(Math.min(...rings.filter((ring) => ring >= due)) - due).toBeLessThan(2000)
  })

  test('has one job for times that are close together, however often they are set', async ({
    expect,
    onTestFinished,
  }) => {
    const { alarm, clock, rings, namespace } = await startServer(onTestFinished)
    const bucket = bucketOf(clock.now() + 1000)
    for (let turn = 0; turn < 10_000; turn += 1) alarm.set(bucket - (turn % 100))
    await expect.poll(() => jobsOf(namespace), LATE).toHaveLength(1)
    await expect.poll(() => rings.length, LATE).toBe(1)
    await sleep(300)
    expect(rings).toHaveLength(1)
    // BullMQ was asked once.
    expect(await redis.get(keyOf(namespace, 'id'))).toBe('1')
  })

  test('rings at once for a time that is past', async ({ expect, onTestFinished }) => {
    const { alarm, rings } = await startServer(onTestFinished)
    alarm.set(0)
    await expect.poll(() => rings.length, LATE).toBe(1)
  })

  test('rings for what was set before it started', async ({ expect, onTestFinished }) => {
    const { alarm, clock, rings, start } = await openServer(onTestFinished)
    const due = clock.now() + 700
    alarm.set(due)
    await start()
    await expect.poll(() => rings.length, LATE).toBe(1)
    expectNoneEarly(rings, [due])
  })

  test('has no job for what is due much later, and gets to it by looking now and then', async ({
    expect,
    onTestFinished,
  }) => {
    let due = 0
    const { alarm, clock, rings, namespace } = await startServer(onTestFinished, {
      answer: async () => (due > clock.now() ? due : null),
    })
    due = clock.now() + 3_600_000
    alarm.set(due)
    clock.sweep()
    await sleep(300)
    expect(await jobsOf(namespace)).toEqual([])
    clock.offset = 3_599_000
    clock.sweep()
    await expect.poll(() => rings.length, LATE).toBe(3)
    expect(rings.at(-1)).toBeGreaterThanOrEqual(due)
  })

  test('goes on with what each ring tells of the next', async ({ expect, onTestFinished }) => {
    const begun = Date.now()
    const dues = [700, 1100, 1250].map((due) => begun + due)
    const { clock, rings } = await startServer(onTestFinished, {
      answer: async () => dues.find((due) => due > clock.now()) ?? null,
    })
    clock.sweep()
    await expect.poll(() => rings.at(-1), LATE).toBeGreaterThanOrEqual(begun + 1250)
    expectNoneEarly(rings.slice(1), dues)
  })

  test('never rings twice at once, and misses nothing that is set meanwhile', async ({ expect, onTestFinished }) => {
    let [running, most] = [0, 0]
    const { alarm, clock, rings } = await startServer(onTestFinished, {
      answer: async () => {
        running += 1
        most = Math.max(most, running)
        await sleep(500)
        running -= 1
        return null
      },
    })
    clock.sweep()
    const begun = clock.now()
    const dues = [-1000, 0, 50, 150, 250].map((due) => begun + due)
    for (const due of dues) alarm.set(due)
    await expect.poll(() => rings.at(-1), LATE).toBeGreaterThanOrEqual(Math.max(...dues))
    await sleep(1200)
    expect(most).toBe(1)
    // The one under way, and one that begins when all of them are due.
    expect(rings.length).toBeLessThanOrEqual(3)
  })

  test('tries again when a ring failed, also when it throws at once, and says so', async ({
    expect,
    onTestFinished,
  }) => {
    const errors: (() => Promise<null>)[] = [
      () => Promise.reject(new Error('the store is away')),
      () => {
        throw new Error('still')
      },
    ]
    const { alarm, rings, logged } = await startServer(onTestFinished, {
      answer: () => errors.shift()?.() ?? Promise.resolve(null),
    })
    alarm.set(0)
    await expect.poll(() => rings.length, LATE).toBe(3)
    await sleep(1200)
    expect(rings).toHaveLength(3)
    expect(logged).toEqual(['looking for due contexts failed'])
  })

  test('rings on any of several servers, and in each namespace apart', async ({ expect, onTestFinished }) => {
    const [one, other] = [await startServer(onTestFinished), await startServer(onTestFinished)]
    const same = await startServer(onTestFinished, { namespace: one.namespace })
    const dues = Array.from({ length: 20 }, (_, index) => Date.now() + 300 + index * 71)
    for (const [index, due] of dues.entries()) (index % 3 === 0 ? one : same).alarm.set(due)
    const rings = () => [...one.rings, ...same.rings]
    await expect.poll(() => Math.max(...rings()), LATE).toBeGreaterThanOrEqual(Math.max(...dues))
    for (const server of [one, same]) expectNoneEarly(server.rings, dues)
    expect(other.rings).toEqual([])
  })

  test('rings once for what several servers have set', async ({ expect, onTestFinished }) => {
    const one = await startServer(onTestFinished)
    const others = [
      await openServer(onTestFinished, { namespace: one.namespace }),
      await openServer(onTestFinished, { namespace: one.namespace }),
    ]
    const due = one.clock.now() + 700
    for (const { alarm } of [one, ...others]) alarm.set(due)
    await expect.poll(() => jobsOf(one.namespace), LATE).toHaveLength(3)
    await expect.poll(() => jobsOf(one.namespace), LATE).toHaveLength(0)
    expect(one.rings).toHaveLength(1)
  })

  test('keeps no jobs, and few events', async ({ expect, onTestFinished }) => {
    const { alarm, clock, rings, namespace } = await startServer(onTestFinished)
    const now = clock.now()
    for (let index = 0; index < 290; index += 1) alarm.set(now + index * 100)
    await expect.poll(() => redis.zcard(keyOf(namespace, 'delayed')), LATE).toBeGreaterThan(250)
    await expect.poll(() => rings.length, LATE).toBeGreaterThan(5)
    expect(await redis.xlen(keyOf(namespace, 'events'))).toBeLessThan(250)
    const rung = rings.at(-1) ?? 0
    const kept = async () => (await jobsOf(namespace)).filter((key) => Number(/:(\d+)-[^:]+$/.exec(key)?.[1]) <= rung)
    await expect.poll(kept, LATE).toEqual([])
    await deleteKeys(namespace)
  })

  test('finds what is due without any job, and BullMQ goes on when its keys were deleted', async ({
    expect,
    onTestFinished,
  }) => {
    const { alarm, clock, rings, namespace } = await startServer(onTestFinished)
    const due = clock.now() + 3000
    alarm.set(due)
    await expect.poll(() => jobsOf(namespace), LATE).toHaveLength(1)
    await deleteKeys(namespace)
    await sleep(due + 400 - clock.now())
    expect(rings).toEqual([])
    clock.sweep()
    await expect.poll(() => rings.length, LATE).toBe(1)
    alarm.set(clock.now() + 300)
    // BullMQ may take until its next look at an empty queue, after 5 seconds.
    await expect.poll(() => rings.length, { timeout: 10_000 }).toBe(2)
  })

  test('looks by itself every few seconds', async ({ expect, onTestFinished }) => {
    const { clock, rings } = await startServer(onTestFinished)
    const slept: number[] = []
    const { after } = clock
    clock.after = (milliseconds, callback) => {
      slept.push(milliseconds)
      return after.call(clock, milliseconds, callback)
    }
    for (let turn = 1; turn <= 30; turn += 1) {
      clock.sweep()
      await expect.poll(() => slept.length, LATE).toBe(turn)
    }
    expect(rings).toHaveLength(30)
    expect(Math.min(...slept)).toBeGreaterThanOrEqual(4500)
    expect(Math.max(...slept)).toBeLessThanOrEqual(5500)
    expect(new Set(slept).size).toBeGreaterThan(20)
  })

  test.for([-5000, 5000])(
    "rings at the store's time when that is %i ms from the machine's",
    async (offset, { expect, onTestFinished }) => {
      const { alarm, clock, rings } = await startServer(onTestFinished, { clock: new StoreClock(offset) })
      const due = clock.now() + 700
      alarm.set(due)
      await expect.poll(() => rings.length, LATE).toBe(1)
      expectNoneEarly(rings, [due])
      expect((rings[0] ?? 0) - due).toBeLessThan(2500)
    },
  )

  test('rings in time for a server whose machine is ahead', async ({ expect, onTestFinished }) => {
    const { alarm, clock, rings } = await startServer(onTestFinished)
    const due = clock.now() + 700
    clock.offset = -5000
    const ahead = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 5000)
    alarm.set(due)
    ahead.mockRestore()
    clock.offset = 0
    await expect.poll(() => rings.length, LATE).toBe(1)
    expectNoneEarly(rings, [due])
    expect((rings[0] ?? 0) - due).toBeLessThan(2500)
  })

  test("goes on ringing when the store's clock was put back", async ({ expect, onTestFinished }) => {
    const { alarm, clock, rings } = await startServer(onTestFinished)
    clock.offset = -3_600_000
    clock.sweep()
    await expect.poll(() => rings.length, LATE).toBe(1)
    alarm.set(clock.now() + 200)
    await expect.poll(() => rings.length, LATE).toBe(2)
  })

  test('hands what it was to ring for on to others when it closes', async ({ expect, onTestFinished }) => {
    // The machine's clock is ahead: the job comes well before its time.
    const leaver = await startServer(onTestFinished, { clock: new StoreClock(-1500) })
    const due = leaver.clock.now() + 2200
    leaver.alarm.set(due)
    await expect.poll(() => redis.llen(keyOf(leaver.namespace, 'active')), LATE).toBe(1)
    const stayer = await startServer(onTestFinished, { clock: new StoreClock(-1500), namespace: leaver.namespace })
    await leaver.alarm.close()
    await expect.poll(() => stayer.rings.length, LATE).toBe(1)
    expect(stayer.rings[0]).toBeGreaterThanOrEqual(due)
    expect(leaver.rings).toEqual([])
  })

  test('waits for a ring under way when it closes, and is silent then', async ({ expect, onTestFinished }) => {
    const finish: (() => void)[] = []
    const { alarm, clock, rings, logged } = await startServer(onTestFinished, {
      answer: () =>
        new Promise((resolve) => {
          finish.push(() => resolve(null))
        }),
    })
    alarm.set(clock.now() + 400)
    clock.sweep()
    let closed = false
    const done = alarm.close().finally(() => {
      closed = true
    })
    await sleep(700)
    expect(closed).toBe(false)
    finish[0]?.()
    await done
    alarm.set(clock.now())
    clock.sweep()
    await sleep(300)
    expect([rings.length, logged]).toEqual([1, []])
  })

  test('may be closed before it was started: it lets go of Redis at once, and what was set is left to others', async ({
    expect,
    onTestFinished,
  }) => {
    const { alarm, clock, namespace, connections, logged } = await openServer(onTestFinished)
    alarm.set(clock.now() + 20_000)
    await expect.poll(() => jobsOf(namespace), LATE).toHaveLength(1)
    const begun = performance.now()
    await alarm.close()
    expect(performance.now() - begun).toBeLessThan(1500)
    await expect.poll(() => connections.map(({ status }) => status), LATE).toEqual(['end'])
    alarm.set(clock.now() + 25_000)
    await sleep(200)
    expect(await jobsOf(namespace)).toHaveLength(1)
    expect(logged).toEqual([])
    await deleteKeys(namespace)
  })

  test('works again when Redis was killed and is back, and closes while it is away', async ({
    expect,
    onTestFinished,
  }) => {
    const server = await startRedis()
    onTestFinished(() => server.close())
    const { alarm, clock, rings, logged } = await startServer(onTestFinished, { url: server.url })
    alarm.set(0)
    await expect.poll(() => rings.length, LATE).toBe(1)
    await server.signal('SIGKILL')
    const away = clock.now()
    for (let turn = 0; turn < 50; turn += 1) {
      alarm.set(away + 25_000)
      await sleep(10)
    }
    expect(logged).toHaveLength(1)
    await server.start()
    // What failed can be set again, however long Redis took to come back.
    const guest = new Redis(server.url)
    onTestFinished(() => guest.disconnect())
    const delayed = () => {
      alarm.set(away + 25_000)
      return guest.keys('*:rings:delayed')
    }
    await expect.poll(delayed, LATE).toHaveLength(1)
    const due = clock.now() + 500
    alarm.set(due)
    await expect.poll(() => rings.length, LATE).toBe(2)
    expectNoneEarly(rings.slice(1), [due])
    guest.disconnect()
    await server.signal('SIGKILL')
    await sleep(100)
    const begun = performance.now()
    await alarm.close()
    expect(performance.now() - begun).toBeLessThan(1500)
    // And nobody of it comes back.
    await server.start()
    await sleep(1500)
    const last = new Redis(server.url)
    expect(
      String(await last.client('LIST'))
        .trim()
        .split('\n'),
    ).toHaveLength(1)
    last.disconnect()
  })

  test('rings on a cluster, and its keys are in one slot', async ({ expect, onTestFinished }) => {
    const cluster = await startRedisCluster()
    onTestFinished(() => cluster.close())
    const { alarm, clock, rings } = await startServer(onTestFinished, { url: cluster.url })
    const dues = Array.from({ length: 10 }, (_, index) => clock.now() + 300 + index * 117)
    for (const due of dues) alarm.set(due)
    await expect.poll(() => rings.at(-1), LATE).toBeGreaterThanOrEqual(Math.max(...dues))
    expectNoneEarly(rings, dues)
    await alarm.close()
  })
})
