// The hint on an event that came to nothing: whether anybody knows it.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { ANONYMOUS } from '../../src/model/caller.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench, writeFiles, type Files } from '../support/engine.ts'

const waiting = (event: string, more: object = {}) => ({
  states: [{ name: 'wait', waiting: true, transitions: [{ event, to: 'end' }] }, { name: 'end' }],
  ...more,
})

async function hintOf(files: Files, event: string, tags: string[] = []): Promise<string | undefined> {
  const bench = await openBench(files)
  try {
    return (await bench.sendEvent({ event, tags })).hint
  } finally {
    await bench.close()
  }
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
    await bench.close()
  })
})

describe('what is pinned counts', () => {
  test('as long as a context runs on it, over a restart', async () => {
    const bench = await openBench({ 'p/A.flux': waiting('before'), 'p/B.flux': waiting('other') })
    const contextId = await bench.run('A')
    await writeFiles(join(bench.folder, 'actors'), { 'p/A.flux': waiting('afterwards') })
    const again = await bench.restart()
    // One of the new definition, to be looked past.
    const fresh = await again.run('A')
    expect((await again.sendEvent({ event: 'before', tags: ['x'] })).hint).toBeUndefined()
    expect((await again.sendEvent({ event: 'befor' })).hint).toBe(
      "no service knows the event 'befor'; did you mean 'before'?",
    )
    await again.terminate({ contextId })
    await again.advance(10_001)
    expect((await again.sendEvent({ event: 'before' })).hint).toBe("no service knows the event 'before'")
    expect((await again.sendEvent({ event: 'befor' })).hint).toBe("no service knows the event 'befor'")
    await again.terminate({ contextId: fresh })
    await again.close()
  })

  test('with its $else', async () => {
    const bench = await openBench({ 'p/A.flux': waiting('$else') })
    await bench.run('A', {}, { tags: ['x'] })
    await rm(join(bench.folder, 'actors/p/A.flux'))
    await writeFiles(join(bench.folder, 'actors'), { 'p/B.flux': waiting('other') })
    const again = await bench.restart()
    expect((await again.sendEvent({ event: 'anything' })).hint).toBeUndefined()
    await again.close()
  })
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
  await bench.close()
})

/** One that can't tell what it keeps. */
const withoutDefinitions = (store: Store): Store =>
  new Proxy(store, {
    get(target, name, receiver) {
      if (name === 'definitions') return () => Promise.reject(new Error('away'))
      const value: unknown = Reflect.get(target, name, receiver)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

describe('what it costs', () => {
  test('nothing where somebody was addressed or the event is known, and one look at the definitions at a time', async () => {
    const asked: string[] = []
    const wrap = (store: Store): Store =>
      new Proxy(store, {
        get(target, name, receiver) {
          if (name === 'definitions' || name === 'list') asked.push(name)
          const value: unknown = Reflect.get(target, name, receiver)
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
    const bench = await openBench({ 'p/A.flux': waiting('payment') }, { wrap })
    await bench.run('A')
    await bench.sendEvent({ event: 'payment' })
    await bench.sendEvent({ event: 'payment' })
    expect(asked).toEqual([])
    await Promise.all(Array.from({ length: 50 }, () => bench.sendEvent({ event: 'unknown' })))
    expect(asked.length).toBeLessThan(50)
    await bench.close()
  })

  test('a store that fails leaves the answer as it is', async () => {
    const bench = await openBench({ 'p/A.flux': waiting('payment') }, { wrap: withoutDefinitions })
    expect(await bench.sendEvent({ event: 'unknown' })).toEqual({
      message: "'unknown': moved 0, started 0, ignored by 0",
      transitions: [],
      executions: [],
      ignored: [],
      eventId: expect.any(String),
      pending: [],
    })
    await bench.close()
  })
})

test('the names of all services are gathered once, however many events nobody knows', async () => {
  const transitions = Array.from({ length: 100 }, (_, n) => ({ event: `known-${n}`, to: 'end' }))
  const bench = await openBench({
    'p/A.flux': { states: [{ name: 'wait', waiting: true, transitions }, { name: 'end' }] },
    'p/B.flux': waiting('delivery'),
  })
  expect((await bench.sendEvent({ event: 'knwn-77' })).hint).toContain("'known-77'")
  const added = vi.spyOn(Set.prototype, 'add')
  for (let n = 0; n < 20; n += 1) await bench.sendEvent({ event: `unknown-${n}` })
  const gathered = added.mock.calls.filter(([name]) => typeof name === 'string' && name.startsWith('known-')).length
  added.mockRestore()
  expect(gathered).toBe(0)
  await bench.close()
})
