// Rehearsed calls: what they say, that nothing happens, and versions that calls name.
import { describe, expect, test } from 'vitest'
import { rehearsalAnswer, type Would } from '../../../src/api/rehearsal.ts'
import { ANONYMOUS } from '../../../src/model/caller.ts'
import { openBench, outputs, type Bench } from '../../support/engine.ts'

const PAY = {
  key: '${order}',
  tags: ['o-${order}'],
  input: [{ name: 'order', type: 'string' }],
  output: [
    { name: 'charged', type: 'string' },
    { name: 'late', type: 'boolean', defaultValue: false },
  ],
  onEnd: { url: 'http://shop.example/${order}', secret: '$secrets.HOOK' },
  states: [
    {
      name: 'Wait',
      waiting: true,
      input: [{ name: 'amount', type: 'integer' }],
      transitions: [
        { event: 'pay', to: 'Charge' },
        { event: 'help', to: 'Help' },
        { wait: 'duration:60', to: 'Late' },
      ],
    },
    {
      name: 'Charge',
      output: [{ name: 'id', type: 'string' }],
      action: {
        type: 'invokeCode',
        className: 'pay',
        methodName: 'charge',
        retry: { maxAttempts: 3, delay: 10 },
        inputs: [{ from: ['order'], to: ['what'] }],
        outputs: [
          { from: ['id'], to: ['id'] },
          { from: ['id'], to: ['charged'] },
        ],
      },
      transitions: [{ to: 'Done' }, { event: '$exception', to: 'Late' }],
    },
    {
      name: 'Help',
      action: { type: 'invokeFlux', name: 'Helper', outputs: [{ from: ['answer'], to: ['charged'] }] },
      transitions: [{ to: 'Done' }, { event: '$exception', to: 'Late' }],
    },
    { name: 'Late', action: { lines: [{ type: 'set', expression: 'true', evaluate: true, to: ['late'] }] } },
    { name: 'Done' },
  ],
}
const HELPER = {
  output: [{ name: 'answer', type: 'string' }],
  states: [
    {
      name: 'Ask',
      action: { type: 'invokeCode', className: 'pay', methodName: 'ask', outputs: [{ from: ['a'], to: ['answer'] }] },
      transitions: [{ to: 'Answered' }],
    },
    { name: 'Answered' },
  ],
}
const TRIGGERED = { triggers: [{ event: 'pay' }], states: [{ name: 'End' }] }
const PARENT = {
  states: [
    { name: 'Ask', action: { type: 'invokeFlux', name: 'Kid', timeout: 80 }, transitions: [{ to: 'Told' }] },
    { name: 'Told' },
  ],
}
const KID = {
  secured: true,
  states: [
    { name: 'Soon', waiting: true, transitions: [{ wait: 'duration:0', to: 'Later' }] },
    {
      name: 'Later',
      waiting: true,
      transitions: [
        { wait: 'duration:60', to: 'End' },
        { event: 'wait', to: 'Later' },
      ],
    },
    { name: 'End' },
  ],
}
const STANDING = {
  states: [{ name: 'Stand', action: { type: 'invokeCode', className: 'pay', methodName: 'stand' } }],
}
const LOOP = {
  output: [{ name: 'n', type: 'integer', defaultValue: 0 }],
  states: [
    {
      name: 'Tick',
      waiting: true,
      action: { lines: [{ type: 'set', expression: 'n + 1', evaluate: true, to: ['n'] }] },
      transitions: [{ wait: 'duration:1', to: 'Tick' }],
    },
  ],
}
const FILES = {
  'p/Pay.flux': PAY,
  'p/Helper.flux': HELPER,
  'p/Triggered.flux': TRIGGERED,
  'p/Loop.flux': LOOP,
  'p/Parent.flux': PARENT,
  'p/Kid.flux': KID,
  'p/Standing.flux': STANDING,
  'p/pay.mjs': [
    'export const charge = ({ what }) => ({ id: "ch-" + what })',
    'export const ask = () => ({ a: "yes" })',
    'export const stand = () => new Promise(() => {})',
  ].join('\n'),
}
const open = () => openBench(FILES, { secrets: { HOOK: 'x'.repeat(32) } })

const only = (would: readonly Would[] | undefined): Would => would?.[0] ?? expect.fail('nothing would happen')
const way = ({ from, entered, to, status }: Would) => [from, entered, to, status]

/** All that the store has, but for what is kept in memory. */
async function stored({ parts: { store } }: Bench) {
  const { contexts } = await store.select({ any: [[]], order: 'asc', limit: 1000 })
  const spaces = ['items', 'pending', 'held', 'copies', 'deliveries', 'ends', 'operations', 'marks'] as const
  const rows = await Promise.all(spaces.map((space) => store.listRows({ space, prefix: '', limit: 1000 })))
  return JSON.stringify([contexts, rows, await store.highestId(), await store.countRows({ space: 'idempotency' })])
}

describe('a rehearsal', () => {
  test('of a start has no id, and takes none', async () => {
    const bench = await open()
    const answer = await bench.execute({ package: 'p', fluxName: 'Pay', input: { order: 'a' }, dryRun: true })
    expect(answer).toMatchObject({ message: "started 'Pay' as context (new)", contextId: null, dryRun: true })
    expect(only(answer.would)).toMatchObject({
      contextId: null,
      version: null,
      key: 'a',
      from: null,
      to: 'Wait',
      status: 'WAITING_UNTIL',
      changed: [
        { pointer: '/input/order', from: null, to: 'a' },
        { pointer: '/output/late', from: null, to: false },
        { pointer: '/tags', from: [], to: ['o-a'] },
      ],
    })
    expect(await bench.run('Pay', { order: 'a' })).toBe(1)
    await expect(
      bench.execute({ package: 'p', fluxName: 'Pay', input: { order: 'a' }, dryRun: true }),
    ).rejects.toMatchObject({ failure: { kind: 'conflict', contextId: 1 } })
  })

  test('ends where a step would start, and goes on where its outcome is assumed', async () => {
    const bench = await open()
    const contextId = await bench.run('Pay', { order: 'a' })
    const pay = { event: 'pay', contextId, dryRun: true }
    const short = only((await bench.sendEvent(pay)).would)
    expect(way(short)).toEqual(['Wait', ['Charge'], 'Charge', 'RUNNING'])
    expect(short.steps).toEqual([
      {
        state: 'Charge',
        kind: 'invokeCode',
        className: 'pay',
        methodName: 'charge',
        arguments: { what: 'a' },
        assumed: false,
      },
    ])
    const long = only(
      (await bench.sendEvent({ ...pay, assume: { steps: { Charge: [{ result: { id: 'q' } }] } } })).would,
    )
    expect(way(long)).toEqual(['Wait', ['Charge', 'Done'], 'Done', 'COMPLETED'])
    expect(long.onEnd).toBe('http://shop.example/a')
    expect(long.changed).toContainEqual({ pointer: '/output/charged', from: null, to: 'q' })
    const failed = { steps: { Charge: [{ error: { type: 'Declined', message: 'no' } }] } }
    const resting = only((await bench.sendEvent({ ...pay, assume: failed })).would)
    expect([way(resting), resting.nextRun]).toEqual([
      ['Wait', ['Charge'], 'Charge', 'RUNNING'],
      bench.clock.now() + 10_000,
    ])
    const until = only((await bench.sendEvent({ ...pay, assume: { ...failed, until: '2026-01-02' } })).would)
    expect([until.entered, until.steps.length]).toEqual([['Charge', 'Late'], 3])
    expect((await bench.getContext({ contextId })).version).toBe(1)
  })

  test('has a child act in its place, unless its end is assumed', async () => {
    const bench = await open()
    const contextId = await bench.run('Pay', { order: 'a' })
    const help = { event: 'help', contextId, dryRun: true }
    const [parent, child] = (await bench.sendEvent(help)).would ?? []
    expect(parent).toMatchObject({
      to: 'Help',
      children: [{ package: 'p', fluxName: 'Helper', input: {} }],
      child: { contextId: null, fluxName: 'Helper', state: 'Ask' },
    })
    expect(child).toMatchObject({ contextId: null, fluxName: 'Helper', from: null, to: 'Ask' })
    const acted = (await bench.sendEvent({ ...help, assume: { steps: { Ask: [{ result: { a: 'yes' } }] } } })).would
    expect(acted?.map(({ fluxName, to }) => [fluxName, to])).toEqual([
      ['Pay', 'Done'],
      ['Helper', 'Answered'],
    ])
    const ended = (await bench.sendEvent({ ...help, assume: { steps: { Help: [{ result: { answer: 'no' } }] } } }))
      .would
    expect(ended?.map(({ fluxName, to }) => [fluxName, to])).toEqual([['Pay', 'Done']])
    expect(only(ended).changed).toContainEqual({ pointer: '/output/charged', from: null, to: 'no' })
  })

  test('takes what is due at once, and goes on with relatives that were there before', async () => {
    const bench = await open()
    const started = (await bench.execute({ package: 'p', fluxName: 'Parent', dryRun: true })).would
    expect(started?.map(({ to, entered, children }) => [to, entered, children.length])).toEqual([
      ['Ask', ['Ask'], 1],
      ['Later', ['Soon', 'Later'], 0],
    ])
    const contextId = await bench.run('Parent')
    await bench.advance(0)
    const tag = { contextId, tag: ['t'], dryRun: true }
    expect((await bench.addTags(tag)).would).toMatchObject([
      { contextId, to: 'Ask', child: { contextId: contextId + 1, fluxName: 'Kid', state: 'Later' } },
    ])
    const later = (await bench.addTags({ ...tag, assume: { until: bench.clock.now() + 60_000 } })).would
    expect(later?.map(way)).toEqual([
      ['Ask', ['Told'], 'Told', 'COMPLETED'],
      ['Later', ['End'], 'End', 'COMPLETED'],
    ])
    await bench.advance(30_000)
    const wait = { event: 'wait', contextId: contextId + 1, dryRun: true }
    const tooLate = (await bench.sendEvent({ ...wait, assume: { until: bench.clock.now() + 90_000 } })).would
    expect(tooLate?.map(way)).toEqual([
      ['Ask', [], 'Ask', 'FAILED'],
      ['Later', ['Later'], 'Later', 'TERMINATED'],
    ])
  })

  test('shows no context that its caller may not see', async () => {
    const bench = await open()
    const { answer } = await bench.engine
      .calls(ANONYMOUS)
      .ask('execute', { package: 'p', fluxName: 'Parent', dryRun: true })
    const { would } = rehearsalAnswer.parse(answer)
    expect(would).toMatchObject([{ fluxName: 'Parent', to: 'Ask', children: [] }])
    expect(only(would)).not.toHaveProperty('child')
  })

  test('has a step end that runs while its context is paused', async () => {
    const bench = await open()
    const contextId = await bench.run('Standing')
    const assume = { steps: { Stand: [{ result: 1 }] } }
    expect(only((await bench.pause({ contextId, dryRun: true, assume })).would)).toMatchObject({ status: 'COMPLETED' })
    expect(only((await bench.pause({ contextId, dryRun: true })).would)).toMatchObject({ status: 'RUNNING' })
  })

  test('has a step start that became ready while its context was paused', async () => {
    const bench = await openBench({
      'p/Parent.flux': {
        states: [
          { name: 'Ask', action: { type: 'invokeFlux', name: 'Kid' }, transitions: [{ to: 'Act' }] },
          { name: 'Act', action: { type: 'invokeCode', className: 'fns', methodName: 'act' } },
        ],
      },
      'p/Kid.flux': {
        states: [{ name: 'Rest', waiting: true, transitions: [{ event: 'go', to: 'End' }] }, { name: 'End' }],
      },
      'p/fns.mjs': 'export const act = () => ({})\n',
    })
    const contextId = await bench.run('Parent')
    await bench.pause({ contextId })
    await bench.sendEvent({ event: 'go', contextId: contextId + 1 })
    await bench.idle()
    expect(await bench.getContext({ contextId })).toMatchObject({ currentState: 'Act', step: { startedAt: null } })
    const resumed = only((await bench.resume({ contextId, dryRun: true })).would)
    expect(resumed).toMatchObject({ status: 'RUNNING', steps: [{ state: 'Act', assumed: false }] })
    const assume = { steps: { Act: [{ result: 1 }] } }
    const ended = only((await bench.resume({ contextId, dryRun: true, assume })).would)
    expect(ended).toMatchObject({ status: 'COMPLETED', steps: [{ state: 'Act', assumed: true }] })
  })

  test('shows a child that starts and ends while its parent moves', async () => {
    const bench = await openBench({
      'p/Parent.flux': {
        states: [
          { name: 'Wait', waiting: true, transitions: [{ wait: 'duration:60', to: 'Ask' }] },
          { name: 'Ask', action: { type: 'invokeFlux', name: 'Kid' }, transitions: [{ to: 'Told' }] },
          { name: 'Told' },
        ],
      },
      'p/Kid.flux': { states: [{ name: 'End' }] },
    })
    const assume = { until: bench.clock.now() + 60_000 }
    const { would } = await bench.execute({ package: 'p', fluxName: 'Parent', dryRun: true, assume })
    expect(would).toMatchObject([{ to: 'Told', children: [{ fluxName: 'Kid' }] }, { to: 'End' }])
  })

  test('tells the whole way to an error', async () => {
    const names = Array.from({ length: 20 }, (_, place) => `a state with a long name, number ${place}`)
    const states = names.map((name, place) => ({ name, transitions: [{ to: names[place + 1] ?? 'Charge' }] }))
    const charge = { type: 'invokeCode', className: 'pay', methodName: 'refuse' }
    const bench = await openBench({
      'p/Long.flux': { states: [...states, { name: 'Charge', action: charge }] },
      'p/pay.mjs': 'export const refuse = () => { throw new TypeError("no") }\n',
    })
    const assume = { steps: { Charge: [{ error: { type: 'TypeError', message: 'no' } }] } }
    const { would } = await bench.execute({ package: 'p', fluxName: 'Long', dryRun: true, assume })
    const { error } = await bench.until(await bench.run('Long'), ({ status }) => status === 'FAILED')
    expect(error?.fluxStackTrace).toHaveLength(21)
    expect(only(would).error?.fluxStackTrace).toEqual(error?.fluxStackTrace)
  })

  test('lets one context have a key', async () => {
    const bench = await open()
    for (let started = 0; started < 2; started += 1) {
      const contextId = await bench.run('Pay', { order: 'a' })
      await bench.terminate({ contextId })
    }
    const again = { filter: { status: 'TERMINATED' }, do: 'retry' as const }
    const rehearsed = await bench.startOperation({ ...again, dryRun: true })
    expect(rehearsed).toMatchObject({ matched: 2, wouldMove: 1, wouldIgnore: 1, would: [{ key: 'a', to: 'Wait' }] })
    const { operationId = '' } = await bench.startOperation(again)
    await bench.advance(1000)
    expect(await bench.getOperation({ operationId })).toMatchObject({ changed: 1, failed: 1 })
  })

  test('keeps the rules for unclaimed events', async () => {
    const bench = await open()
    const help = { event: 'help', tags: ['o-a'], ttl: 3600 }
    expect(await bench.sendEvent({ ...help, dryRun: true })).toMatchObject({
      pending: [{ contextId: null, expiresAt: bench.clock.now() + 3_600_000 }],
      would: [],
    })
    expect(await bench.listPending()).toEqual([])
    const large = { ...help, input: { text: 'x'.repeat(65_536) } }
    await expect(bench.sendEvent({ ...large, dryRun: true })).rejects.toMatchObject({ failure: { kind: 'tooLarge' } })
  })

  test('shows no relatives of services that its caller may not read', async () => {
    const bench = await openBench({
      'p/Parent.flux': {
        secured: true,
        states: [
          { name: 'a', action: { type: 'invokeFlux', name: 'Child' }, transitions: [{ to: 'b' }] },
          { name: 'b' },
        ],
      },
      'p/Child.flux': {
        states: [{ name: 'w', waiting: true, transitions: [{ event: 'go', to: 'd' }] }, { name: 'd' }],
      },
    })
    const parent = await bench.run('Parent')
    await bench.idle()
    const go = { event: 'go', contextId: parent + 1, dryRun: true }
    expect((await bench.sendEvent(go)).would?.map(({ fluxName, to }) => [fluxName, to])).toEqual([
      ['Parent', 'b'],
      ['Child', 'd'],
    ])
    const { would } = await bench.engine.api(ANONYMOUS).sendEvent(go)
    expect(would?.map(({ fluxName }) => fluxName)).toEqual(['Child'])
  })

  test('of an event for all counts, starts, and shows what it triggers', async () => {
    const bench = await open()
    const ids = [await bench.run('Pay', { order: 'a' }), await bench.run('Pay', { order: 'b' })]
    const answer = await bench.sendEvent({ event: 'pay', tags: ['o-a', 'o-b'], dryRun: true })
    expect(answer).toMatchObject({ matched: 3, wouldMove: 2, wouldStart: 1, wouldIgnore: 0 })
    expect(answer.executions).toEqual([{ contextId: null, state: 'End' }])
    expect(answer.would?.map(({ contextId }) => contextId)).toEqual([...ids, null])
  })

  test('goes through ten thousand contexts, and shows a hundred', { timeout: 60_000 }, async () => {
    const bench = await openBench({
      'p/W.flux': { states: [{ name: 'w', waiting: true, transitions: [{ event: 'e', to: 'd' }] }, { name: 'd' }] },
    })
    for (let started = 0; started < 10_200; started += 600)
      await Promise.all(Array.from({ length: 600 }, () => bench.run('W')))
    const { transitions, would, ...counts } = await bench.sendEvent({ event: 'e', dryRun: true })
    expect(counts).toMatchObject({ matched: 10_000, wouldMove: 10_000, wouldStart: 0, wouldIgnore: 0, sampled: true })
    expect(transitions).toHaveLength(10_000)
    expect(would?.map(({ contextId }) => contextId)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
  })

  test('is bounded by moves', async () => {
    const bench = await open()
    const { would } = await bench.execute({
      package: 'p',
      fluxName: 'Loop',
      dryRun: true,
      assume: { until: '2027-01-01' },
    })
    expect(only(would)).toMatchObject({ stopped: 'moves' })
    expect(only(would).entered.length).toBe(10_000)
  })

  test('takes the time and the chance that are assumed', async () => {
    const bench = await openBench({
      'p/R.flux': {
        output: [
          { name: 'r', type: 'double' },
          { name: 't', type: 'double' },
        ],
        states: [
          {
            name: 's',
            action: {
              lines: [
                { type: 'set', expression: 'random()', evaluate: true, to: ['r'] },
                { type: 'set', expression: 'now()', evaluate: true, to: ['t'] },
              ],
            },
          },
        ],
      },
    })
    const rehearsed = async (random: string) =>
      only((await bench.execute({ package: 'p', fluxName: 'R', dryRun: true, assume: { now: 1e12, random } })).would)
        .changed
    const [one, other, third] = [await rehearsed('a'), await rehearsed('a'), await rehearsed('b')]
    expect(one).toEqual(other)
    expect(one).not.toEqual(third)
    expect(one).toContainEqual({ pointer: '/output/t', from: null, to: 1e12 })
  })

  test('stores nothing, counts nothing, and remembers no key', async () => {
    const bench = await open()
    const contextId = await bench.run('Pay', { order: 'a' })
    await bench.idle()
    const before = await stored(bench)
    const dry = { dryRun: true, idempotencyKey: 'k' }
    await bench.execute({ package: 'p', fluxName: 'Pay', input: { order: 'b' }, ...dry })
    await bench.sendEvent({ event: 'pay', contextId, ...dry })
    await bench.sendEvent({ event: 'pay', eventId: 'k', dryRun: true })
    await bench.sendEvent({ event: 'unknown', ttl: 60, dryRun: true })
    await bench.sendEvent({ event: 'pay', key: 'c', orStart: { fluxName: 'Pay', input: { order: 'c' } }, dryRun: true })
    await bench.terminate({ contextId, ...dry })
    await bench.addTags({ contextId, tag: ['x'], ...dry })
    await bench.pause({ contextId, ...dry })
    await bench.startOperation({ filter: {}, do: 'terminate', dryRun: true })
    await bench.idle()
    expect(await stored(bench)).toBe(before)
    const sent = { event: 'unknown', eventId: 'sent' }
    await bench.sendEvent(sent)
    expect(await bench.sendEvent({ ...sent, dryRun: true })).toMatchObject({ eventId: 'sent', would: [] })
    await expect(bench.sendEvent({ ...sent, event: 'other', dryRun: true })).rejects.toMatchObject({
      failure: { kind: 'idempotencyMismatch' },
    })
    await bench.terminate({ contextId, idempotencyKey: 'k' })
    const ended = await stored(bench)
    // Under its key it was carried out: that is what a repeat is told.
    expect(await bench.terminate({ contextId, ...dry })).toMatchObject({
      message: `terminated context ${contextId}`,
      would: [],
    })
    await expect(bench.terminate({ contextId, dryRun: true })).rejects.toMatchObject({ failure: { kind: 'conflict' } })
    expect(only((await bench.retry({ contextId, dryRun: true })).would)).toMatchObject({
      from: 'Wait',
      to: 'Wait',
      status: 'WAITING_UNTIL',
    })
    expect(await stored(bench)).toBe(ended)
  })

  test('is needed where something is assumed', async () => {
    const bench = await open()
    await expect(bench.terminate({ contextId: 1, assume: {} })).rejects.toMatchObject({
      failure: { kind: 'malformed', detail: 'assume must be given with dryRun' },
    })
  })
})

test('the pointers of what changes are as long as its names, once', async () => {
  const bench = await openBench({
    'p/S.flux': {
      input: [{ name: 'data', type: 'object' }],
      states: [{ name: 'w', waiting: true, transitions: [{ event: 'e', to: 'w' }] }],
    },
  })
  const data = { ['~'.repeat(50_000)]: Object.fromEntries(Array.from({ length: 200 }, (_, index) => [index, index])) }
  const answer = await bench.execute({ package: 'p', fluxName: 'S', input: { data }, dryRun: true })
  expect(JSON.stringify(answer).length).toBeLessThan(110_000)
})

test('a rehearsal says of each context that it was stopped', async () => {
  const assume = { steps: { Again: [{ result: {} }] } }
  const loops = await openBench({
    'p/L.flux': {
      states: [
        { name: 'w', waiting: true, transitions: [{ event: 'go', to: 'Again' }] },
        {
          name: 'Again',
          action: { type: 'invokeCode', className: 'l', methodName: 'f' },
          transitions: [{ to: 'Again' }],
        },
      ],
    },
    'p/l.mjs': 'export const f = () => ({})',
  })
  await Promise.all([loops.run('L'), loops.run('L')])
  const { would } = await loops.sendEvent({ event: 'go', dryRun: true, assume })
  expect(would?.map(({ stopped }) => stopped)).toEqual(['moves', 'moves'])
})

test('arguments of a step that are sensitive elsewhere are hidden', async () => {
  const bench = await openBench({
    'p/S.flux': {
      input: [{ name: 'pin', type: 'integer', sensitive: true }],
      states: [
        {
          name: 'Act',
          action: {
            type: 'invokeCode',
            className: 'l',
            methodName: 'f',
            inputs: [
              { from: ['pin'], to: ['p'] },
              { type: 'set', expression: '7', evaluate: true, to: ['q'] },
            ],
          },
        },
      ],
    },
    'p/l.mjs': 'export const f = () => ({})',
  })
  const { would } = await bench.execute({ package: 'p', fluxName: 'S', input: { pin: 4711 }, dryRun: true })
  expect(JSON.stringify(would)).not.toContain('4711')
  expect(only(would).steps).toMatchObject([{ state: 'Act', arguments: { p: '[redacted]', q: 7 } }])
})

describe('a version', () => {
  test('lets one of many calls at once have its effect', async () => {
    const bench = await open()
    const contextId = await bench.run('Pay', { order: 'a' })
    const tried = await Promise.allSettled(
      Array.from({ length: 20 }, () => bench.sendEvent({ event: 'pay', contextId, version: 1 })),
    )
    expect(tried.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const one of tried)
      if (one.status === 'rejected')
        expect(one.reason).toMatchObject({ failure: { kind: 'versionMismatch', version: 2 } })
  })

  test('lets one of many have its effect that one turn decides', async () => {
    const bench = await open()
    const contextId = await bench.run('Pay', { order: 'a' })
    const first = bench.addTags({ contextId, tag: ['first'] })
    const tried = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => bench.addTags({ contextId, tag: [`t-${index}`], version: 2 })),
    )
    await first
    expect(tried.map(({ status }) => status === 'fulfilled').filter(Boolean)).toHaveLength(1)
    expect(await bench.getContext({ contextId })).toMatchObject({ version: 3, tags: ['o-a', 'first', 't-0'] })
  })

  test('is judged by every call to one context, rehearsed ones, too', async () => {
    const bench = await open()
    const contextId = await bench.run('Pay', { order: 'a' })
    const other = { version: 7 }
    const mismatch = { failure: { kind: 'versionMismatch', version: 1 } }
    for (const call of ['terminate', 'pause', 'resume', 'retry'] as const) {
      await expect(bench[call]({ contextId, ...other })).rejects.toMatchObject(mismatch)
      await expect(bench[call]({ contextId, ...other, dryRun: true })).rejects.toMatchObject(mismatch)
    }
    for (const call of ['addTags', 'removeTags'] as const)
      await expect(bench[call]({ contextId, tag: ['t'], ...other })).rejects.toMatchObject(mismatch)
    await expect(bench.sendEvent({ event: 'pay', key: 'a', fluxName: 'Pay', ...other })).rejects.toMatchObject(mismatch)
    const orStart = { fluxName: 'Pay', input: { order: 'new' } }
    await expect(bench.sendEvent({ event: 'pay', key: 'new', orStart, ...other })).rejects.toMatchObject({
      failure: { kind: 'notFound' },
    })
    await expect(bench.sendEvent({ event: 'pay', key: 'new', orStart, version: '*' })).rejects.toMatchObject({
      failure: { kind: 'notFound' },
    })
    const early = { event: 'later', key: 'a', orStart: { fluxName: 'Pay', input: { order: 'a' } } }
    await expect(bench.sendEvent({ ...early, ...other })).rejects.toMatchObject(mismatch)
    await expect(bench.sendEvent({ event: 'pay', ...other })).rejects.toMatchObject({ failure: { kind: 'malformed' } })
    expect(await bench.addTags({ contextId, tag: ['t'], version: 1 })).toMatchObject({
      message: "added 't' to context 1",
    })
    expect(outputs(await bench.getContext({ contextId }))).toMatchObject({ late: false })
  })
})
