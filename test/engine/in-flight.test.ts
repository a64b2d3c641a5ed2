// What the engine holds at once is bounded: steps that wait hold no data, and what doesn't fit waits or is refused.
import { describe, expect, test, vi } from 'vitest'
import { ByteBudget } from '../../src/model/byte-budget.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench, outputs, type Bench, type Files } from '../support/engine.ts'

const KIB = 1024
const copy = (name: string) => ({ from: [name], to: [name] })
const FILES: Files = {
  'p/Fn.ts': `
let running = 0
let most = 0
const gates = []
export function hold(args, flux) {
  running += 1
  most = Math.max(most, running)
  return new Promise((resolve) => gates.push(resolve)).then(() => { running -= 1; return { most, length: args.text?.length ?? 0 } })
}
export function open() { for (const gate of gates.splice(0)) gate(); return { running } }`,
  'p/Hold.flux': {
    input: [{ name: 'text' }],
    output: [
      { name: 'most', type: 'integer' },
      { name: 'length', type: 'integer' },
    ],
    states: [
      {
        name: 'hold',
        action: {
          type: 'invokeCode',
          className: 'Fn',
          methodName: 'hold',
          timeout: 600,
          inputs: [copy('text')],
          outputs: [copy('most'), copy('length')],
        },
      },
    ],
  },
  'p/Open.flux': { states: [{ name: 'open', action: { type: 'invokeCode', className: 'Fn', methodName: 'open' } }] },
  'p/Script.flux': {
    input: [{ name: 'text' }],
    output: [{ name: 'seen', type: 'any' }],
    states: [
      {
        name: 'look',
        action: {
          type: 'script',
          script: 'return { seen: { length: text.length, names: Object.keys(names).sort(), request: $request } }',
          outputs: [copy('seen')],
        },
      },
    ],
  },
  'p/Wait.flux': {
    input: [{ name: 'text' }],
    states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'tick' }] }],
  },
}
const TEXT = 'x'.repeat(100 * KIB)

let bench: Bench
const done = ({ status }: { status: string }) => ['COMPLETED', 'FAILED', 'TERMINATED'].includes(status)
/** Opens the gates until all of them have ended. */
async function release(ids: readonly number[]): Promise<void> {
  await vi.waitFor(
    async () => {
      await bench.run('Open')
      for (const contextId of ids) expect(done(await bench.getContext({ contextId }))).toBe(true)
    },
    { timeout: 20_000, interval: 20 },
  )
}

/** Counts what is read. */
function counting(reads: Map<number, number>) {
  return (store: Store): Store =>
    new Proxy(store, {
      get(target, verb: keyof Store) {
        const method = target[verb]
        if (typeof method !== 'function') return method
        return (request: { id: number }) => {
          if (verb === 'load') reads.set(request.id, (reads.get(request.id) ?? 0) + 1)
          return Reflect.apply(method, target, [request])
        }
      },
    })
}

describe('a step', () => {
  test('that waits for a slot reads its data when it gets one, and one that begins at once reads nothing', async () => {
    const reads = new Map<number, number>()
    bench = await openBench(FILES, { stepConcurrency: 2, wrap: counting(reads), memory: { cache: 0 } })
    const first = await bench.run('Hold', { text: TEXT })
    const second = await bench.run('Hold', { text: TEXT })
    const third = await bench.run('Hold', { text: TEXT })
    expect([first, second, third].map((id) => reads.get(id) ?? 0)).toEqual([0, 0, 0])
    await bench.terminate({ contextId: first })
    await vi.waitFor(() => expect(reads.get(third)).toBe(1))
    const fourth = await bench.run('Hold', { text: TEXT })
    await bench.terminate({ contextId: second })
    await bench.terminate({ contextId: fourth })
    await release([third])
    expect(outputs(await bench.getContext({ contextId: third }))).toMatchObject({ length: TEXT.length })
  })

  test('for whose data there is no room waits, is never refused, and keeps no small one from running', async () => {
    bench = await openBench(FILES, { memory: { steps: 500 * KIB } })
    const large = await Promise.all(Array.from({ length: 6 }, () => bench.run('Hold', { text: TEXT })))
    const small = await bench.run('Hold', { text: 'x' })
    await vi.waitFor(async () =>
      expect(await bench.getContext({ contextId: small })).toMatchObject({ step: { startedAt: bench.clock.now() } }),
    )
    const views = await Promise.all(large.map((contextId) => bench.getContext({ contextId })))
    const waiting = views.filter(({ step }) => step?.startedAt === null)
    expect(waiting.length).toBeGreaterThan(1)
    expect(waiting.every(({ step }) => step?.timeoutAt === null && step.server === null)).toBe(true)
    await release([...large, small])
    for (const contextId of large)
      expect(outputs(await bench.getContext({ contextId }))).toMatchObject({ length: TEXT.length })
    for (const contextId of large)
      expect(Number(outputs(await bench.getContext({ contextId }))['most'])).toBeLessThan(7)
  })

  test('that is a script keeps no memory from others while it runs', async () => {
    bench = await openBench(
      {
        ...FILES,
        'p/Endless.flux': {
          input: [{ name: 'text' }],
          states: [{ name: 's', action: { type: 'script', script: 'for (;;);', timeout: 60 } }],
        },
      },
      { memory: { steps: 200 * KIB } },
    )
    await bench.run('Endless', { text: TEXT })
    const held = await bench.run('Hold', { text: TEXT })
    expect((await bench.getContext({ contextId: held })).step?.startedAt).toBe(bench.clock.now())
    await release([held])
  })

  test('that is a script sees what it saw, and the store holds no second copy of it', async () => {
    const sizes: number[] = []
    bench = await openBench(FILES, {
      wrap: (store) =>
        new Proxy(store, {
          get(target, verb: keyof Store) {
            const method = target[verb]
            if (typeof method !== 'function') return method
            return (request: { writes: { context: { parts: { [name: string]: string } } }[] }) => {
              if (verb === 'commit')
                for (const {
                  context: { parts },
                } of request.writes)
                  sizes.push(Object.values(parts).join('').length)
              return Reflect.apply(method, target, [request])
            }
          },
        }),
    })
    const view = await bench.until(await bench.run('Script', { text: TEXT }), done)
    expect(outputs(view)['seen']).toMatchObject({
      length: TEXT.length,
      request: null,
      names: expect.arrayContaining(['$fluxContextId', '$request', 'seen', 'text']),
    })
    expect(Math.max(...sizes)).toBeLessThan(1.2 * TEXT.length)
  })
})

describe('a caller in process', () => {
  test('is refused as overloaded while too much is handled, and told when to come again; small calls go on', async () => {
    const requests = new ByteBudget({ bytes: 400 * KIB, what: 'requests' })
    bench = await openBench(FILES, { memory: { requests } })
    const api = bench.engine.local()
    const start = () => api.execute({ package: 'p', fluxName: 'Wait', input: { text: TEXT } })
    const outcomes = await Promise.allSettled([
      start(),
      start(),
      api.execute({ package: 'p', fluxName: 'Wait', input: { text: 'x' } }),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(outcomes[1]).toMatchObject({ reason: { name: 'FluxError', failure: { kind: 'overloaded', retryAfter: 1 } } })
    expect(requests.held).toBe(0)
    const { contextId } = await start()
    await expect(
      Promise.all([
        api.sendEvent({ contextId, event: 'tick', input: { TEXT } }),
        api.sendEvent({ contextId, event: 'tick', input: { TEXT } }),
      ]),
    ).rejects.toMatchObject({ failure: { kind: 'overloaded' } })
    expect(await bench.sendEvent({ contextId, event: 'tick' })).toMatchObject({ transitions: [{ contextId }] })
  })
})

test('large contexts that are due at once are decided on one after the other', async () => {
  bench = await openBench(
    {
      'p/Timed.flux': {
        input: [{ name: 'text' }],
        states: [{ name: 'w', waiting: true, transitions: [{ to: 'end', wait: 'duration:60' }] }, { name: 'end' }],
      },
    },
    { memory: { steps: 300 * KIB } },
  )
  const ids = await Promise.all(Array.from({ length: 12 }, () => bench.run('Timed', { text: TEXT })))
  await bench.advance(60_000)
  for (const contextId of ids) expect(await bench.until(contextId, done)).toMatchObject({ status: 'COMPLETED' })
})

test("large contexts that can't be read keep no room from the others", async () => {
  const garbled = new Set<number>()
  bench = await openBench(FILES, {
    memory: { steps: 300 * KIB, cache: 0 },
    wrap: (store) =>
      new Proxy(store, {
        get(target, verb: keyof Store) {
          const method = target[verb]
          if (verb === 'load')
            return async ({ id }: { id: number }) => {
              const stored = await target.load({ id })
              return stored && garbled.has(id)
                ? { ...stored, parts: { ...stored.parts, input: `${stored.parts['input']}}` } }
                : stored
            }
          return typeof method === 'function' ? (request: never) => Reflect.apply(method, target, [request]) : method
        },
      }),
  })
  const [bad, good] = [await bench.run('Wait', { text: TEXT }), await bench.run('Wait', { text: TEXT })]
  garbled.add(bad)
  for (let time = 0; time < 5; time += 1)
    await expect(bench.sendEvent({ contextId: bad, event: 'tick' })).rejects.toMatchObject({
      failure: { kind: 'unreadable' },
    })
  expect(await bench.sendEvent({ contextId: good, event: 'tick' })).toMatchObject({
    transitions: [{ contextId: good }],
  })
})
