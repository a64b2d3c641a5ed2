// The hint on an event that came to nothing: whether anybody knows it.
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ANONYMOUS } from '../../src/model/caller.ts'
import { openBench, writeFiles, type Files } from '../support/engine.ts'

const waiting = (event: string, more: object = {}) => ({
  states: [{ name: 'wait', waiting: true, transitions: [{ event, to: 'end' }] }, { name: 'end' }],
  ...more,
})

async function hintOf(files: Files, event: string, tags: string[] = []): Promise<string | undefined> {
  const bench = await openBench(files)
  return (await bench.sendEvent({ event, tags })).hint
}

describe('an event that nobody knows', () => {
  test.each([
    ['paymnt', "no service knows the event 'paymnt'; did you mean 'payment'?"],
    ['PAYMENT', "no service knows the event 'PAYMENT'; did you mean 'payment'?"],
    ['shiped', "no service knows the event 'shiped'; did you mean 'shipped'?"],
    ['elsewhere', "no service knows the event 'elsewhere'"],
    ['payment', undefined],
    ['shipped', undefined],
    ['inner', undefined],
  ])('%s: %s', async (event, hint) => {
    const inner = {
      states: [
        {
          name: 'act',
          transitions: [
            { event: 'inner', to: 'end' },
            { event: '$exception', to: 'end' },
          ],
        },
        { name: 'end' },
      ],
    }
    expect(
      await hintOf(
        { 'p/A.flux': waiting('payment'), 'p/B.flux': { ...inner, triggers: ['shipped'] } },
        event,
        event === 'shipped' ? ['x'] : [],
      ),
    ).toBe(hint)
  })

  test('is taken by $else, wherever that is', async () => {
    expect(await hintOf({ 'p/A.flux': waiting('payment'), 'p/B.flux': waiting('$else') }, 'anything')).toBeUndefined()
  })

  test('has no effect, and the hint no place where somebody was moved', async () => {
    const bench = await openBench({ 'p/A.flux': waiting('payment') })
    const contextId = await bench.run('A')
    expect(await bench.sendEvent({ event: 'nothing' })).toMatchObject({ transitions: [], executions: [], ignored: [] })
    await expect(bench.sendEvent({ contextId, event: 'pament' })).rejects.toMatchObject({
      failure: { kind: 'conflict', hint: "no service knows the event 'pament'; did you mean 'payment'?" },
    })
    expect(await bench.sendEvent({ event: 'payment' })).not.toHaveProperty('hint')
    const refusal = await bench.sendEvent({ contextId, event: 'payment' }).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ failure: { kind: 'conflict' } })
    expect(refusal).not.toHaveProperty('failure.hint')
  })
})

test('what is not loaded is not known, though a context runs on it', async () => {
  const bench = await openBench({ 'p/A.flux': waiting('before') })
  const contextId = await bench.run('A')
  await writeFiles(join(bench.folder, 'actors'), { 'p/A.flux': waiting('afterwards') })
  const again = await bench.restart()
  expect((await again.sendEvent({ event: 'before', tags: ['x'] })).hint).toBe("no service knows the event 'before'")
  expect(await again.sendEvent({ contextId, event: 'before' })).not.toHaveProperty('hint')
})

test('nothing is told of services that the caller may not use', async () => {
  const bench = await openBench({
    'p/Open.flux': waiting('order'),
    'p/Closed.flux': waiting('secretly', { secured: true }),
    'p/Any.flux': waiting('$else', { secured: true }),
  })
  const anyone = bench.engine.api(ANONYMOUS)
  for (const event of ['secretly', 'secretl']) {
    expect((await anyone.sendEvent({ event })).hint).toBe(`no service that is open to you knows the event '${event}'`)
  }
  expect((await anyone.sendEvent({ event: 'ordr' })).hint).toBe(
    "no service that is open to you knows the event 'ordr'; did you mean 'order'?",
  )
  expect((await bench.sendEvent({ event: 'whatever' })).hint).toBeUndefined()
})

test('refusals cost the same, however many events the services know', async () => {
  const services = Array.from({ length: 40 }, (_, service): [string, object] => {
    const events = Array.from({ length: 500 }, (__, at) => `event-${service}-${at}`)
    const transitions = events.map((event) => ({ event, to: 'end' }))
    return [`p/S${service}.flux`, { states: [{ name: 'wait', waiting: true, transitions }, { name: 'end' }] }]
  })
  const bench = await openBench(Object.fromEntries(services))
  const contextId = await bench.run('S0')
  const refuse = () => expect(bench.sendEvent({ contextId, event: 'event-1-1' })).rejects.toThrow("doesn't wait for")
  await refuse()
  const before = process.cpuUsage()
  for (let round = 0; round < 400; round += 1) await refuse()
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(600)
})
