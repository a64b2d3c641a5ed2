// What is done with many contexts: with whom, how far it is, and what is kept of it.
import { expect, test, vi } from 'vitest'
import type { FluxApi } from '../../src/api/flux-api.ts'
import { ManyRuns, type ManyRequest, type Run } from '../../src/inspector/many-runs.ts'
import { conflict } from '../../src/model/failure.ts'
import { contextView, fakeApi, memoryLog } from '../http/support.ts'

const TERMINATE: ManyRequest = { deed: 'terminate', with: '', chosen: { ids: [1, 2, 3] }, matched: 3 }
/** Of the event loop. */
const turn = () =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

const MESSAGE = { message: 'done' }

const ended = async (run: Run) => {
  await vi.waitFor(() => expect(run.hasEnded).toBe(true))
  return run
}

function open(overrides: Partial<FluxApi> = {}) {
  const { api, calls } = fakeApi(overrides)
  const { log, lines } = memoryLog()
  const runs = new ManyRuns(log)
  return { runs, api, calls, lines, run: (request: ManyRequest) => runs.start(api, request).then(ended) }
}

test.each([
  ['terminate', '', 'terminate', { contextId: 5 }],
  ['event', 'go', 'sendEvent', { contextId: 5, event: 'go' }],
  ['tag', 'red', 'addTags', { contextId: 5, tag: ['red'] }],
  ['untag', 'red', 'removeTags', { contextId: 5, tag: ['red'] }],
] as const)('%s is carried out for each', async (deed, word, name, request) => {
  const { run, calls } = open()
  const { done, changed, failed } = await run({ deed, with: word, chosen: { ids: [5] }, matched: 1 })
  expect([done, changed, failed]).toEqual([1, 1, []])
  expect(calls).toEqual([{ name, request }])
})

test('those of a filter are read page by page, up to the newest at the beginning', async () => {
  const all = Array.from({ length: 1200 }, (_, index) => index + 1)
  const asked: object[] = []
  const changed: number[] = []
  const { run } = open({
    listPage(request) {
      asked.push(request)
      const { after = 0, before = Infinity, limit = 10, order } = request
      const found = all.filter((id) => id > Number(after) && id < Number(before))
      const ids = order === 'desc' ? found.toReversed().slice(0, limit) : found.slice(0, limit)
      // Others start meanwhile.
      all.push((all.at(-1) ?? 0) + 1)
      const next = ids.length < found.length ? (ids.at(-1) ?? null) : null
      return Promise.resolve({ contexts: ids.map((id) => contextView(id)), next })
    },
    terminate({ contextId }) {
      changed.push(Number(contextId))
      return Promise.resolve(MESSAGE)
    },
  })
  const { done } = await run({ ...TERMINATE, chosen: { filter: { fluxName: 'F', status: ['WAITING'] } } })
  expect(done).toBe(1200)
  expect(changed.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 1200 }, (_, index) => index + 1))
  for (const request of asked) expect(request).toMatchObject({ fluxName: 'F', status: ['WAITING'], view: 'summary' })
})

test('a filter that nothing passes is done at once', async () => {
  const { run, calls } = open({ listPage: () => Promise.resolve({ contexts: [], next: null }) })
  expect(await run({ ...TERMINATE, chosen: { filter: {} }, matched: 0 })).toMatchObject({ done: 0, changed: 0 })
  expect(calls).toEqual([])
})

test('what is refused is told of the first hundred, and a fault only in the log', async () => {
  const { run, lines } = open({
    terminate({ contextId }) {
      return Promise.reject(contextId === 1 ? new Error('secret inside') : conflict('it has ended'))
    },
  })
  const ids = Array.from({ length: 300 }, (_, index) => index + 1)
  const { done, changed, failed } = await run({ ...TERMINATE, chosen: { ids }, matched: 300 })
  expect([done, changed, failed.length]).toEqual([300, 0, 100])
  expect(failed[0]).toEqual({ id: 1, detail: 'the reason is in the log of the server' })
  expect(failed[1]).toEqual({ id: 2, detail: 'it has ended' })
  expect(lines.map(({ level }) => level)).toEqual(['error'])
})

test('a list that can not be read ends it, and it says so', async () => {
  const { run, lines } = open({ listPage: () => Promise.reject(new Error('secret inside')) })
  const { failed, hasEnded } = await run({ ...TERMINATE, chosen: { filter: {} } })
  expect([failed, hasEnded]).toEqual([[{ id: 0, detail: 'the server failed' }], true])
  expect(lines.map(({ level }) => level)).toEqual(['error'])
})

test('it ends soon when it is stopped, and what was done is counted', async () => {
  const { runs, api } = open({
    listPage: async ({ after = 0 }) => {
      await turn()
      const contexts = Array.from({ length: 500 }, (_, index) => contextView(Number(after) + index + 1))
      return { contexts, next: Number(after) + 500 }
    },
  })
  const byFilter = await runs.start(api, { ...TERMINATE, chosen: { filter: {} } })
  await vi.waitFor(() => expect(byFilter.done).toBeGreaterThan(0))
  runs.stop(byFilter.id)
  const { done } = await ended(byFilter)
  // Those that were under way.
  await turn()
  expect(byFilter.done).toBe(done)
  const ids = Array.from({ length: 10_000 }, (_, index) => index + 1)
  const byIds = await runs.start(api, { ...TERMINATE, chosen: { ids } })
  runs.stop(byIds.id)
  expect((await ended(byIds)).done).toBeLessThan(100)
  runs.stop('nothing')
})

test('so many are under way at once, and of those that have ended the oldest is forgotten', async () => {
  let [release] = [() => {}]
  const until = new Promise<void>((resolve) => {
    release = resolve
  })
  const { runs, api } = open({ terminate: () => until.then(() => MESSAGE) })
  const first = await runs.start(fakeApi().api, TERMINATE)
  await ended(first)
  const others = Array.from({ length: 49 }, () => runs.start(api, TERMINATE))
  expect(runs.get(first.id)).toBe(first)
  const last = runs.start(api, TERMINATE)
  expect(runs.get(first.id)).toBeUndefined()
  await expect(runs.start(api, TERMINATE)).rejects.toThrow('too many of these are under way')
  release()
  for (const run of [...others, last]) await ended(await run)
  expect(runs.get((await last).id)).toBe(await last)
  expect((await runs.start(api, TERMINATE)).deed).toBe('terminate')
})
