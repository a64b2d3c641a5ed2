// Steps whose contexts another server has ended: they are aborted, and their slots are free.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterEach, describe, expect, inject, test, vi } from 'vitest'
import { createRuntime, type FluxRuntime } from '../../src/main.ts'
import { inDoubt } from '../../src/model/failure.ts'
import type { CommitFeed } from '../../src/ports/feeds.ts'
import type { Store } from '../../src/ports/store.ts'
import { openLmdbStore } from '../../src/store/lmdb/store.ts'
import { openBench, writeFiles, type Bench, type Files } from '../support/engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { withVerbs } from '../support/stores.ts'
import { silent as log, SILENT_FEED } from '../support/silent.ts'
import { atEndOfTest, newFolder } from '../support/at-end.ts'

const FILES: Files = {
  'p/Fn.ts': `export async function slow(args, flux) {
  flux.log.info('begun')
  await new Promise((resolve) => flux.signal.addEventListener('abort', resolve))
  flux.log.info('aborted', { why: flux.signal.reason.message })
}`,
  'p/Slow.flux': {
    states: [{ name: 's', action: { type: 'invokeCode', className: 'Fn', methodName: 'slow', timeout: 600 } }],
  },
  'p/Parent.flux': { states: [{ name: 's', action: { type: 'invokeFlux', name: 'Slow' } }] },
}

type Logged = { readonly message: string; readonly fields: object | undefined }
const told = (logged: readonly Logged[], word: string, contextId: number) =>
  logged.filter(
    ({ message, fields }) =>
      message === word && fields !== undefined && 'contextId' in fields && fields.contextId === contextId,
  )

/** As long as a machine that is busy may take. */
const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 10_000, interval: 5 })

describe('with two servers on one store', () => {
  const BEAT_MS = 1000
  /** What servers tell one another; nothing while `isLost`. */
  const words: { isLost: boolean; tell: CommitFeed['notify'] } = { isLost: false, tell: () => undefined }
  let slots: number

  async function openBoth(commit?: (store: Store) => Store['commit']): Promise<readonly [Bench, Bench]> {
    const clock = new SimulatedClock()
    const folder = await newFolder()
    const listeners: ((id: number) => void)[] = []
    const feed: CommitFeed = {
      ...SILENT_FEED,
      notify: (id) => {
        if (!words.isLost) for (const listener of listeners) listener(id)
      },
      onNotified: (listener) => {
        listeners.push(listener)
      },
    }
    words.tell = feed.notify
    const store = await openLmdbStore({ folder: join(folder, 'data'), log, clock })
    // To this store, whoever else has a lease is dead.
    const shared = withVerbs(store, { claimAbandoned: () => Promise.resolve([]) })
    const others = { beat: BEAT_MS, feed }
    const open = (own: Store) => openBench(FILES, { folder, clock, store: own, others, stepConcurrency: slots })
    return [await open(shared), await open(commit ? withVerbs(shared, { commit: commit(shared) }) : shared)]
  }

  afterEach(() => {
    words.isLost = false
  })

  test('one ends what the other runs: its step is aborted, and the next one gets its slot', async () => {
    slots = 1
    const [one, other] = await openBoth()
    const [first, second] = [await one.run('Slow'), await one.run('Slow')]
    await eventually(() => expect(told(one.logged, 'begun', first)).toHaveLength(1))
    await other.terminate({ contextId: first })
    await eventually(() =>
      expect(told(one.logged, 'aborted', first)).toMatchObject([
        { fields: { why: 'another server has ended the context or moved it on' } },
      ]),
    )
    await eventually(() => expect(told(one.logged, 'begun', second)).toHaveLength(1))
    expect(told(one.logged, 'aborted', second)).toEqual([])
  })

  test('one ends a parent whose child the other runs', async () => {
    slots = 1
    const [one, other] = await openBoth()
    const contextId = await one.run('Parent')
    const [child] = await one.listContexts({ fluxName: 'Slow' })
    await eventually(() => expect(told(one.logged, 'begun', child?.id ?? 0)).toHaveLength(1))
    await other.terminate({ contextId })
    await eventually(() => expect(told(one.logged, 'aborted', child?.id ?? 0)).toHaveLength(1))
  })

  test('what is told is a hint: a step that is still to run goes on', async () => {
    slots = 2
    const [one, other] = await openBoth()
    const contextId = await one.run('Slow')
    await eventually(() => expect(told(one.logged, 'begun', contextId)).toHaveLength(1))
    await other.addTags({ contextId, tag: ['t'] })
    words.tell(contextId)
    await one.advance(3 * BEAT_MS)
    expect(told(one.logged, 'aborted', contextId)).toEqual([])
    await other.terminate({ contextId })
    await eventually(() => expect(told(one.logged, 'aborted', contextId)).toHaveLength(1))
  })

  test('the word is lost: the heartbeat finds out', async () => {
    slots = 1
    words.isLost = true
    const [one, other] = await openBoth()
    const [ended, kept] = [await one.run('Slow'), await other.run('Slow')]
    await eventually(() =>
      expect([told(one.logged, 'begun', ended), told(other.logged, 'begun', kept)]).toMatchObject([[{}], [{}]]),
    )
    await other.terminate({ contextId: ended })
    await eventually(async () => {
      await one.advance(BEAT_MS)
      expect(told(one.logged, 'aborted', ended)).toHaveLength(1)
    })
    expect(told(other.logged, 'aborted', kept)).toEqual([])
  })

  test('the commit that ends it is in doubt, and came true', async () => {
    slots = 1
    let isLost = true
    const [one, other] = await openBoth((store) => async (request) => {
      const outcome = await store.commit(request)
      if (!isLost) return outcome
      isLost = false
      throw inDoubt('the answer was lost')
    })
    const contextId = await one.run('Slow')
    await eventually(() => expect(told(one.logged, 'begun', contextId)).toHaveLength(1))
    await expect(other.terminate({ contextId })).rejects.toMatchObject({ failure: { inDoubt: true } })
    await eventually(() => expect(told(one.logged, 'aborted', contextId)).toHaveLength(1))
  })
})

test('the same on Redis', async () => {
  const folder = await newFolder()
  await writeFiles(folder, FILES)
  const namespace = randomUUID()
  const logged: Logged[] = []
  const tell = (message: string, fields?: object) => {
    logged.push({ message, fields })
  }
  const open = async (): Promise<FluxRuntime> => {
    const server = await createRuntime({
      actors: [folder],
      redisUrl: inject('redisUrl'),
      namespace,
      log: { ...log, info: tell },
      stepConcurrency: 1,
    })
    atEndOfTest(() => server.close({ grace: 0 }))
    return server
  }
  const [one, other] = [await open(), await open()]
  const start = async (fluxName: string) => (await one.execute({ package: 'p', fluxName })).contextId
  const contextId = await start('Slow')
  await eventually(() => expect(told(logged, 'begun', contextId)).toHaveLength(1))
  const parent = await start('Parent')
  const child = (await other.listContexts({ fluxName: 'Slow' })).map(({ id }) => id).find((id) => id !== contextId) ?? 0
  await other.terminate({ contextId })
  await eventually(() => expect(told(logged, 'aborted', contextId)).toHaveLength(1))
  // The slot is free for the child, whose parent is then ended from there, too.
  await eventually(() => expect(told(logged, 'begun', child)).toHaveLength(1))
  await other.terminate({ contextId: parent })
  await eventually(() => expect(told(logged, 'aborted', child)).toHaveLength(1))
})
