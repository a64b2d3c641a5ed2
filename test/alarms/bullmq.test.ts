// The alarm clock on BullMQ, in real time on a real Redis: never early, and soon enough whatever becomes of the jobs.
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterEach, describe, expect, inject, test } from 'vitest'
import { bullAlarm } from '../../src/alarms/bullmq.ts'
import { systemClock } from '../../src/alarms/clock.ts'
import type { AlarmClock } from '../../src/ports/alarm-clock.ts'
import { connect, explore } from '../../src/store/redis/connection.ts'
import { startRedis, startRedisCluster } from '../support/redis.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

interface Rung { readonly alarm: AlarmClock; readonly rings: number[]; readonly logged: string[]; readonly namespace: string }

/** An alarm that notes when it rang; `answer` is what a ring resolves with. */
async function openAlarm({ url = inject('redisUrl'), namespace = `test-${randomUUID()}`, answer = async (): Promise<number | null> => null, start = true } = {}): Promise<Rung> {
  const [rings, logged]: [number[], string[]] = [[], []]
  const tell = (message: string) => void logged.push(message)
  const address = await explore(url)
  const alarm = bullAlarm({ connect: (role) => connect(address, role), namespace, clock: systemClock, log: { trace: tell, debug: tell, info: tell, warn: tell, error: tell } })
  closing.push(() => alarm.close())
  if (start) {
    alarm.start(async () => {
      rings.push(systemClock.now())
      return answer()
    })
    await expect.poll(() => rings.length).toBe(1)
    rings.length = 0
  }
  return { alarm, rings, logged, namespace }
}

async function keysOf(url: string, namespace: string): Promise<string[]> {
  const redis = new Redis(url)
  const keys = await redis.keys(`*{af:${namespace}:alarms}*`)
  redis.disconnect()
  return keys
}

const sleep = (milliseconds: number) => new Promise((resolve) => { setTimeout(resolve, milliseconds) })
/** Milliseconds that a ring may be late on a busy machine. The sweep is later than this. */
const LATE = 2_000

describe('the alarm clock on BullMQ', () => {
  test('rings at the time, and not before', async () => {
    const { alarm, rings } = await openAlarm()
    const due = systemClock.now() + 700
    alarm.set(due)
    await expect.poll(() => rings.length, { timeout: LATE }).toBe(1)
    expect(rings[0]).toBeGreaterThanOrEqual(due)
  })

  test('rings once for times that are close together, whichever way they are set', async () => {
    const { alarm, rings } = await openAlarm()
    const bucket = Math.ceil((systemClock.now() + 500) / 100) * 100
    for (let turn = 0; turn < 1000; turn += 1) alarm.set(bucket - turn % 100)
    await expect.poll(() => rings.length, { timeout: LATE }).toBe(1)
    await sleep(500)
    expect(rings).toHaveLength(1)
  })

  test('rings for each of many times, soon after it', async () => {
    const { alarm, rings } = await openAlarm()
    const now = systemClock.now()
    const dues = Array.from({ length: 20 }, (_, index) => now + 200 + index * 117)
    for (const due of dues) alarm.set(due)
    await sleep(dues.length * 117 + 200)
    await expect.poll(() => rings.at(-1) ?? 0, { timeout: LATE }).toBeGreaterThanOrEqual(dues.at(-1) ?? 0)
    const lateness = dues.map((due) => (rings.find((ring) => ring >= due) ?? Infinity) - due)
    expect(Math.max(...lateness)).toBeLessThan(LATE)
  })

  test('rings for a time that has passed, at once', async () => {
    const { alarm, rings } = await openAlarm()
    alarm.set(0)
    await expect.poll(() => rings.length, { timeout: LATE }).toBe(1)
  })

  test('goes on with what a ring tells of the next', async () => {
    const next = systemClock.now() + 600
    let answer: number | null = next
    const { rings } = await openAlarm({ answer: async () => {
      const told = answer
      answer = null
      return told
    } })
    await expect.poll(() => rings.length, { timeout: LATE + 600 }).toBe(1)
    expect(rings[0]).toBeGreaterThanOrEqual(next)
  })

  test('never rings twice at once, and misses nothing that is set meanwhile', async () => {
    let [running, most] = [0, 0]
    const { alarm, rings } = await openAlarm({ answer: async () => {
      running += 1
      most = Math.max(most, running)
      await sleep(400)
      running -= 1
      return null
    } })
    alarm.set(0)
    await expect.poll(() => rings.length, { timeout: LATE }).toBe(1)
    const set = systemClock.now()
    for (const due of [0, set + 50, set + 150, set + 250]) alarm.set(due)
    await expect.poll(() => rings.at(-1) ?? 0, { timeout: LATE * 2 }).toBeGreaterThanOrEqual(set + 250)
    expect(most).toBe(1)
  })

  test('tries again when a ring failed', async () => {
    let failures = 1
    const { alarm, rings, logged } = await openAlarm({ answer: async () => {
      if (rings.length === 1 && failures-- > 0) throw new Error('the store is away')
      return null
    } })
    alarm.set(0)
    await expect.poll(() => rings.length, { timeout: LATE * 2 }).toBe(2)
    expect(logged).toContain('looking for due contexts failed')
  })

  test('rings on any of several servers, and for each namespace apart', async () => {
    const [one, other] = [await openAlarm(), await openAlarm()]
    const same = await openAlarm({ namespace: one.namespace })
    const due = systemClock.now() + 500
    one.alarm.set(due)
    same.alarm.set(due)
    await expect.poll(() => one.rings.length + same.rings.length, { timeout: LATE }).toBeGreaterThanOrEqual(1)
    await sleep(300)
    for (const ring of [...one.rings, ...same.rings]) expect(ring).toBeGreaterThanOrEqual(due)
    expect(other.rings).toEqual([])
  })

  test('keeps no jobs and few events', async () => {
    const { alarm, namespace, rings } = await openAlarm()
    const begun = systemClock.now()
    for (let index = 0; index < 10; index += 1) alarm.set(begun + 100 * index)
    await expect.poll(() => rings.at(-1) ?? 0, { timeout: LATE * 2 }).toBeGreaterThanOrEqual(begun + 900)
    await sleep(300)
    const redis = new Redis(inject('redisUrl'))
    const keys = await keysOf(inject('redisUrl'), namespace)
    expect(keys.filter((key) => /:\d+-[0-9a-f]+$/.test(key))).toEqual([])
    const prefix = `{af:${namespace}:alarms}:rings`
    expect(await redis.zcard(`${prefix}:delayed`) + await redis.zcard(`${prefix}:completed`)).toBe(0)
    redis.disconnect()
  })

  test('looks by itself when all keys of BullMQ are gone', async () => {
    const { alarm, rings, namespace } = await openAlarm()
    const due = systemClock.now() + 1000
    alarm.set(due)
    await sleep(100)
    const keys = await keysOf(inject('redisUrl'), namespace)
    expect(keys.length).toBeGreaterThan(0)
    const redis = new Redis(inject('redisUrl'))
    await redis.del(...keys)
    await expect.poll(() => rings.at(-1) ?? 0, { timeout: 8000 }).toBeGreaterThanOrEqual(due)
    // And BullMQ works again.
    rings.length = 0
    const again = systemClock.now() + 300
    alarm.set(again)
    await expect.poll(() => rings.at(-1) ?? 0, { timeout: 8000 }).toBeGreaterThanOrEqual(again)
    redis.disconnect()
  })

  test('works again when Redis was killed and is back, and closes in time while it is away', async () => {
    const redis = await startRedis()
    closing.push(() => redis.close())
    const { alarm, rings } = await openAlarm({ url: redis.url })
    await redis.signal('SIGKILL')
    alarm.set(systemClock.now() + 100)
    await sleep(1000)
    await redis.start()
    rings.length = 0
    await sleep(1500)
    const due = systemClock.now() + 300
    alarm.set(due)
    await expect.poll(() => rings.at(-1) ?? 0, { timeout: 8000 }).toBeGreaterThanOrEqual(due)
    await redis.signal('SIGKILL')
    const begun = performance.now()
    await alarm.close()
    expect(performance.now() - begun).toBeLessThan(4000)
  })

  test('is silent once it is closed', async () => {
    const { alarm, rings } = await openAlarm()
    alarm.set(systemClock.now() + 200)
    await alarm.close()
    await sleep(500)
    expect(rings).toEqual([])
  })

  test('may be closed before it was started', async () => {
    const { alarm } = await openAlarm({ start: false })
    await alarm.close()
  })

  test('rings on a cluster', async () => {
    const cluster = await startRedisCluster()
    closing.push(() => cluster.close())
    const { alarm, rings } = await openAlarm({ url: cluster.url })
    const due = systemClock.now() + 500
    alarm.set(due)
    await expect.poll(() => rings.length, { timeout: LATE }).toBe(1)
    expect(rings[0]).toBeGreaterThanOrEqual(due)
  })
})
