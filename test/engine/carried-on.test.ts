// Broadcasts that were cut off, at the next start: all of them are carried on, no more at once than may be, and what an
// earlier server counted is not counted again.
import { beforeEach, expect, test, vi } from 'vitest'
import { Servers } from '../../src/engine/cluster/servers.ts'
import { TaskQueue, type TaskRun } from '../../src/engine/tasks/queue.ts'
import { Task, type TaskParts } from '../../src/engine/tasks/task.ts'
import { unavailable } from '../../src/model/failure.ts'
import type { CommitRequest } from '../../src/ports/store.ts'
import { openBench, outputs, type Bench, type BenchOptions, type Files } from '../support/engine.ts'
import { held, nextTurn } from '../support/held.ts'
import { BEAT_MS, SharedMemory } from '../support/shared-memory.ts'
import type { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { withVerbs } from '../support/stores.ts'
import { silent as log } from '../support/silent.ts'

vi.setConfig({ testTimeout: 60_000 })

const FILES: Files = {
  'p/Count.flux': {
    output: [{ name: 'n', type: 'integer', defaultValue: 0 }],
    states: [
      { name: 'begin', waiting: true, transitions: [{ to: 'w', event: 'go' }] },
      {
        name: 'w',
        waiting: true,
        action: { type: 'map', lines: [{ type: 'set', expression: 'n + 1', evaluate: true, to: ['n'] }] },
        transitions: [{ to: 'w', event: 'tick' }],
      },
    ],
  },
}
const KEYED: Files = {
  'p/Keyed.flux': {
    triggers: [{ event: 'tick', key: 'k' }],
    states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'tick' }] }],
  },
}
/** Rows of broadcasts that are read at once, and some more. */
const MANY_BROADCASTS = 130
/** Contexts after which it is stored how far a broadcast is. */
const STAGE = 1000

let shared: SharedMemory
let clock: SimulatedClock
beforeEach(() => {
  shared = new SharedMemory()
  ;({ clock } = shared)
})

/** A server that makes the commits which `mayCommit` lets it make. */
const openServer = (
  mayCommit: (request: CommitRequest) => boolean | Promise<boolean> = () => true,
  options: BenchOptions = {},
): Promise<Bench> =>
  openBench(
    { ...FILES, ...KEYED },
    {
      ...shared.server(),
      others: null,
      wrap: (store) =>
        withVerbs(store, {
          async commit(request) {
            if (!(await mayCommit(request))) throw unavailable('away')
            return store.commit(request)
          },
        }),
      ...options,
    },
  )

/** That a broadcast is accepted. */
const accepts = ({ rows = [] }: CommitRequest) =>
  rows.some(({ space, expects, value }) => space === 'broadcasts' && expects === null && value !== null)
const underWay = () => shared.store().countRows({ space: 'broadcasts' })

/** Stops a server whose store is away: it leaves what it has under way as it is. */
async function die(bench: Bench): Promise<void> {
  await bench.engine.close({ grace: 0 })
}

const waiting = async (bench: Bench): Promise<number> => {
  const contextId = await bench.run('Count')
  await bench.sendEvent({ contextId, event: 'go' })
  return contextId
}
const countOf = async (bench: Bench, contextId: number) => outputs(await bench.getContext({ contextId }))['n']

test('however many were cut off, the next start carries all of them on', async () => {
  const one = await openServer(accepts)
  for (let nr = 0; nr < MANY_BROADCASTS; nr += 1) await one.sendEvent({ event: 'nobody', respondAsync: true })
  await die(one)
  expect(await underWay()).toBe(MANY_BROADCASTS)
  // No other server may come: it looks once.
  await openServer()
  await expect.poll(underWay, { timeout: 20_000 }).toBe(0)
})

test('no more are carried on at once than may be under way', async () => {
  let isAway = false
  const one = await openServer((request) => !isAway || accepts(request))
  const contextId = await waiting(one)
  isAway = true
  for (let nr = 0; nr < 4; nr += 1) await one.sendEvent({ event: 'tick', respondAsync: true })
  await die(one)
  const hold = held<boolean>()
  const two = await openServer(({ writes }) => (writes.length > 0 ? hold.promise : true), { bounds: { broadcasts: 2 } })
  const carried = () => two.logged.filter(({ message }) => message.includes('is carried on')).length
  await expect.poll(carried).toBe(2)
  await two.advance(0)
  expect([carried(), await underWay()]).toEqual([2, 4])
  // Others find no room.
  hold.release(true)
  await expect.poll(underWay).toBe(0)
  expect([carried(), await countOf(two, contextId)]).toEqual([4, 4])
})

test('whom an earlier server moved is counted once, where others with lower ids have come to wait since', async () => {
  const { others } = shared.server()
  let [isAway, reached]: [boolean, number] = [false, 0]
  const one = await openServer(
    ({ writes: [write], ...request }) =>
      !isAway || (write ? write.context.id === reached : accepts({ ...request, writes: [] })),
    { others },
  )
  const late = await Promise.all(Array.from({ length: STAGE + 5 }, () => one.run('Count')))
  const early = [await waiting(one), await waiting(one), await waiting(one)]
  const ids = [...late, ...early]
  ;[isAway, reached] = [true, Math.max(...early)]
  const { eventId } = await one.sendEvent({ event: 'tick', respondAsync: true })
  await expect.poll(() => shared.memory.contexts.get(reached)?.context.version ?? 0).toBe(3)
  await one.engine.close({ grace: 0 })

  let summaries = 0
  const two = await openServer(
    ({ rows = [] }) => {
      const isStage = rows.some(({ space, key, value }) => space === 'items' && key.endsWith('$') && value !== null)
      summaries += isStage || summaries > 0 ? 1 : 0
      return summaries < 2
    },
    { others },
  )
  for (const contextId of late) await two.sendEvent({ contextId, event: 'go' })
  await clock.advance(9 * BEAT_MS)
  await expect.poll(() => summaries, { timeout: 20_000 }).toBeGreaterThan(1)
  await two.engine.close({ grace: 0 })

  const three = await openServer(undefined, { others })
  await clock.advance(9 * BEAT_MS)
  await expect.poll(async () => (await three.getEvent({ eventId })).done, { timeout: 20_000 }).toBe(true)
  const { counts, progress } = await three.getEvent({ eventId })
  expect([counts.moved, progress]).toMatchObject([ids.length, { matched: ids.length, done: ids.length }])
  expect(await Promise.all(ids.map((id) => countOf(three, id)))).toEqual(ids.map(() => 1))
})

test('nobody gets it who came after it', async () => {
  let isAway = false
  const one = await openServer((request) => !isAway || accepts(request))
  const contextId = await waiting(one)
  isAway = true
  const { eventId } = await one.sendEvent({ event: 'tick', respondAsync: true })
  await die(one)
  const hold = held<boolean>()
  const two = await openServer(({ rows = [] }) =>
    rows.some(({ space }) => space === 'broadcasts') ? hold.promise : true,
  )
  const later = await waiting(two)
  hold.release(true)
  await expect.poll(async () => (await two.getEvent({ eventId })).done).toBe(true)
  expect([await countOf(two, contextId), await countOf(two, later)]).toEqual([1, 0])
})

test('what only calls wait for leaves no room, and then a cut off one is carried on, or the server stops', async () => {
  const { others } = shared.server()
  const one = await openServer(accepts, { others })
  const hold = held<boolean>()
  const bounds = { broadcasts: 1 }
  const options = { others, bounds }
  const two = await openServer(({ writes: [write] }) => (write && write.previous > 0 ? hold.promise : true), options)
  const three = await openServer(({ writes: [write] }) => (write && write.previous > 0 ? hold.promise : true), options)
  // More than are counted as few.
  const ids = await Promise.all(Array.from({ length: 65 }, () => two.run('Count')))
  const { eventId } = await one.sendEvent({ event: 'nobody', respondAsync: true })
  await die(one)
  const sent = [two.sendEvent({ event: 'go' }), three.sendEvent({ event: 'go' })]
  for (let beats = 0; beats < 10; beats += 1) await two.advance(BEAT_MS)
  expect(await underWay()).toBe(1)
  const stopped = die(three)
  hold.release(true)
  expect((await Promise.all(sent)).map(({ transitions }) => transitions.length)).toContain(ids.length)
  await stopped
  for (let beats = 0; beats < 3; beats += 1) await two.advance(BEAT_MS)
  await expect.poll(async () => (await two.getEvent({ eventId })).done).toBe(true)
})

test.each(['garbage{', 'null'])('a row with %s holds up no other broadcast, and is logged once', async (value) => {
  const one = await openServer(accepts)
  const { eventId } = await one.sendEvent({ event: 'nobody', respondAsync: true })
  await die(one)
  const store = shared.store()
  const damaged = { partition: 0, key: '0', value, expiresAt: null } as const
  const rows = (['broadcasts', 'idempotency'] as const).map((space) => ({ ...damaged, space }))
  expect(await store.commit({ writes: [], rows })).toMatchObject({ ok: true })
  const two = await openServer(undefined, { others: shared.server().others })
  for (let beats = 0; beats < 12; beats += 1) await two.advance(BEAT_MS)
  await expect.poll(async () => (await two.getEvent({ eventId })).done).toBe(true)
  expect(two.logged.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
    "the stored row '0' in 'broadcasts' can't be read: it is left out",
  ])
})

test('one that has ended is not begun anew by a server that stops meanwhile', async () => {
  const hold = held<boolean>()
  const one = await openServer(({ rows = [] }) => {
    const isDropped = rows.some(({ space, value }) => space === 'items' && value === null)
    return isDropped && !rows.some(({ space }) => space === 'broadcasts') ? hold.promise : true
  })
  await waiting(one)
  const { eventId } = await one.sendEvent({ event: 'tick', respondAsync: true })
  await expect.poll(async () => (await one.getEvent({ eventId })).done).toBe(true)
  const stopped = die(one)
  hold.release(true)
  await stopped
  expect(await underWay()).toBe(0)
})

test('one that an earlier server moved is counted once, though it has the key of what the event would start', async () => {
  const { others } = shared.server()
  let isAway = false
  let stages = 0
  const one = await openServer(
    ({ rows = [], writes }) => {
      const isStage = rows.some(({ space, key, value }) => space === 'items' && key.endsWith('$') && value !== null)
      if (isAway && writes.length === 0 && isStage) stages += 1
      return stages < 3
    },
    { others },
  )
  const { contextId } = await one
    .sendEvent({ event: 'tick' })
    .then(({ executions: [first] }) => first ?? { contextId: 0 })
  await Promise.all(Array.from({ length: STAGE + 5 }, () => waiting(one)))
  isAway = true
  const { eventId } = await one.sendEvent({ event: 'tick', respondAsync: true })
  await expect.poll(() => stages, { timeout: 20_000 }).toBe(3)
  await one.engine.close({ grace: 0 })
  const two = await openServer(undefined, { others })
  await clock.advance(9 * BEAT_MS)
  await expect.poll(async () => (await two.getEvent({ eventId })).done, { timeout: 20_000 }).toBe(true)
  const { counts, started } = await two.getEvent({ eventId })
  expect([counts, started]).toMatchObject([{ moved: STAGE + 6, started: 0, ignored: 0 }, []])
  expect((await two.getContext({ contextId })).key).toBe('k')
})

/** What tasks of a lone server run with. */
function taskParts() {
  const store = shared.store()
  return { store, clock, log, servers: new Servers({ store, clock, beat: null }) }
}
const TASK = { partition: 0, space: 'broadcasts', expiresAt: null } as const

test('a commit of rows that are there already was made before; of rows that another one has written, the task is lost', async () => {
  const task = new Task(taskParts(), { ...TASK, key: 'a' })
  const row = { partition: 0, space: 'idempotency', key: 'a', expects: null, value: 'ours', expiresAt: null } as const
  await task.commit([row])
  await task.commit([row])
  await expect(task.commit([{ ...row, value: 'theirs' }])).rejects.toMatchObject({ name: 'TaskLost' })
})

test('a task that another server takes over meanwhile is no error, and those behind it are found', async () => {
  const { parts, logged } = await openServer()
  const given = taskParts()
  const row = { ...TASK, expects: null, value: '{}' }
  for (const key of ['a', 'b']) await given.store.commit({ writes: [], rows: [{ ...row, key }] })
  const found: string[] = []
  const queue = new TaskQueue<TaskRun>(
    { ...given, log: parts.log },
    {
      space: 'broadcasts',
      prefix: '',
      name: 'a broadcast',
      // Another server writes the row of the first one meanwhile.
      load: async ({ key, value }) => ({
        task: new Task(given, { ...TASK, key }, { before: key === 'a' ? '{"id":"other"}' : value }),
        run: () => Promise.resolve(found.push(key)),
      }),
    },
  )
  queue.look()
  await expect.poll(() => found).toEqual(['b'])
  expect(logged.filter(({ level }) => level === 'error')).toEqual([])
  await queue.close()
})

/** A queue with one task that another server has left, which runs until the server stops. */
async function abandoned(given: TaskParts) {
  const run = { count: 0 }
  const loading = held<void>()
  await given.store.commit({ writes: [], rows: [{ ...TASK, key: 'a', expects: null, value: '{"id":"b","owner":""}' }] })
  const queue = new TaskQueue<TaskRun>(given, {
    space: 'broadcasts',
    prefix: '',
    name: 'a broadcast',
    async load({ key, value }) {
      const task = new Task(given, { ...TASK, key }, { before: value })
      await loading.promise
      return {
        task,
        run() {
          run.count += 1
          return new Promise<void>((resolve) => {
            if (task.isStopping) resolve()
            task.stopping.signal.addEventListener('abort', () => resolve())
          })
        },
      }
    },
  })
  return { queue, run, loading }
}

test('a task that is found twice at the same time runs once, and is known until it has ended', async () => {
  const parts = taskParts()
  const again: { queue?: TaskQueue<TaskRun>; resumed?: Promise<unknown> } = {}
  const store = withVerbs(parts.store, {
    async commit(request) {
      const outcome = await parts.store.commit(request)
      // The reply to the first takeover is on its way.
      if (again.queue && !again.resumed) await (again.resumed = again.queue.resume({ key: 'a', partition: 0 }))
      return outcome
    },
  })
  const { queue, run, loading } = await abandoned({ ...parts, store })
  loading.release()
  again.queue = queue
  expect(await queue.resume({ key: 'a', partition: 0 })).not.toBeNull()
  await expect.poll(() => run.count).toBe(1)
  expect(await again.resumed).toBeNull()
  expect(queue.has('a')).toBe(true)
  await queue.close()
  expect(queue.has('a')).toBe(false)
})

test('a task that is taken over while the server begins to stop holds up nothing, and is left to others', async () => {
  const parts = taskParts()
  const { queue, loading } = await abandoned(parts)
  queue.look()
  await settle()
  const closed = queue.close()
  await settle()
  loading.release()
  await closed
  const row = await parts.store.readRow({ ...TASK, key: 'a' })
  expect(JSON.parse(row?.value ?? '{}')).toMatchObject({ owner: '' })
})

async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await nextTurn()
}
