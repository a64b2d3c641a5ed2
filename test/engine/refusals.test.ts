// Deliveries that are refused leave a line in the log, and a flood of them only a few.
import { beforeEach, describe, expect, test } from 'vitest'
import { openBench, type Bench } from '../support/engine.ts'

let bench: Bench
beforeEach(async () => {
  bench = await openBench({
    'p/Wait.flux': {
      states: [
        {
          name: 'open',
          waiting: true,
          input: [{ name: 'n', type: 'integer', required: true }],
          transitions: [{ event: 'close', to: 'shut' }],
        },
        { name: 'shut' },
      ],
    },
  })
})

const lines = (message: string) => bench.logged.filter((line) => line.message.startsWith(message))
const send = (contextId: number, event: string, input: object = {}, tags?: string[]) =>
  bench
    .sendEvent({ contextId, event, input: { ...input }, ...(tags && { tags }) })
    .catch((error: { failure: { kind: string } }) => error.failure.kind)

describe('an event for one context', () => {
  test('that is refused is told with context, service, state and reason', async () => {
    const contextId = await bench.run('Wait')
    expect(await send(contextId, 'other')).toBe('conflict')
    expect(await send(contextId, 'close', { n: 'x' })).toBe('invalid')
    expect(await send(contextId, 'close', { n: 1 }, ['a,b'])).toBe('invalid')
    await bench.advance(0)
    const facts = { contextId, fluxName: 'Wait', state: 'open' }
    expect(lines('an event was refused')).toEqual([
      {
        level: 'info',
        message: 'an event was refused',
        fields: { ...facts, event: 'other', reason: expect.stringContaining("doesn't wait for 'other'") },
      },
      {
        level: 'info',
        message: 'an event was refused',
        fields: { ...facts, event: 'close', reason: expect.stringContaining('/input/n') },
      },
      {
        level: 'info',
        message: 'an event was refused',
        fields: { ...facts, event: 'close', reason: expect.stringContaining('/tags') },
      },
    ])
  })

  test("that the server can't take, or that is for none, is not told there", async () => {
    expect(await send(999, 'close')).toBe('notFound')
    expect(await send(0, 'close')).toBe('malformed')
    expect(await send(await bench.run('Wait'), 'close', { n: 1 })).toMatchObject({ transitions: [{}] })
    expect(lines('an event was refused')).toEqual([])
  })

  test('of which too many wait is told, too', async () => {
    const contextId = await bench.run('Wait')
    const kinds = await Promise.all(Array.from({ length: 1200 }, () => send(contextId, 'close', { n: 1 })))
    expect(kinds).toContain('busy')
    await bench.advance(0)
    expect(lines('an event was refused').map(({ fields }) => fields)).toContainEqual(
      expect.objectContaining({ contextId, fluxName: 'Wait', reason: expect.stringContaining('wait for context') }),
    )
  })
})

test('of a flood at most ten lines a second are written, and how many were left out', async () => {
  const contextId = await bench.run('Wait')
  for (let round = 0; round < 50; round += 1) await send(contextId, 'other')
  await bench.advance(0)
  expect(lines('an event was refused')).toHaveLength(10)
  await bench.advance(1000)
  expect(lines('an event was refused').at(-1)).toEqual({
    level: 'info',
    message: 'an event was refused, and others like it',
    fields: { reason: 'conflict', leftOut: 40 },
  })
  await send(contextId, 'other')
  await bench.advance(0)
  expect(lines('an event was refused')).toHaveLength(12)
  await bench.advance(1000)
  expect(lines('an event was refused')).toHaveLength(12)
})

test('a flood for one reason hides no refusal for another', async () => {
  const contextId = await bench.run('Wait')
  for (let round = 0; round < 50; round += 1) await send(contextId, 'other')
  await send(contextId, 'close', { n: 'x' })
  await bench.advance(1000)
  const told = lines('an event was refused').map(({ fields }) => fields)
  expect(told).toContainEqual(expect.objectContaining({ event: 'close', reason: expect.stringContaining('/input/n') }))
  expect(told).toContainEqual({ reason: 'conflict', leftOut: 40 })
})

test('a broadcast gives one line with counts', async () => {
  for (let count = 0; count < 30; count += 1) await bench.run('Wait')
  await bench.sendEvent({ event: 'close', input: { n: 'x' } })
  await bench.sendEvent({ event: 'nobody' })
  expect(lines('a broadcast')).toEqual([
    {
      level: 'info',
      message: 'a broadcast was refused by some',
      fields: {
        event: 'close',
        moved: 0,
        started: 0,
        refused: { invalid: 30 },
        contextId: expect.any(Number),
        fluxName: 'Wait',
        state: 'open',
        reason: expect.stringContaining('/input/n'),
      },
    },
  ])
  for (let round = 0; round < 30; round += 1) await bench.sendEvent({ event: 'close', input: { n: 'x' } })
  expect(lines('a broadcast')).toHaveLength(10)
})
