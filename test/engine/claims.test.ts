// Slots, and the steps that wait for them: a free slot and a step of its kind always meet, although nobody asks again.
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { Admission } from '../../src/engine/turn/admission.ts'
import { Claims } from '../../src/engine/cluster/claims.ts'
import type { Recovery, StepShortage } from '../../src/engine/cluster/recovery.ts'
import { ByteBudget } from '../../src/model/byte-budget.ts'
import type { CommitFeed } from '../../src/ports/feeds.ts'
import type { AbandonedLease, Store } from '../../src/ports/store.ts'
import { Slots } from '../../src/model/slots.ts'
import { stepKeyOf } from '../../src/model/standstill.ts'
import { inDoubt, unavailable } from '../../src/model/failure.ts'
import { openBench } from '../support/engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { emptyStore, withVerbs } from '../support/stores.ts'
import { silent as log, SILENT_FEED } from '../support/silent.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

type TakeOver = Recovery['takeOver']
type Claim = Store['claimAbandoned']

/** Claims with the given slots. Takeovers are what the test makes of them; hints are those of other servers. */
function claimsOf({ slots, takeOver, claim = async () => [], bytes = 1000 }: Options) {
  const listeners: (() => void)[] = []
  const given = { hints: 0 }
  const feed: CommitFeed = {
    ...SILENT_FEED,
    notifyReady: () => {
      given.hints += 1
    },
    onReady: (listener) => listeners.push(listener),
  }
  const clock = new SimulatedClock()
  const budget = new ByteBudget({ bytes, what: 'steps' })
  const claims = new Claims({
    store: emptyStore({ claimAbandoned: claim }),
    servers: { own: 'here' },
    clock,
    log,
    slots,
    admission: new Admission({ slots, budget }),
    recovery: { takeOver },
    feed,
    gate: { isClosed: false },
  })
  return {
    claims,
    clock,
    given,
    budget,
    hint: () => {
      for (const listener of listeners) listener()
    },
  }
}

interface Options {
  readonly slots: Slots
  readonly takeOver: TakeOver
  readonly claim?: Claim
  readonly bytes?: number
}

describe('a step that becomes ready while its context is being taken', () => {
  test('is taken after that, though what was found there needed no slot', async () => {
    const slots = new Slots({ code: 1, isolated: 1 })
    const taken: AbandonedLease[] = []
    const found: (() => void)[] = []
    const { claims } = claimsOf({
      slots,
      takeOver: async (lease, slot) => {
        taken.push(lease)
        if (taken.length === 1) await new Promise<void>((resolve) => found.push(resolve))
        slot?.release()
        return null
      },
    })
    slots.tryTake('code')
    claims.ready(1, 'code')
    slots.release('code')
    await turn()
    expect(taken).toHaveLength(1)
    // It has moved on meanwhile, and is ready again.
    claims.ready(1, 'code')
    found.pop()?.()
    await turn()
    expect(taken).toEqual([1, 1].map((id) => ({ id, owner: 'nobody' })))
    expect([claims.has(1), slots.free('code')]).toEqual([false, 1])
  })

  test('is taken as nobody’s, though it was found as that of a gone server', async () => {
    const slots = new Slots({ code: 1, isolated: 1 })
    const taken: AbandonedLease[] = []
    let left: AbandonedLease[] = [{ id: 1, owner: 'gone' }]
    const { claims } = claimsOf({
      slots,
      claim: async () => left.splice(0),
      takeOver: async (lease, given): Promise<StepShortage | null> => {
        taken.push(lease)
        const slot = given ?? (slots.tryTake('code') ? 'code' : null)
        if (!slot) return { kind: 'code', weight: null }
        slots.release('code')
        return null
      },
    })
    slots.tryTake('code')
    await claims.look()
    await turn()
    expect(taken).toEqual([{ id: 1, owner: 'gone' }])
    claims.ready(1, 'code')
    slots.release('code')
    await turn()
    expect(taken.slice(1)).toEqual([{ id: 1, owner: 'nobody' }])
    left = []
  })
})

test('slots that become free while many contexts wait for memory are used once fewer do', async () => {
  const slots = new Slots({ code: 100, isolated: 1 })
  const taken: number[] = []
  const { claims, budget } = claimsOf({
    slots,
    takeOver: async ({ id }, slot): Promise<StepShortage | null> => {
      taken.push(id)
      slot?.release()
      return id > 1 && slot?.kind === 'code' && taken.filter((other) => other === id).length === 1
        ? { kind: 'code', weight: 10 }
        : null
    },
  })
  const release = budget.take(1000)
  slots.tryTake('isolated')
  claims.ready(1, 'isolated')
  for (let id = 2; id < 66; id += 1) claims.ready(id, 'code')
  await turn()
  expect(taken).toHaveLength(64)
  slots.release('isolated')
  await turn()
  expect(taken).not.toContain(1)
  release()
  await turn()
  expect(taken).toContain(1)
})

test('a hint that comes while the store is asked leads to another question', async () => {
  const slots = new Slots({ code: 1, isolated: 1 })
  const answers: ((leases: AbandonedLease[]) => void)[] = []
  const { claims, hint } = claimsOf({
    slots,
    claim: () => new Promise((resolve) => answers.push(resolve)),
    takeOver: async (_, slot) => {
      slot?.release()
      return null
    },
  })
  const looked = claims.look()
  expect(answers).toHaveLength(1)
  hint()
  answers[0]?.([])
  await turn()
  expect(answers).toHaveLength(2)
  answers[1]?.([])
  await looked
  await turn()
  expect(answers).toHaveLength(2)
})

test('a server that stops tells the others of each step that it gives back', async () => {
  const slots = new Slots({ code: 1, isolated: 1 })
  slots.tryTake('code')
  const { claims, clock, given } = claimsOf({ slots, takeOver: async () => null })
  claims.stop()
  // One that ends while the server waits for it, and the next one soon after.
  claims.ready(1, 'code')
  claims.ready(2, 'code')
  expect(given.hints).toBe(2)
  await clock.advance(100)
  expect(given.hints).toBe(3)
  claims.ready(3, 'code')
  claims.close()
  expect([given.hints, clock.pending]).toEqual([4, []])
})

test('a step that is being claimed when the server stops is given back', async () => {
  const files = {
    'p/Fn.ts': 'export const deaf = () => new Promise(() => {})',
    'p/Deaf.flux': { states: [{ name: 's', action: { type: 'invokeCode', className: 'Fn', methodName: 'deaf' } }] },
  }
  let [second, isClaimed] = [0, false]
  let owner: string | null | undefined
  const wrap = (store: Store) =>
    withVerbs(store, {
      // It is done, and the server learns so late.
      commit: async (request) => {
        const outcome = await store.commit(request)
        const isClaim = request.writes.some(
          ({ context, previous }) => context.id === second && previous > 0 && !context.owner?.startsWith('nobody'),
        )
        if (!isClaim || !outcome.ok) return outcome
        isClaimed = true
        await sleep(50)
        return outcome
      },
      close: async () => {
        owner = (await store.load({ id: second }))?.owner
        await store.close()
      },
    })
  const bench = await openBench(files, { stepConcurrency: 1, wrap })
  const first = await bench.run('Deaf')
  second = await bench.run('Deaf')
  await bench.terminate({ contextId: first })
  await vi.waitUntil(() => isClaimed, { interval: 1 })
  await bench.close()
  expect(owner).toBe('nobody/code')
})

test('a step whose claim was done, although its outcome was unknown, is claimed again', async () => {
  const files = {
    'p/Fn.ts': 'export const deaf = () => new Promise(() => {})\nexport const quick = () => null',
    'p/Deaf.flux': { states: [{ name: 's', action: { type: 'invokeCode', className: 'Fn', methodName: 'deaf' } }] },
    'p/Quick.flux': { states: [{ name: 's', action: { type: 'invokeCode', className: 'Fn', methodName: 'quick' } }] },
  }
  let [second, isClaimed] = [0, false]
  const wrap = (store: Store) =>
    withVerbs(store, {
      commit: async (request) => {
        const outcome = await store.commit(request)
        if (isClaimed || second === 0 || request.writes.every(({ context }) => context.id !== second)) return outcome
        isClaimed = true
        throw inDoubt('the answer was lost')
      },
    })
  const bench = await openBench(files, { stepConcurrency: 1, wrap })
  const first = await bench.run('Deaf')
  second = await bench.run('Quick')
  await bench.terminate({ contextId: first })
  await vi.waitUntil(() => isClaimed, { interval: 1 })
  for (let seconds = 0; seconds < 10; seconds += 1) await bench.advance(1_000)
  await bench.until(second, ({ status }) => status === 'COMPLETED')
})

// Nothing is given back at the end, as after a kill.
const deadly = (store: Store) =>
  withVerbs(store, {
    commit: (request) =>
      request.writes.some(({ context }) => context.owner?.startsWith('nobody') === true)
        ? Promise.reject(unavailable('dead'))
        : store.commit(request),
  })

const code = (methodName: string) => ({ action: { type: 'invokeCode', className: 'Fn', methodName, timeout: 600 } })

test('a step that follows one that blocked its server is run, although there was no slot when it was found', async () => {
  const files = {
    'p/Fn.ts': `
export const deaf = () => new Promise(() => {})
export const undo = () => null`,
    'p/Deaf.flux': { states: [{ name: 's', ...code('deaf') }] },
    'p/Blocks.flux': {
      states: [
        { name: 's', ...code('deaf'), transitions: [{ to: 'undone', event: '$exception' }] },
        { name: 'undone', ...code('undo') },
      ],
    },
  }
  const first = await openBench(files, { stepConcurrency: 2, wrap: deadly })
  const [blocking, other] = [await first.run('Blocks'), await first.run('Deaf')]
  await first.engine.close({ grace: 0 })
  let isOtherTaken = false
  const later = (store: Store) =>
    withVerbs(store, {
      standstill: async () => ({
        step: { stepKey: stepKeyOf(blocking, 1), attempt: 1 },
        message: 'it blocked the event loop',
        stack: '',
        isCertain: true,
      }),
      load: async ({ id }) => {
        if (id === blocking) await vi.waitUntil(() => isOtherTaken, { interval: 1 })
        return store.load({ id })
      },
      commit: async (request) => {
        const outcome = await store.commit(request)
        if (request.writes.some(({ context }) => context.id === other)) isOtherTaken = true
        return outcome
      },
    })
  const { folder, clock } = first
  const bench = await openBench({}, { folder, clock, stepConcurrency: 1, wrap: later })
  await bench.until(blocking, ({ currentState, step }) => currentState === 'undone' && step?.server === null)
  await bench.terminate({ contextId: other })
  await bench.until(blocking, ({ status }) => status === 'COMPLETED')
})
