// Snapshots of contexts are XState's: stock XState restores them with the machine of the definition, and does with them
// what the server does.
import { WorkBudget } from '../../../src/definitions/work-budget.ts'
import { join } from 'node:path'
import { createActor, transition as publicTransition, type AnyActorRef, type AnyStateMachine } from 'xstate'
import { beforeAll, describe, expect, test } from 'vitest'
import { openCatalog } from '../../../src/definitions/catalog.ts'
import type { CompiledFlux } from '../../../src/definitions/flux.ts'
import type { Shape } from '../../../src/definitions/values/properties.ts'
import { readPinned } from '../../../src/definitions/pinned/text.ts'
import { begin, decide } from '../../../src/engine/interpreter/decide.ts'
import type { Decision, Input } from '../../../src/engine/interpreter/decision.ts'
import { snapshotOf } from '../../../src/engine/interpreter/snapshot.ts'
import { initialRecordOf } from '../../../src/engine/turn/start-request.ts'
import { machineOf } from '../../../src/machine.ts'
import { SYSTEM } from '../../../src/model/caller.ts'
import type { JsonObject } from '../../../src/model/json/value.ts'
import type { ContextRecord } from '../../../src/model/context.ts'
import { stepRunner } from '../../../src/steps/runner.ts'
import { folderOf, open } from '../../definitions/catalog-files.ts'
import { generated } from './generated.ts'
import { silent } from '../../support/silent.ts'

const NOW = Date.UTC(2026, 0, 1)
const HOUR = 3_600_000
const CENTURY = 876_000 * HOUR
const RANDOM = 0.5
const tagLimits = { count: 64, bytes: 256 }

const envAt = (now: number) => ({
  now,
  random: () => RANDOM,
  uuid: () => 'u-1',
  owner: 'me',
  budget: new WorkBudget(Infinity),
  past: { historyOf: () => [] },
  tagLimits,
})

/** The inputs of the command in its comment, and something for whatever else is required. */
function inputOf({ source, input }: CompiledFlux): JsonObject {
  const command = /--json '(.*?)'/.exec(String(source['comment']))?.[1]
  const given: JsonObject = (command === undefined ? {} : JSON.parse(command)).input ?? {}
  return filled(input, given)
}

function filled({ properties }: Shape, given: JsonObject): JsonObject {
  const whole = { ...given }
  for (const { name, type, array, required } of properties.values()) {
    const value = type === 'string' ? 'x' : type === 'model' || type === 'object' ? {} : 1
    if (required && !Object.hasOwn(whole, name)) whole[name] = array ? [value] : value
  }
  return whole
}

const stockOf = (flux: CompiledFlux): AnyStateMachine =>
  machineOf(flux.source, {
    name: `${flux.package}/${flux.fluxName}`,
    models: Object.fromEntries(readPinned(flux.text)?.models ?? []),
  })

/** What the server has after the decision. A child gets an id. */
const after = (record: ContextRecord, decision: Decision): ContextRecord =>
  decision.kind === 'next' ? { ...decision.record, child: decision.child ? 99 : decision.record.child } : record

function started(flux: CompiledFlux): ContextRecord {
  const request = {
    flux,
    input: inputOf(flux),
    untyped: false,
    unknown: 'refuse' as const,
    tags: [],
    trigger: null,
  }
  const made = initialRecordOf(request, envAt(NOW))
  const record = made.checked()(1)
  return after(record, begin(flux, record, envAt(NOW)))
}

/** As `snapshot=true` shows it, over the network. */
function shown(record: ContextRecord, flux: CompiledFlux): JsonObject {
  return JSON.parse(JSON.stringify(snapshotOf(record, flux, 'p/Child')))
}

const seen = ({ value, context, status }: { value?: unknown; context?: unknown; status?: unknown }) =>
  JSON.parse(JSON.stringify({ value, context, status }))

interface Sent {
  readonly event: { readonly type: string; readonly now: number; readonly random: number }
  readonly input: Input
}

const NOTHING: Shape = { properties: new Map(), extra: false }
const ERROR = { message: 'no', type: 'Error', className: 'Error', realException: null }

/** All that can happen to a context: most of it has no effect. */
function possible(flux: CompiledFlux, { state, position: { epoch, attempt } }: ContextRecord, now: number): Sent[] {
  const whole = filled(flux.states[state]?.input ?? NOTHING, { n: 1 })
  const names = [...new Set(flux.states.flatMap(({ choice }) => [...choice.events.keys()])), 'unknown']
  const random = RANDOM
  const answered = { epoch, attempt, result: { status: 'done', ok: true } }
  const failed = { epoch, attempt, error: ERROR }
  const other = { type: 'EVENT' as const, eventId: 'e', untyped: false, tags: null, caller: SYSTEM }
  const all: Sent[] = [
    { event: { type: 'WAKE', now, random }, input: { type: 'WAKE' } },
    { event: { type: 'WAKE', now: now + CENTURY, random }, input: { type: 'WAKE' } },
    { event: { type: 'DONE', ...answered, now, random }, input: { type: 'DONE', ...answered } },
    { event: { type: 'FAIL', ...failed, now, random }, input: { type: 'FAIL', ...failed } },
    {
      event: { type: 'DONE', ...answered, epoch: epoch - 1, now, random },
      input: { type: 'DONE', ...answered, epoch: epoch - 1 },
    },
    ...names.flatMap((name) =>
      [{}, whole, { ...whole, by: ['no text'], order: 7 }].map((input) => ({
        event: { type: 'EVENT', name, input, now, random },
        input: { ...other, name, input },
      })),
    ),
    { event: { type: 'TERMINATE', now, random }, input: { type: 'TERMINATE', caller: SYSTEM } },
  ]
  return all.filter(({ event: { type } }, index) => type !== 'TERMINATE' || (epoch + index) % 5 === 0)
}

const EVENTS = 10

/** Sends events to the server and to the restored machine, and compares. Gives how many of them had an effect. */
function follow(flux: CompiledFlux, machine: AnyStateMachine, from: ContextRecord, draw: (count: number) => number) {
  let record = from
  let moved = 0
  const actor: AnyActorRef = createActor(machine, { snapshot: JSON.parse(JSON.stringify(shown(record, flux))) }).start()
  expect(seen(actor.getSnapshot())).toEqual(seen(shown(record, flux)))
  const reached = [record]
  for (let count = 1; count <= EVENTS && actor.getSnapshot().status === 'active'; count += 1) {
    const choices = possible(flux, record, NOW + count * HOUR)
    const { event, input } = choices[draw(choices.length)] ?? choices[0] ?? { event: null, input: null }
    if (event === null) throw new Error('nothing to send')
    const next = after(record, decide(flux, record, input, envAt(event.now)))
    if (next !== record) moved += 1
    record = next
    if (moved === reached.length) reached.push(record)
    actor.send(event)
    expect(seen(actor.getSnapshot()), JSON.stringify(event)).toEqual(seen(shown(record, flux)))
    expect(seen(actor.getPersistedSnapshot())).toEqual(seen(shown(record, flux)))
  }
  actor.stop()
  return { moved, reached }
}

/** The same numbers in each run. */
function drawn(seed: number) {
  let at = seed + 1
  return (count: number) => {
    at = (at * 1_103_515_245 + 12_345) % 2_147_483_648
    return (at >> 8) % count
  }
}

let examples: readonly CompiledFlux[]
beforeAll(async () => {
  const runner = stepRunner({ log: silent })
  const folders = [join(import.meta.dirname, '../../../actors')]
  examples = (await openCatalog({ folders, runner, log: silent })).catalog.all()
  runner.close()
})

const ROUNDS = 20
const SERVICES = 200

describe('the snapshot of a context that a webhook started', () => {
  const definition = {
    input: [{ name: 'n', type: 'integer' }],
    states: [{ name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'wait' }] }],
  }
  const request = { method: 'POST', headers: [{ name: 'authorization', value: 'Bearer 0123456789' }] }

  test('leaves its record as it is', async () => {
    const { catalog } = await open(await folderOf({ 'p/Hook.flux': definition }))
    const flux = catalog.find('p', 'Hook')
    if (!flux) throw new Error('not loaded')
    const record = { ...started(flux), input: { n: 1 }, request: { method: 'POST' } }
    expect(shown(record, flux)).toMatchObject({ context: { input: { n: 1, $request: { method: 'POST' } } } })
    expect(record.input).toEqual({ n: 1 })
  })

  test('keeps all of the request that it was given over the events of its machine', () => {
    const machine = machineOf(definition)
    const fresh = JSON.parse(JSON.stringify(createActor(machine, { input: { n: 1 } }).getPersistedSnapshot()))
    fresh.context.input.$request = request
    const actor: AnyActorRef = createActor(machine, { snapshot: fresh }).start()
    actor.send({ type: 'EVENT', name: 'go', now: NOW })
    expect(actor.getSnapshot().context).toMatchObject({ epoch: 2, input: { n: 1, $request: request } })
  })
})

describe('the machine of a definition', () => {
  test('goes on from the snapshot of a context as the server does, for every example', () => {
    expect(examples.length).toBeGreaterThan(10)
    for (const flux of examples) {
      const machine = stockOf(flux)
      let moved = 0
      let places = [started(flux)]
      for (let round = 0; round < ROUNDS; round += 1) {
        const from = places[round % places.length]
        if (!from) continue
        const followed = follow(flux, machine, from, drawn(round))
        places = [...places, ...followed.reached.slice(1)]
        moved += followed.moved
      }
      if (places.some(({ endedAt }) => endedAt === null)) expect(moved, flux.fluxName).toBeGreaterThan(0)
    }
  })

  test('goes on from the snapshot of a context as the server does, for generated services', async () => {
    let moved = 0
    for (const [index, flux] of (await generated(SERVICES, 7)).entries()) {
      const machine = stockOf(flux)
      const first = follow(flux, machine, started(flux), drawn(index))
      moved += first.moved
      // Restored again on the way.
      for (const record of first.reached.slice(1)) moved += follow(flux, machine, record, drawn(index + 1)).moved
    }
    expect(moved).toBeGreaterThan(SERVICES)
  })
})

/** What the next move needs besides the context that a snapshot shows. */
const delayed: JsonObject = {
  output: [{ name: 'text' }],
  states: [
    { name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'call' }] },
    {
      name: 'call',
      action: { type: 'invokeFlux', name: 'Child', inputs: [], outputs: [] },
      transitions: [
        { event: '$else', to: 'end' },
        {
          event: '$exception',
          to: 'caught',
          wait: 'duration:60',
          lines: [{ from: ['$fluxException', 'message'], to: ['message'] }],
        },
      ],
    },
    {
      name: 'caught',
      input: [{ name: 'message' }],
      action: {
        lines: [
          { type: 'set', expression: '`${message} ${$fluxContextId} ${$fluxName}`', evaluate: true, to: ['text'] },
        ],
      },
    },
    { name: 'end' },
  ],
}

test('a snapshot has what the next move needs besides', async () => {
  const files = { 'p/Child.flux': { states: [{ name: 'end' }] }, 'p/Delayed.flux': delayed }
  const flux = (await open(await folderOf(files))).catalog.find('p', 'Delayed')
  if (!flux) throw new Error('not loaded')
  const go: Input = { type: 'EVENT', name: 'go', eventId: 'e', input: {}, untyped: false, tags: null, caller: SYSTEM }
  const acting = after(started(flux), decide(flux, started(flux), go, envAt(NOW)))
  const { epoch, attempt } = acting.position
  const failed: Input = { type: 'FAIL', epoch, attempt, error: { ...ERROR, message: 'no seats' } }
  const record = after(acting, decide(flux, acting, failed, envAt(NOW)))
  const snapshot = shown(record, flux)
  expect(snapshot).toMatchObject({
    value: { call: 'delayed' },
    registers: { pick: 1, contextId: 1, fluxName: 'Delayed', exception: { message: 'no seats' } },
  })
  const first = createActor(machineOf(delayed), { snapshot: JSON.parse(JSON.stringify(snapshot)) })
  // Also from what XState itself persists.
  const actor = createActor(machineOf(delayed), { snapshot: JSON.parse(JSON.stringify(first.getPersistedSnapshot())) })
  actor.start().send({ type: 'WAKE', now: NOW + HOUR })
  expect(actor.getSnapshot()).toMatchObject({ status: 'done', context: { output: { text: 'no seats 1 Delayed' } } })
  const ended = after(record, decide(flux, record, { type: 'WAKE' }, envAt(NOW + HOUR)))
  expect(seen(actor.getSnapshot())).toEqual(seen(shown(ended, flux)))
})

const waiting: JsonObject = {
  input: [{ name: 'order' }],
  states: [
    { name: 'wait for it', waiting: true, transitions: [{ event: 'go', to: 'call.it' }] },
    {
      name: 'call.it',
      action: { type: 'invokeFlux', name: 'Child', inputs: [], outputs: [] },
      transitions: [{ event: '$else', to: 'end' }],
    },
    { name: 'end' },
  ],
}

describe('machineOf', () => {
  test('starts without a snapshot, with the inputs that it is given', () => {
    const actor = createActor(machineOf(waiting, { name: 'p/Own' }), { input: { order: 'A' } }).start()
    expect(actor.getSnapshot()).toMatchObject({
      status: 'active',
      value: { 'wait for it': 'waiting' },
      context: { input: { order: 'A' }, output: {}, fluxEvent: null, epoch: 1, attempt: 1, due: null, moves: 0 },
    })
    actor.send({ type: 'EVENT', name: 'go' })
    expect(actor.getSnapshot().value).toEqual({ 'call%2Eit': 'acting' })
    actor.send({ type: 'TERMINATE' })
    expect(actor.getSnapshot().status).toBe('stopped')
  })

  test('takes no event of an internal transition, which its action chooses', () => {
    const transitions = [
      { event: 'go', to: 'wait' },
      { event: 'enough', to: 'end', internal: true },
      { event: '$else', to: 'wait' },
    ]
    const lines = [{ type: 'set', expression: "random() > 0.5 ? 'enough' : 'go'", evaluate: true, to: ['$fluxEvent'] }]
    const decides = { name: 'wait', waiting: true, action: { lines }, transitions }
    const actor = createActor(machineOf({ states: [decides, { name: 'end' }] })).start()
    for (const [name, random, value] of [
      ['enough', 0.9, { wait: 'waiting' }],
      ['go', 0.1, { wait: 'waiting' }],
      ['go', 0.9, '$completed'],
    ] as const) {
      actor.send({ type: 'EVENT', name, random })
      expect(actor.getSnapshot().value).toEqual(value)
    }
  })

  test('tells why it is refused, and changes nothing of the definition', () => {
    const definition = { states: [{ name: 'a', transitions: [{ event: 'x', to: 'nowhere' }] }] }
    const before = structuredClone(definition)
    expect(() => machineOf(definition)).toThrow(/nowhere/)
    expect(definition).toEqual(before)
    expect(Object.isFrozen(definition.states)).toBe(false)
    const modelled = { input: [{ name: 'm', type: 'model', reference: 'shop.M' }], states: [{ name: 'a' }] }
    expect(() => machineOf(modelled)).toThrow(/there is no model "shop.M"/)
    const models = { 'shop.M': { gloopProperties: [{ name: 'n', type: 'integer' }] } }
    expect(
      createActor(machineOf(modelled, { models }), { input: { m: { n: 1 } } })
        .start()
        .getSnapshot().status,
    ).toBe('done')
  })

  test('restores a child as a reference to an actor, and lets it go', () => {
    const context = {
      input: {},
      output: {},
      fluxEvent: 'go',
      trackerId: 't',
      states: { 'wait for it': { input: {}, output: {} }, 'call.it': { input: {}, output: {} } },
      epoch: 2,
      attempt: 1,
      due: null,
      moves: 0,
    }
    const children = { 7: { src: 'p/Child', snapshot: null, syncSnapshot: false } }
    const snapshot = { status: 'active', value: { 'call%2Eit': 'acting' }, historyValue: {}, context, children }
    const restored = Object.assign(snapshot, { status: 'active' as const, output: undefined, error: undefined })
    const machine = machineOf(waiting)
    const actor = createActor(machine, { snapshot: restored }).start()
    expect(actor.getSnapshot().children['7']?.id).toBe('7')
    expect(JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))).toMatchObject({ children, context })
    const done = { type: 'DONE', epoch: 2, attempt: 1, result: {} }
    expect(publicTransition(machine, actor.getSnapshot(), done)[0]).toMatchObject({ status: 'done' })
    actor.send({ type: 'FAIL', epoch: 2, attempt: 1, error: ERROR })
    expect(actor.getSnapshot()).toMatchObject({ status: 'error', error: { message: 'no' }, children: {} })
  })

  test('takes data that looks like an actor for data', () => {
    const input = { order: { xstate$$type: 1, id: 'x', sessionId: 's', ref: {}, send: 1 } }
    const open = { ...waiting, allowExtraProperties: true, input: [{ name: 'order', type: 'any' }] }
    const first = createActor(machineOf(open), { input }).start()
    const persisted = JSON.parse(JSON.stringify(first.getPersistedSnapshot()))
    expect(persisted.context.input).toEqual(input)
    const again = createActor(machineOf(open), { snapshot: persisted }).start()
    expect(again.getSnapshot().context.input).toEqual(input)
    again.send({ type: 'EVENT', name: 'go' })
    expect(again.getSnapshot().context.input).toEqual(input)
  })
})
