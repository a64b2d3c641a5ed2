// The webhooks that contexts owe when they have ended: when they are sent, how often, by whom, and what holds up whom.
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { inDoubt, unavailable } from '../../src/model/failure.ts'
import type { OutgoingWebhook, SendOutcome } from '../../src/ports/steps.ts'
import type { Bench, Files } from '../support/engine.ts'
import { held } from '../support/held.ts'
import { withVerbs } from '../support/stores.ts'
import {
  BEAT_MS,
  dueIn,
  eventually,
  haveLeft,
  KEY,
  never,
  ON_END,
  openWorld,
  Receiver,
  STORES,
  TAKEN_OVER_MS,
  type EndsWorld,
} from './ends-bench.ts'

const LOST = 'a webhook at the end of a context is lost: what was to be sent is missing'
const END = { onEnd: ON_END, states: [{ name: 'end' }] }
const FILES: Files = {
  'p/Done.flux': END,
  'p/Slow.flux': END,
  ...Object.fromEntries(Array.from({ length: 8 }, (_, nr) => [`p/Many${nr}.flux`, END])),
  'p/Large.flux': {
    ...END,
    input: [{ name: 'text' }],
    output: [{ name: 'text' }],
    states: [{ name: 'end', action: { type: 'map', lines: [{ from: ['text'], to: ['text'] }] } }],
  },
}
const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1000, 60_000, 3_600_000]
const DELAYS_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
]
const MAX_SENDING = { all: 256, lane: 32 }
const failing = (): SendOutcome => ({ ok: false, reason: 'the receiver answered 500' })
const GIVEN_UP = 'a webhook at the end of a context is given up'
const reasons = ({ logged }: Bench, message: string) =>
  logged.flatMap((line) => (line.message === message ? [line.fields] : []))

/** Waits until that many attempts have failed, gives the milliseconds until the next, and lets them pass. */
async function pause(world: EndsWorld, bench: Bench, attempts: number): Promise<number> {
  const message = 'a webhook at the end of a context was not accepted; it will be sent again'
  await eventually(() => expect(reasons(bench, message)).toHaveLength(attempts))
  await eventually(async () => {
    const [row] = await world.store.listRows({ space: 'ends', prefix: 'due:', limit: 1 })
    expect(JSON.parse(row?.value ?? '{}')).toMatchObject({ attempts })
  })
  const ms = await dueIn(world)
  world.clock.jump(ms - 1)
  await bench.advance(0)
  expect(reasons(bench, message)).toHaveLength(attempts)
  await bench.advance(1)
  return ms
}

const isSlow = ({ body }: OutgoingWebhook) => body.includes('"Slow"')

describe.each(STORES)('on the %s store', (kind) => {
  test('a receiver that fails gets it again on the schedule, under one id, until it is given up', async () => {
    const world = await openWorld(kind, FILES)
    const receiver = new Receiver()
    receiver.answer = failing
    const bench = await world.open(receiver)
    const contextId = await bench.run('Done')
    for (const [nr, delay] of DELAYS_MS.entries()) {
      const ms = await pause(world, bench, nr + 1)
      expect(ms).toBeGreaterThanOrEqual(delay * 0.9)
      expect(ms).toBeLessThanOrEqual(delay * 1.1 + 1)
      await receiver.has(nr + 2)
    }
    await haveLeft(world, 0)
    expect(reasons(bench, GIVEN_UP)).toMatchObject([
      { contextId, package: 'p', fluxName: 'Done', attempt: 10, reason: 'the receiver answered 500' },
    ])
    expect(new Set(receiver.came.map(({ id }) => id)).size).toBe(1)
    expect(await bench.getContext({ contextId })).toMatchObject({ status: 'COMPLETED' })
    world.clock.jump(100 * HOUR_MS)
    await bench.advance(0)
    expect(receiver.came).toHaveLength(10)
  })

  test('Retry-After puts the next attempt off, and 410 ends it', async () => {
    const world = await openWorld(kind, FILES)
    const receiver = new Receiver()
    const answers = [90_000, 1, null].map((afterMs): SendOutcome => ({ ok: false, reason: 'no', hint: { afterMs } }))
    receiver.answer = () => answers[receiver.came.length - 1] ?? failing()
    const bench = await world.open(receiver)
    await bench.run('Done')
    expect(await pause(world, bench, 1)).toBe(90_000)
    expect(await pause(world, bench, 2)).toBeGreaterThan(4 * MINUTE_MS)
    await haveLeft(world, 0)
    expect(receiver.came).toHaveLength(3)
    expect(reasons(bench, GIVEN_UP)).toHaveLength(1)
  })

  test('without its secret it waits for the next attempt', async () => {
    const world = await openWorld(kind, FILES)
    const receiver = new Receiver()
    const bench = await world.open(receiver)
    delete world.secrets['HOOK']
    await bench.run('Done')
    await eventually(() => expect(JSON.stringify(bench.logged)).toContain('there is no secret HOOK'))
    world.secrets['HOOK'] = KEY
    await pause(world, bench, 1)
    await receiver.has(1)
    await haveLeft(world, 0)
  })

  test('what a server leaves behind that dies, the next one sends, under the same id', async () => {
    const world = await openWorld(kind, FILES)
    const [dead, alive] = [new Receiver(), new Receiver()]
    dead.answer = never
    const bench = await world.open(dead)
    // One is being sent, another one is committed when the server can do nothing any more.
    await bench.run('Done')
    await dead.has(1)
    const silent = withVerbs(world.store, {
      close: () => Promise.resolve(),
      listRows: () => Promise.reject(unavailable('dead')),
    })
    await (await world.open(new Receiver(), { store: silent })).run('Done')
    expect(await world.owed()).toBe(2)
    const next = await world.open(alive)
    await eventually(async () => {
      if (kind === 'Redis') await world.clock.advance(BEAT_MS / 2)
      expect(alive.came).toHaveLength(kind === 'Redis' ? 1 : 2)
    })
    if (kind === 'Redis') expect(alive.came.map(({ id }) => id)).not.toContain(dead.came[0]?.id)
    expect(next.logged.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('a server that stops gives those that are being sent some time, and the others remain owed', async () => {
    const world = await openWorld(kind, FILES)
    const [first, second] = [new Receiver(), new Receiver()]
    const answered = held<SendOutcome>()
    first.answer = (webhook) => (first.came.length === 1 ? answered.promise : never(webhook))
    const bench = await world.open(first)
    await Promise.all([bench.run('Done'), bench.run('Done')])
    await first.has(2)
    let isClosed = false
    const close = async () => {
      await bench.engine.close({ grace: 10_000 })
      isClosed = true
    }
    const closing = close()
    answered.release({ ok: true })
    await haveLeft(world, 1)
    await world.clock.advance(9_999)
    expect(isClosed).toBe(false)
    await eventually(async () => {
      await world.clock.advance(1)
      expect(isClosed).toBe(true)
    })
    await closing
    expect(await world.owed()).toBe(1)
    await world.open(second)
    await second.has(1)
    expect(second.came[0]?.id).toBe(first.came[1]?.id)
    await haveLeft(world, 0)
  })

  test('a receiver that never answers holds up its own service alone', async () => {
    const world = await openWorld(kind, FILES)
    const receiver = new Receiver()
    receiver.answer = (webhook) => (isSlow(webhook) ? never(webhook) : { ok: true })
    const bench = await world.open(receiver)
    await Promise.all(Array.from({ length: 100 }, () => bench.run('Slow')))
    await eventually(() => expect(receiver.came).toHaveLength(MAX_SENDING.lane))
    await Promise.all(Array.from({ length: 100 }, () => bench.run('Done')))
    await receiver.has(MAX_SENDING.lane + 100)
    await haveLeft(world, 100)
    expect(receiver.came.filter(isSlow)).toHaveLength(MAX_SENDING.lane)
  })

  test('so many are sent at once of all services, and the others follow, one for each that is answered', async () => {
    const world = await openWorld(kind, FILES)
    const receiver = new Receiver()
    const answers: ReturnType<typeof held<SendOutcome>>[] = []
    receiver.answer = (webhook) => {
      const answer = held<SendOutcome>()
      answers.push(answer)
      return Promise.race([answer.promise, never(webhook)])
    }
    const bench = await world.open(receiver)
    const each = MAX_SENDING.all / 8 - 1
    const runs = Array.from({ length: 8 * each }, (_, nr) => bench.run(`Many${nr % 8}`))
    await Promise.all(runs)
    await receiver.has(8 * each)
    await Promise.all(Array.from({ length: 20 }, () => bench.run('Done')))
    await receiver.has(MAX_SENDING.all)
    for (const answer of answers.slice(0, 3)) answer.release({ ok: true })
    await receiver.has(MAX_SENDING.all + 3)
    expect(receiver.came.slice(8 * each).every(({ body }) => body.includes('"Done"'))).toBe(true)
    for (let nr = 3; nr < 8 * each + 20; nr += 1) {
      await receiver.has(Math.min(MAX_SENDING.all + nr, 8 * each + 20))
      answers[nr]?.release({ ok: true })
    }
    await haveLeft(world, 0)
  })

  test('what cannot be stored is not sent again and again', async () => {
    const world = await openWorld(kind, FILES)
    const receiver = new Receiver()
    let isBroken = true
    const broken = withVerbs(world.store, {
      close: () => Promise.resolve(),
      commit: (request) =>
        isBroken && request.rows?.some(({ key, value }) => key.startsWith('webhook:') && value === null)
          ? Promise.reject(unavailable('broken'))
          : world.store.commit(request),
    })
    const bench = await world.open(receiver, { store: broken })
    await bench.run('Done')
    await eventually(() => expect(JSON.stringify(bench.logged)).toContain('could not be stored; trying again'))
    await bench.advance(3_000)
    expect(receiver.came).toHaveLength(1)
    isBroken = false
    await eventually(async () => {
      await bench.advance(1_000)
      expect(await world.owed()).toBe(0)
    })
    expect(receiver.came).toHaveLength(1)
  })

  test('one whose first commit is reported as unknown is sent all the same', async () => {
    const world = await openWorld(kind, FILES)
    const receiver = new Receiver()
    let isLost = false
    const store = withVerbs(world.store, {
      close: () => Promise.resolve(),
      async commit(request) {
        const outcome = await world.store.commit(request)
        if (isLost || !request.rows?.some(({ key, value }) => key.startsWith('run:') && value !== null)) return outcome
        isLost = true
        throw inDoubt('the answer was lost')
      },
    })
    const bench = await world.open(receiver, { store })
    await bench.run('Done')
    await eventually(async () => {
      await bench.advance(SECOND_MS)
      expect(receiver.came).toHaveLength(1)
    })
    expect(isLost).toBe(true)
    await haveLeft(world, 0)
  })

  test('a damaged row holds up no other, and is told of once', async () => {
    const world = await openWorld(kind, FILES)
    const receiver = new Receiver()
    receiver.answer = failing
    const first = await world.open(receiver)
    await first.run('Done')
    await receiver.has(1)
    await eventually(async () => expect(await dueIn(world)).toBeGreaterThan(0))
    await first.engine.close({ grace: 0 })
    const [row] = await world.store.listRows({ space: 'ends', prefix: 'due:', limit: 1 })
    const lane = row?.key.split(':')[1]
    const damaged = { partition: 0, space: 'ends', key: `due:${lane}:000000000000001:3`, value: '{"att' } as const
    await world.store.commit({ writes: [], rows: [{ ...damaged, expiresAt: null }] })
    receiver.answer = () => ({ ok: true })
    const bench = await world.open(receiver)
    await bench.run('Done')
    await receiver.has(2)
    // The damaged row stays: half of what is owed.
    await haveLeft(world, 1.5)
    await bench.advance(10 * SECOND_MS)
    await receiver.has(3)
    await haveLeft(world, 0.5)
    expect(bench.logged.filter(({ message }) => message.includes("in 'ends' can't be read"))).toHaveLength(1)
  })

  test('one of which nothing is left that could be sent is told of once, and owed no more', async () => {
    const world = await openWorld(kind, FILES)
    const receiver = new Receiver()
    receiver.answer = failing
    const bench = await world.open(receiver)
    const contextId = await bench.run('Done')
    await receiver.has(1)
    await eventually(async () => expect(await dueIn(world)).toBeGreaterThan(0))
    const [row] = await world.store.listRows({ space: 'ends', prefix: 'webhook:', limit: 1 })
    if (!row) throw new Error('it is owed')
    const gone = { partition: row.partition, space: 'ends', key: row.key, value: null, expiresAt: null } as const
    await world.store.commit({ writes: [], rows: [gone] })
    await bench.advance(10 * SECOND_MS)
    await eventually(async () => expect(await world.store.countRows({ space: 'ends' })).toBe(0))
    await bench.advance(10 * SECOND_MS)
    expect(receiver.came).toHaveLength(1)
    expect(reasons(bench, LOST)).toEqual([{ contextId }])
  })

  test('one that another server ends while it is read is not told to be lost', async () => {
    const world = await openWorld(kind, FILES)
    let ended = 0
    const store = withVerbs(world.store, {
      close: () => Promise.resolve(),
      async readRow(read) {
        if (read.key.startsWith('webhook:')) {
          const rows = await world.store.listRows({ space: 'ends', prefix: '', limit: 10 })
          await world.store.commit({
            writes: [],
            rows: rows.map((row) => ({ ...row, space: 'ends', value: null }) as const),
          })
          ended += rows.length
        }
        return world.store.readRow(read)
      },
    })
    const receiver = new Receiver()
    const bench = await world.open(receiver, { store })
    await bench.run('Done')
    await eventually(() => expect(ended).toBe(2))
    await bench.engine.close({ grace: 0 })
    expect([receiver.came, reasons(bench, LOST)]).toEqual([[], []])
  })

  test('large ones are sent few at a time, and come whole', async () => {
    const world = await openWorld(kind, FILES)
    const receiver = new Receiver()
    const answers: ReturnType<typeof held<SendOutcome>>[] = []
    receiver.answer = () => {
      const answer = held<SendOutcome>()
      answers.push(answer)
      return answer.promise
    }
    // A quarter of it is for webhooks: two of a megabyte do not fit.
    const bench = await world.open(receiver, { memory: { steps: 32 * 1024 * 1024 } })
    const text = 'ä'.repeat(1_000_000)
    await Promise.all([bench.run('Large', { text }), bench.run('Large', { text }), bench.run('Large', { text })])
    for (let nr = 1; nr <= 3; nr += 1) {
      await receiver.has(nr)
      answers[nr - 1]?.release({ ok: true })
      await haveLeft(world, 3 - nr)
    }
    expect(receiver.events.map(({ data }) => data['output'])).toEqual([{ text }, { text }, { text }])
  })
})

describe('two servers on one Redis', () => {
  test('send each once', async () => {
    const world = await openWorld('Redis', FILES)
    const receivers = [new Receiver(), new Receiver()]
    const benches = await Promise.all(receivers.map((receiver) => world.open(receiver)))
    const runs = Array.from({ length: 200 }, (_, nr) => benches[nr % 2]?.run('Done'))
    await Promise.all(runs)
    await haveLeft(world, 0)
    const ids = receivers.flatMap(({ came }) => came.map(({ id }) => id))
    expect(new Set(ids).size).toBe(200)
    expect(ids).toHaveLength(200)
  })

  test.each(['run:', 'webhook:'])(
    'one whose commit with a row %s is reported as unknown sends it once, and heeds the answer',
    async (prefix) => {
      const world = await openWorld('Redis', FILES)
      const receivers = [new Receiver(), new Receiver()] as const
      for (const receiver of receivers) receiver.answer = () => ({ ok: false, reason: 'gone', hint: { afterMs: null } })
      let isLost = false
      const store = withVerbs(world.store, {
        close: () => Promise.resolve(),
        async commit(request) {
          const outcome = await world.store.commit(request)
          const [first] = request.rows ?? []
          const isOfTask =
            request.writes.length === 0 && request.rows?.some(({ key }) => key.startsWith('run:')) === true
          if (isLost || !isOfTask || (prefix === 'webhook:') !== (first?.key.startsWith(prefix) === true))
            return outcome
          isLost = true
          throw inDoubt('the answer was lost')
        },
      })
      const bench = await world.open(receivers[0], { store })
      await world.open(receivers[1])
      await bench.run('Done')
      await eventually(() => expect(isLost).toBe(true))
      await eventually(async () => {
        await world.clock.advance(BEAT_MS / 2)
        expect(await world.owed()).toBe(0)
      })
      for (let ms = 0; ms < 2 * TAKEN_OVER_MS; ms += BEAT_MS / 2) await bench.advance(BEAT_MS / 2)
      expect(receivers.map(({ came }) => came.length)).toEqual([1, 0])
      expect(reasons(bench, GIVEN_UP)).toMatchObject([{ attempt: 1 }])
    },
  )

  test('one takes what the other was sending when it died, once it is known to be dead, and not before', async () => {
    const world = await openWorld('Redis', FILES)
    const [dying, other] = [new Receiver(), new Receiver()]
    const answered = held<SendOutcome>()
    dying.answer = () => answered.promise
    let [isDead, commits] = [false, 0]
    const mortal = withVerbs(world.store, {
      close: () => Promise.resolve(),
      commit(request) {
        commits += 1
        return isDead ? Promise.reject(unavailable('dead')) : world.store.commit(request)
      },
      heartbeat: (request) => (isDead ? Promise.reject(unavailable('dead')) : world.store.heartbeat(request)),
    })
    const bench = await world.open(dying, { store: mortal })
    await world.open(other)
    await bench.run('Done')
    await dying.has(1)
    // As long as it lives, the attempt is its own, and nothing is renewed.
    commits = 0
    for (let ms = 0; ms < 3 * TAKEN_OVER_MS; ms += BEAT_MS / 2) {
      await world.clock.advance(BEAT_MS / 2)
      await sleep(2)
    }
    expect([other.came, commits]).toEqual([[], 0])
    isDead = true
    for (let ms = 0; ms < TAKEN_OVER_MS; ms += BEAT_MS / 2) await bench.advance(BEAT_MS / 2)
    await other.has(1)
    expect(other.came[0]).toMatchObject({ id: dying.came[0]?.id, body: dying.came[0]?.body })
    await haveLeft(world, 0)
    // Back from the dead, the first one finds that it is not its own any more.
    isDead = false
    answered.release(failing())
    await bench.advance(TAKEN_OVER_MS)
    expect(await world.owed()).toBe(0)
  })
})
