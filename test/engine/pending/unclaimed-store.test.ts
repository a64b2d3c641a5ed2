// A claim of a held event that others take for dead leads to nothing any more, however late its commit comes; one that
// led to something is finished.
import { expect, test } from 'vitest'
import { homeOf, UnclaimedStore, type UnclaimedEvent } from '../../../src/engine/pending/unclaimed-store.ts'
import { Memory } from '../../../src/store/memory/memory.ts'
import { MemoryStore } from '../../../src/store/memory/memory-store.ts'
import { SimulatedClock } from '../../../src/testing/simulated-clock.ts'
import { withVerbs } from '../../support/stores.ts'
import { silent } from '../../support/silent.ts'

const PARTITIONS = 3

async function claimed() {
  const clock = new SimulatedClock()
  const store = new MemoryStore(new Memory({ now: () => clock.now(), silence: null, partitions: PARTITIONS }))
  const held = new UnclaimedStore({ store, clock, log: silent }, 1000)
  const receivedAt = clock.now()
  const said = { eventId: 'e', event: 'paid', input: {}, untyped: false, tags: ['a', 'b'], receipt: null }
  const event: UnclaimedEvent = { ...said, receivedAt, expiresAt: receivedAt + 60_000, roles: [], claim: null }
  const home = homeOf(event, PARTITIONS)
  const id = home + 1
  await held.add(event, async (rows) => (await store.commit({ writes: [], rows })).ok)
  const [row] = await store.listRows({ space: 'held', prefix: '', limit: 9 })
  const found = row && (await held.read(home, row.key))
  const claim = found && (await held.claim(found, id))
  if (!found || !claim) throw new Error('it is held, and claimed')
  /** The commit of the context, but for the context. */
  const take = () => store.commit({ writes: [], rows: held.taking(claim) })
  return { clock, store, held, found, claim, take }
}

test('a claim that is taken for dead leads to nothing', async () => {
  const { clock, held, found, claim, take } = await claimed()
  expect(await held.claim(found, 99)).toBeNull()
  expect(await held.unclaimed(claim)).toBeNull()
  await clock.advance(10_001)
  expect(await held.unclaimed(claim)).toMatchObject({ event: { claim: null } })
  expect(await take()).toMatchObject({ ok: false })
})

test('an event that was taken under a claim is finished by whoever comes by', async () => {
  const { clock, store, held, claim, take } = await claimed()
  expect(await take()).toEqual({ ok: true })
  await clock.advance(10_001)
  expect(await held.unclaimed(claim)).toBeNull()
  for (const space of ['held', 'pending', 'copies', 'lookups', 'marks'] as const)
    expect(await store.listRows({ space, prefix: '', limit: 9 })).toEqual([])
})

test('an event that is taken just when its claim is to be made void is taken', async () => {
  const { clock, store, claim, take } = await claimed()
  await clock.advance(10_001)
  let isTaken = false
  const slow = withVerbs(store, {
    async commit(request) {
      if (!isTaken) {
        isTaken = true
        expect(await take()).toEqual({ ok: true })
      }
      return store.commit(request)
    },
  })
  expect(await new UnclaimedStore({ store: slow, clock, log: silent }, 1000).unclaimed(claim)).toBeNull()
  expect(await store.listRows({ space: 'held', prefix: '', limit: 9 })).toEqual([])
})

test('an event is not taken under a claim when its time is over', async () => {
  const { clock, take } = await claimed()
  await clock.advance(60_000)
  expect(await take()).toMatchObject({ ok: false })
})
