// Which ready steps are claimed, and in which order, when scripts turn out to be known as slow.
import { expect, test, vi } from 'vitest'
import { Admission } from '../../src/engine/steps/admission.ts'
import { ClaimSource } from '../../src/engine/steps/claim-source.ts'
import { Claims } from '../../src/engine/steps/claims.ts'
import { ReadyHints } from '../../src/engine/steps/ready-hints.ts'
import { ByteBudget } from '../../src/model/byte-budget.ts'
import { readyOwner } from '../../src/model/record.ts'
import type { Log } from '../../src/ports/log.ts'
import type { AbandonedLease } from '../../src/ports/store.ts'
import { Slots } from '../../src/steps/slots.ts'
import { SimulatedClock } from '../support/simulated-clock.ts'

const nothing = (): void => {}
const quiet: Log = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing }
const leasesOf = (count: number): AbandonedLease[] =>
  Array.from({ length: count }, (_, place) => ({ id: place + 1, owner: readyOwner('script') }))

test('slow scripts that are in the store alone do not send other scripts there', async () => {
  const limits: number[] = []
  let stored = Infinity
  const claimAbandoned = ({ limit }: { limit: number }) => {
    limits.push(limit)
    return Promise.resolve(leasesOf(Math.min(limit, stored)))
  }
  const source = new ClaimSource({ store: { partitions: 1, claimAbandoned }, owner: () => 'me' })
  const overfull = () => [source.isOverfull('script'), source.isOverfull('slowScript'), source.isEmpty]
  source.overflow('slowScript')
  expect(overfull()).toEqual([false, true, false])
  // The store lists both kinds as scripts.
  await source.claim(new Map([['script', 4]]))
  await source.claim(new Map([['code', 4]]))
  expect(overfull()).toEqual([false, true, false])
  stored = 3
  await source.claim(new Map([['script', 4]]))
  expect(overfull()).toEqual([false, false, false])
  await source.claim(new Map([['script', 4]]))
  expect(limits).toEqual([512, 4, 512])
})

test('ready scripts that are known to be slow are run in the order in which they were ready', async () => {
  const clock = new SimulatedClock()
  const slots = new Slots({ code: 1, isolated: 1, script: 3, slowScript: 1 })
  slots.tryTake('slowScript')
  const [stored, begun]: [AbandonedLease[], number[]] = [leasesOf(7), []]
  const claims = new Claims({
    clock,
    log: quiet,
    slots,
    admission: new Admission({
      slots,
      runner: { isSlowScript: () => true },
      budget: new ByteBudget({ bytes: 1, what: 'steps' }),
    }),
    hints: new ReadyHints({ feed: null, clock }),
    owner: () => 'me',
    store: { partitions: 1, claimAbandoned: ({ limit }) => Promise.resolve(stored.splice(0, limit)) },
    recovery: {
      takeOver: async ({ id }, slot) => {
        await Promise.resolve()
        if (slot?.kind === 'slowScript') begun.push(id)
        slot?.release()
        return slot?.kind === 'script' ? { kind: 'slowScript', weight: null } : null
      },
    },
  })
  await claims.look()
  await vi.waitFor(() => expect([stored.length, slots.free('script')]).toEqual([0, 3]))
  slots.release('slowScript')
  await vi.waitFor(() => expect(begun).toEqual([1, 2, 3, 4, 5, 6, 7]))
})
