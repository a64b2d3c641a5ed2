// Starts whose commit came true although its answer was lost: they are answered with their id, and nothing is done
// twice.
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { CommitOutcome, Store } from '../../src/ports/store.ts'
import { openBench, type Bench, type Files } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'

const act = { name: 's', action: { type: 'invokeCode', className: 'Fn', methodName: 'f' } }
const FILES: Files = {
  'p/Fn.ts': `export async function f(args, flux) {
  flux.log.info('begun', { key: flux.stepKey })
  await new Promise((resolve) => flux.signal.addEventListener('abort', resolve))
}`,
  'p/Work.flux': { states: [{ name: 'w', waiting: true, transitions: [{ to: 's', event: 'go' }] }, act] },
  'p/Starts.flux': { states: [act] },
  'p/Wait.flux': { states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'go' }] }] },
}

let bench: Bench
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function open(wrap: (store: Store) => Store): Promise<void> {
  bench = await openBench(FILES, { wrap })
  closing.push(() => bench.close())
}

const begun = (one: Bench) => one.logged.filter(({ message }) => message === 'begun').length

/** The first commit comes true; then `meddle` moves the context on elsewhere, and the store says that it was late. */
async function openMeddled(meddle: (other: Bench, id: number) => Promise<unknown>): Promise<{ other: () => Bench }> {
  let [other, commits]: [Bench | null, number] = [null, 0]
  const there = () => {
    if (!other) throw new Error('the other server is not there')
    return other
  }
  const wrap = (store: Store) =>
    withVerbs(store, {
      claimAbandoned: () => Promise.resolve([]),
      async commit(request): Promise<CommitOutcome> {
        const outcome = await store.commit(request)
        const id = request.writes[0]?.context.id ?? 0
        commits += 1
        if (commits > 1) return outcome
        await meddle(there(), id)
        return { ok: false, stale: id, current: await store.load({ id }) }
      },
    })
  let shared: Store | null = null
  await open((store) => {
    shared = withVerbs(store, { claimAbandoned: () => Promise.resolve([]) })
    return wrap(store)
  })
  if (!shared) throw new Error('the store is open')
  const second = await openBench(FILES, { store: shared, clock: bench.clock })
  other = second
  closing.push(() => second.engine.close({ grace: 0 }))
  return { other: there }
}

describe('a context that was started, though the answer was lost, and was then moved on', () => {
  test('by a broadcast: it is answered with its id, and nothing is started twice', async () => {
    const { other } = await openMeddled(async (there) => {
      expect((await there.sendEvent({ event: 'go' })).transitions).toMatchObject([{ state: 's' }])
    })
    const contextId = await bench.run('Work')
    expect(await bench.listContexts({})).toMatchObject([{ id: contextId, status: 'RUNNING', currentState: 's' }])
    await vi.waitFor(() => expect(begun(other())).toBe(1), 10_000)
    await bench.advance(1000)
    expect([begun(bench), begun(other())]).toEqual([0, 1])
  })

  test('by a tag: the step that it started begins, once', async () => {
    const { other } = await openMeddled((there, contextId) => there.addTags({ contextId, tag: ['t'] }))
    const contextId = await bench.run('Starts')
    expect(await bench.listContexts({})).toMatchObject([{ id: contextId, status: 'RUNNING', tags: ['t'] }])
    await vi.waitFor(() => expect(begun(bench)).toBe(1), 10_000)
    await bench.advance(1000)
    expect([begun(bench), begun(other())]).toEqual([1, 0])
  })

  test('while an id that another context has is refused', async () => {
    await open((store) =>
      withVerbs(store, {
        async commit(request): Promise<CommitOutcome> {
          const id = request.writes[0]?.context.id ?? 0
          const [first] = await store.list({ all: [], limit: 1 })
          return first ? { ok: false, stale: id, current: { ...first, id } } : store.commit(request)
        },
      }),
    )
    await bench.run('Wait')
    await expect(bench.run('Work')).rejects.toMatchObject({
      failure: { kind: 'unavailable', detail: expect.stringContaining('exists already') },
    })
  })
})
