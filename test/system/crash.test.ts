// A server is killed in the middle of everything, by `kill -9`, and started again on the same data: nothing is lost,
// doubled or early.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import type { ContextView } from '../../src/api/contexts.ts'
import { cleanUp, placeFor, startServer, type Place, type Server } from '../support/server.ts'
import { Client, forEach, outputOf } from './client.ts'
import { SERVICES } from './services.ts'

const WAITING = 1000
const TIMERS = 50
/** Milliseconds for which there is no server. */
const DEAD = 1500

interface Timer {
  readonly id: number
  readonly due: number
  readonly fluxName: string
}

let place: Place
let server: Server
let client: Client
let waiters: number[]
let timers: Timer[]
let parent: number
let boss: number
let holder: number
/** Calls that were answered right before the kill. */
const answered: { [call in 'moved' | 'tagged' | 'terminated' | 'started']: number[] } = {
  moved: [],
  tagged: [],
  terminated: [],
  started: [],
}
let killedAt: number
let readyAt: number

const file = (name: string) => join(place.folder, name)
const lines = async (name: string) => (await readFile(file(name), 'utf8').catch(() => '')).split('\n').filter(Boolean)
const files = (name: string) => ({ file: file(`${name}.steps`), gate: file(`${name}.gate`) })
const openGate = (name: string) => writeFile(file(`${name}.gate`), '')
const hasEnded = (id: number) =>
  vi.waitFor(async () => expect(await client.context(id)).toMatchObject({ status: 'COMPLETED' }), {
    timeout: 5000,
    interval: 50,
  })

beforeAll(async () => {
  place = await placeFor(SERVICES)
  const options = { program: inject('program'), ...place }
  server = await startServer(options)
  client = new Client(server)
  parent = await client.start('Parent')
  boss = await client.start('Boss', files('boss'))
  holder = await client.start('Holder', files('holder'))
  await vi.waitFor(
    async () =>
      expect([await lines('boss.steps'), await lines('holder.steps')]).toMatchObject([{ length: 1 }, { length: 1 }]),
    5000,
  )
  waiters = await forEach(Array.from({ length: WAITING }), () => client.start('Waiter'))

  const first = Date.now() + 1000
  timers = await forEach(
    Array.from({ length: TIMERS }, (_, index) => index),
    async (index) => {
      const due = first + (index < 30 ? index * 200 : 8000 + index * 50)
      const fluxName = ['Delayed', 'Dated', 'Timed'][index % 3] ?? ''
      return { id: await client.start(fluxName, { due }), due, fluxName }
    },
  )
  await sleep(first - Date.now() + 200)

  answered.moved = waiters.slice(0, 100)
  answered.tagged = waiters.slice(100, 150)
  answered.terminated = waiters.slice(150, 180)
  await Promise.all([
    forEach(answered.moved, (id) => client.event('go', id)),
    forEach(answered.tagged, (id) => client.tag(id, 'kept')),
    forEach(answered.terminated, (id) => client.terminate(id)),
    forEach(Array.from({ length: 50 }), async () => answered.started.push(await client.start('Counter'))),
  ])
  killedAt = Date.now()
  await server.kill('SIGKILL')
  await sleep(DEAD)
  server = await startServer(options)
  readyAt = Date.now()
  client = new Client(server)
}, 60_000)

afterAll(cleanUp)

describe('after kill -9', () => {
  test('what was answered before is so', async () => {
    const views = async (ids: readonly number[]) => forEach(ids, (id) => client.context(id))
    expect((await views(answered.moved)).filter(({ currentState }) => currentState !== 'second')).toEqual([])
    expect((await views(answered.tagged)).filter(({ tags }) => tags.join() !== 'kept')).toEqual([])
    expect((await views(answered.terminated)).filter(({ status }) => status !== 'TERMINATED')).toEqual([])
    expect((await views(answered.started)).filter(({ status }) => status !== 'WAITING')).toEqual([])
    expect((await client.list({ tag: 'kept' })).map(({ id }) => id)).toEqual(
      answered.tagged.toSorted((one, other) => one - other),
    )
  })

  test('every waiting context is there and takes its event', async () => {
    const alive = waiters.filter((id) => !answered.terminated.includes(id))
    const listed = await client.list({ fluxName: 'Waiter' })
    expect(listed.map(({ id }) => id)).toEqual(alive.toSorted((one, other) => one - other))
    const answers = await forEach(alive, (id) => client.event('go', id))
    expect(answers.map(({ transitions }) => transitions)).toEqual(
      alive.map((contextId) => [{ contextId, state: answered.moved.includes(contextId) ? 'done' : 'second' }]),
    )
  })

  test('ids go on from where they were', async () => {
    expect(await client.start('Waiter')).toBeGreaterThan(Math.max(...waiters, ...answered.started))
  })

  test('a running step runs again with the same step key and attempt', async () => {
    await vi.waitFor(async () => expect(await lines('holder.steps')).toHaveLength(2), 5000)
    await openGate('holder')
    await hasEnded(holder)
    const [before, after, ...more] = await lines('holder.steps')
    expect(before).toMatch(/^\S+ 1$/)
    expect(after).toBe(before)
    expect(more).toEqual([])
    expect((await client.context(holder)).executionHistory.map(({ stateName }) => stateName)).toEqual(['hold', 'done'])
  })

  test('a child that waits still answers its parent', async () => {
    const [child] = await client.list({ fluxName: 'Child' })
    await client.event('say', child?.id, { word: 'still here' })
    await hasEnded(parent)
    expect(outputOf(await client.context(parent), 'answer')).toBe('still here')
  })

  test('a child that runs a step runs it again, once, and answers its parent', async () => {
    await vi.waitFor(async () => expect(await lines('boss.steps')).toHaveLength(2), 5000)
    await openGate('boss')
    await hasEnded(boss)
    expect(new Set(await lines('boss.steps')).size).toBe(1)
    expect(await client.list({ fluxName: 'Holder', status: 'COMPLETED' })).toHaveLength(2)
  })

  test('every timer fires, once, and none too early', async () => {
    await sleep(Math.max(...timers.map(({ due }) => due)) - Date.now())
    const woken = await vi.waitFor(async () => {
      const views = await forEach(timers, async (timer) => ({ ...timer, view: await client.context(timer.id) }))
      expect(views.filter(({ view }) => view.status !== 'COMPLETED')).toEqual([])
      return views.map((timer) => ({ ...timer, takenAt: takenAt(timer.view) }))
    }, 5000)
    const overdue = woken.filter(({ due }) => due >= killedAt && due < readyAt - 500)
    const later = woken.filter(({ due }) => due > readyAt)
    expect(overdue.length).toBeGreaterThan(5)
    expect(later.length).toBeGreaterThan(5)

    expect(
      woken.filter(({ view }) => view.executionHistory.map(({ stateName }) => stateName).join() !== 'start,done'),
    ).toEqual([])
    expect(woken.filter(({ takenAt, due }) => takenAt < due)).toEqual([])
    expect(overdue.filter(({ takenAt }) => takenAt < killedAt + DEAD)).toEqual([])
    expect(later.filter(({ takenAt, due }) => takenAt > due + 2000)).toEqual([])
  }, 20_000)
})

/** When the only transition was taken. */
function takenAt({ stateContexts, executionHistory }: ContextView): number {
  const [transition] = stateContexts.find(({ name }) => name === 'start')?.transitionContexts ?? []
  expect(transition?.takenAt).toBe(executionHistory[1]?.enteredAt)
  return transition?.takenAt ?? NaN
}
