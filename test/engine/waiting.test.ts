import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBench, outputs, type Bench } from '../support/engine.ts'

const set = (to: string, expression: string) => ({ type: 'set', expression, evaluate: true, to: [to] })
const carry = (from: string, to = from) => ({ from: [from], to: [to] })

let bench: Bench
beforeAll(async () => {
  bench = await openBench({
    'p/Approval.flux': {
      input: [{ name: 'amount', type: 'integer' }],
      output: [{ name: 'by' }, { name: 'end' }, { name: 'heard' }],
      states: [
        {
          name: 'ask',
          waiting: true,
          input: [
            { name: 'by', required: true },
            { name: 'note', defaultValue: 'none' },
            { name: 'level', type: 'integer', min: 1 },
          ],
          output: [{ name: 'visits', type: 'integer', defaultValue: 0 }],
          action: { type: 'map', lines: [carry('by'), set('heard', '$fluxEvent'), set('visits', 'visits + 1')] },
          transitions: [
            { to: 'approved', event: 'approve', lines: [carry('note'), carry('visits')] },
            { to: 'ask', event: 'again', lines: [set('note', '"carried " + visits')] },
            { to: 'expired', wait: 'duration:60' },
            { to: 'reminded', wait: 'duration:90' },
          ],
        },
        {
          name: 'approved',
          input: [{ name: 'note' }, { name: 'visits', type: 'integer' }],
          action: { type: 'map', lines: [set('end', '`${note}/${visits}/${$fluxEvent}`')] },
        },
        { name: 'expired', action: { type: 'map', lines: [set('end', '"expired"')] } },
        { name: 'reminded' },
      ],
    },
    'p/Listener.flux': {
      output: [{ name: 'heard' }],
      states: [
        {
          name: 'any',
          waiting: true,
          action: { type: 'map', lines: [set('heard', '$fluxEvent')] },
          transitions: [{ to: 'any', event: '$else' }],
        },
      ],
    },
    'p/Timer.flux': {
      input: [{ name: 'at', type: 'any' }],
      states: [{ name: 'sleep', waiting: true, transitions: [{ to: 'done', wait: 'date:${at}' }] }, { name: 'done' }],
    },
    'p/Override.flux': {
      states: [
        {
          name: 'w',
          waiting: true,
          action: { type: 'map', lines: [set('$fluxEvent', '"other"')] },
          transitions: [
            { to: 'a', event: 'go' },
            { to: 'b', event: 'other' },
          ],
        },
        { name: 'a' },
        { name: 'b' },
      ],
    },
  })
})
afterAll(() => bench.close())

describe('a waiting state', () => {
  test('waits before its action, until the earliest of its timed transitions', async () => {
    const contextId = await bench.run('Approval', { amount: 3 })
    const view = await bench.getContext({ contextId })
    expect(view).toMatchObject({
      status: 'WAITING_UNTIL',
      waiting: true,
      currentState: 'ask',
      nextRun: bench.clock.now() + 60_000,
    })
    expect(outputs(view)).toEqual({ by: null, end: null, heard: null })
  })

  test("takes an event that a transition names: its inputs become the state's, the action runs, the transition is chosen", async () => {
    const contextId = await bench.run('Approval')
    const answer = await bench.sendEvent({ contextId, event: 'approve', input: { by: 'ann', unknown: 1 } })
    expect(answer).toMatchObject({ transitions: [{ contextId, state: 'approved' }], executions: [], ignored: [] })
    const view = await bench.getContext({ contextId })
    expect(view).toMatchObject({ status: 'COMPLETED', currentState: 'approved' })
    expect(outputs(view)).toEqual({ by: 'ann', end: 'none/1/null', heard: 'approve' })
    expect(view.stateContexts[0]?.transitionContexts).toMatchObject([
      { event: 'approve', to: 'approved', values: { note: 'none', visits: 1 } },
    ])
  })

  test('starts its inputs from their defaults on each entry, what lines carried over that, and keeps its outputs', async () => {
    const contextId = await bench.run('Approval')
    await bench.sendEvent({ contextId, event: 'again', input: { by: 'ann', note: 'mine', level: 3 } })
    const { input, output } = await bench.getStateContext({ contextId, stateName: 'ask' })
    expect(input.gloopProperties).toMatchObject([
      { name: 'by', value: null },
      { name: 'note', value: 'carried 1' },
      { name: 'level', value: null },
    ])
    expect(output.gloopProperties).toMatchObject([{ name: 'visits', value: 1 }])
    await bench.sendEvent({ contextId, event: 'approve', input: { by: 'bob' } })
    expect(outputs(await bench.getContext({ contextId }))).toMatchObject({ end: 'carried 1/2/null' })
  })

  test.each([
    ['a missing required input', {}, '/input/by'],
    ['an explicit null where none may be', { by: 'x', level: 'no' }, '/input/level'],
    ['a number below its minimum', { by: 'x', level: 0 }, '/input/level'],
    ['a number where text belongs', { by: 5 }, '/input/by'],
  ])('refuses %s and stays as it was', async (_, input, pointer) => {
    const contextId = await bench.run('Approval')
    const before = await bench.getContext({ contextId, snapshot: true })
    await expect(bench.sendEvent({ contextId, event: 'approve', input })).rejects.toMatchObject({
      failure: { kind: 'invalid', errors: [{ pointer }] },
    })
    expect(await bench.getContext({ contextId, snapshot: true })).toEqual(before)
  })

  test('refuses an event that it does not wait for, and one for a context that is not there', async () => {
    const contextId = await bench.run('Approval')
    await expect(bench.sendEvent({ contextId, event: 'nope' })).rejects.toMatchObject({ failure: { kind: 'conflict' } })
    await expect(bench.sendEvent({ contextId: 999_999, event: 'approve' })).rejects.toMatchObject({
      failure: { kind: 'notFound' },
    })
    await expect(bench.sendEvent({ contextId, event: '$exception' })).rejects.toMatchObject({
      failure: { kind: 'malformed' },
    })
  })

  test('takes its earliest timed transition when the time comes, without running the action', async () => {
    const contextId = await bench.run('Approval')
    const due = bench.clock.now() + 60_000
    await bench.advance(59_999)
    expect(await bench.getContext({ contextId })).toMatchObject({ currentState: 'ask' })
    await bench.advance(1)
    const view = await bench.until(contextId, ({ status }) => status === 'COMPLETED')
    expect(outputs(view)).toEqual({ by: null, end: 'expired', heard: null })
    expect(view.stateContexts[0]?.transitionContexts).toEqual([
      { event: null, to: 'expired', takenAt: due, values: {} },
    ])
  })

  test('hears every event with $else', async () => {
    const contextId = await bench.run('Listener')
    await bench.sendEvent({ contextId, event: 'one' })
    await bench.sendEvent({ contextId, event: 'xstate.stop' })
    expect(outputs(await bench.getContext({ contextId }))).toEqual({ heard: 'xstate.stop' })
    expect((await bench.sendEvent({ event: 'all of you' })).transitions).toContainEqual({ contextId, state: 'any' })
    await bench.terminate({ contextId })
  })

  test('lets its action choose another event', async () => {
    const contextId = await bench.run('Override')
    await expect(bench.sendEvent({ contextId, event: 'go' })).resolves.toMatchObject({ transitions: [{ state: 'b' }] })
  })

  test('waits until a date, given as milliseconds or as ISO 8601; a past one is due now', async () => {
    const now = bench.clock.now()
    const ids = await Promise.all(
      [now + 5000, String(now + 5000), new Date(now + 5000).toISOString()].map((at) => bench.run('Timer', { at })),
    )
    for (const contextId of ids)
      expect(await bench.getContext({ contextId })).toMatchObject({ status: 'WAITING_UNTIL', nextRun: now + 5000 })
    const past = await bench.run('Timer', { at: now - 1 })
    await bench.advance(0)
    await bench.until(past, ({ status }) => status === 'COMPLETED')
    await bench.advance(5000)
    for (const contextId of ids) await bench.until(contextId, ({ status }) => status === 'COMPLETED')
  })

  test('fails when its wait is no date', async () => {
    expect(await bench.getContext({ contextId: await bench.run('Timer', { at: 'tomorrow' }) })).toMatchObject({
      status: 'FAILED',
      currentState: 'sleep',
    })
  })

  test('counts each of many concurrent events once', async () => {
    const contextId = await bench.run('Approval')
    await Promise.all(
      Array.from({ length: 300 }, () => bench.sendEvent({ contextId, event: 'again', input: { by: 'ann' } })),
    )
    const { output } = await bench.getStateContext({ contextId, stateName: 'ask' })
    expect(output.gloopProperties).toMatchObject([{ value: 300 }])
  })

  test('keeps its history whole and in order, wherever it is kept, also over a restart', async () => {
    const contextId = await bench.run('Approval')
    for (let turn = 0; turn < 24; turn += 1) {
      await bench.sendEvent({ contextId, event: 'again', input: { by: 'ann' } })
      const { executionHistory, stateContexts } = await bench.getContext({ contextId })
      expect(executionHistory).toHaveLength(turn + 2)
      expect(stateContexts[0]?.transitionContexts.map(({ values }) => values['note'])).toEqual(
        Array.from({ length: turn + 1 }, (_, index) => `carried ${index + 1}`),
      )
    }
    const before = await bench.getContext({ contextId })
    bench = await bench.restart()
    expect(await bench.getContext({ contextId })).toEqual(before)
    await bench.terminate({ contextId })
  })

  test('is found again after a restart, with its time', async () => {
    const contextId = await bench.run('Approval')
    const before = await bench.getContext({ contextId, snapshot: true })
    bench = await bench.restart()
    expect(await bench.getContext({ contextId, snapshot: true })).toEqual(before)
    await bench.advance(60_000)
    await bench.until(contextId, ({ status }) => status === 'COMPLETED')
  })
})
