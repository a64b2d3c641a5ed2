// The machine is one of XState's own: it can be shown, restored and run without our server, and ends up where the
// server does.
import { join } from 'node:path'
import { createActor, initialTransition, transition as publicTransition, type AnyMachineSnapshot } from 'xstate'
import { beforeAll, describe, expect, test } from 'vitest'
import { openCatalog, type Catalog } from '../../../src/definitions/catalog.ts'
import type { CompiledFlux } from '../../../src/definitions/flux.ts'
import { WorkBudget } from '../../../src/definitions/work-budget.ts'
import { newMachine, transition } from '../../../src/engine/interpreter/machine.ts'
import type { MachineEvent } from '../../../src/engine/interpreter/turn-state.ts'
import { valueOf } from '../../../src/engine/interpreter/nodes.ts'
import { nodeName } from '../../../src/engine/interpreter/nodes.ts'
import { initialRecordOf } from '../../../src/engine/turn/start-request.ts'
import { turnStateOf, type TurnState } from '../../../src/engine/interpreter/turn-state.ts'
import type { JsonObject } from '../../../src/model/json/value.ts'
import { stepRunner } from '../../../src/steps/runner.ts'
import { runs } from '../../support/effort.ts'
import { generated } from './generated.ts'
import { silent } from '../../support/silent.ts'

const NOW = Date.UTC(2026, 0, 1)
const HOUR = 3_600_000

let catalog: Catalog
beforeAll(async () => {
  const runner = stepRunner({ log: silent })
  catalog = (await openCatalog({ folders: [join(import.meta.dirname, '../../../actors')], runner, log: silent }))
    .catalog
  runner.close()
})

const turn = (now: number) => ({ now, random: () => 0.5, uuid: () => 'u-1' })
const envAt = (now: number) => ({ ...turn(now), budget: new WorkBudget(), past: { historyOf: () => [] } })

/** The input of the first command in its comment. */
function inputOf({ source }: CompiledFlux): JsonObject {
  const command = /--json '(.*?)'/.exec(String(source['comment']))?.[1]
  const sent = command === undefined ? {} : JSON.parse(command)
  return sent.input ?? {}
}

/** The state of the turn of a context that is to be started. */
function seed(flux: CompiledFlux): TurnState {
  const request = {
    flux,
    input: inputOf(flux),
    untyped: false,
    unknown: 'refuse' as const,
    tags: [],
    trigger: null,
  }
  const started = initialRecordOf(request, { ...turn(NOW), tagLimits: { count: 64, bytes: 256 } })
  return turnStateOf(started.checked()(1))
}

/**
 * What can happen to a context that stands there: each event that some state names, results, failures, times that come.
 */
function eventsFor({ states }: CompiledFlux, { epoch, attempt }: TurnState, depth: number): MachineEvent[] {
  const env = envAt(NOW + depth * HOUR)
  const names = new Set(states.flatMap(({ choice }) => [...choice.events.keys()]))
  const error = { message: 'no', type: 'Error', className: 'Error', realException: null }
  return [
    ...[...names, 'unknown'].map((name) => ({ type: 'EVENT' as const, name, input: {}, env })),
    { type: 'WAKE', env },
    { type: 'WAKE', env: envAt(NOW) },
    { type: 'DONE', epoch, attempt, result: { status: 'done', ok: true }, env },
    { type: 'FAIL', epoch, attempt, error, env },
    { type: 'FAIL', epoch: epoch + 1, attempt, error, env },
    { type: 'TERMINATE', env },
  ]
}

const DEPTH = 5
/** Generated ones. */
const SERVICES = runs(1000, 200)
/** Transitions of these, at least. */
const COMPARED = 5 * SERVICES

/**
 * Compares our way into XState with its public `transition()`, on those events that `choose` picks, wherever they lead.
 * Gives the number of transitions.
 */
function compareWithXState(
  flux: CompiledFlux,
  choose: (events: MachineEvent[]) => MachineEvent[],
  depthLimit: number,
): number {
  const machine = newMachine(flux)
  const [begun] = initialTransition(machine, seed(flux))
  let compared = 0
  const visit = (
    before: AnyMachineSnapshot,
    phase: Parameters<typeof transition>[1],
    state: TurnState,
    events: MachineEvent[],
    depth: number,
  ) => {
    for (const event of events) {
      // A budget is spent by the try.
      const fresh = { ...event, env: { ...envAt(event.env?.now ?? NOW) } }
      const [after, actions] = publicTransition(machine, before, { ...event, env: envAt(event.env?.now ?? NOW) })
      const ours = transition(flux, phase, state, fresh)
      compared += 1
      if (!ours) {
        expect(after).toBe(before)
        continue
      }
      expect(ours.state).toEqual(after.context)
      expect(after.value).toEqual(valueOf(flux, ours.phase, ours.state.data.state))
      // The engine starts the step or child of a state in which the machine comes to rest as it acts.
      if (ours.phase === 'acting')
        expect(flux.states[ours.state.data.state]?.action.effect).toBe(
          actions.map(({ type }) => String(type)).findLast((type) => type === 'step' || type === 'child'),
        )
      if (depth < depthLimit && after.status === 'active')
        visit(after, ours.phase, ours.state, choose(eventsFor(flux, ours.state, depth + 1)), depth + 1)
    }
  }
  visit(begun, 'begin', seed(flux), [{ type: 'START', env: envAt(NOW) }], 0)
  return compared
}

describe.each([
  'ApprovalWithTimeout',
  'Child',
  'DataPassing',
  'DelayUntilDate',
  'ErrorHandling',
  'Parent',
  'Tags',
  'Trigger',
  'flux.Polling',
  'orders.OrderProcess',
  'webhooks.Upload',
])('the machine of %s', (fluxName) => {
  test("does by our way into XState what XState's public transition() does, wherever a context can get", () => {
    const flux = catalog.findAnywhere(fluxName)[0]
    if (!flux) throw new Error('there is no such example')
    expect(compareWithXState(flux, (events) => events, DEPTH)).toBeGreaterThan(0)
  })

  test('goes on in stock XState from what the store has', () => {
    const flux = catalog.findAnywhere(fluxName)[0]
    if (!flux) throw new Error('there is no such example')
    const started = transition(flux, 'begin', seed(flux), { type: 'START', env: envAt(NOW) })
    if (!started) throw new Error('not started')
    // As it comes back from the store: plain JSON.
    const stored: { phase: typeof started.phase; state: TurnState } = JSON.parse(JSON.stringify(started))
    const snapshot = {
      status: 'active' as const,
      value: valueOf(flux, stored.phase, stored.state.data.state),
      context: stored.state,
      historyValue: {},
      children: {},
      output: undefined,
      error: undefined,
    }
    const event: MachineEvent = { type: 'TERMINATE', env: envAt(NOW) }
    for (const next of [...eventsFor(flux, stored.state, 1), event]) {
      const actor = createActor(newMachine(flux), { snapshot, input: stored.state }).start()
      actor.send(next)
      const ours = transition(flux, stored.phase, stored.state, { ...next, env: envAt(next.env?.now ?? NOW) })
      expect(actor.getSnapshot().context).toEqual(ours?.state ?? stored.state)
      actor.stop()
    }
  })
})

test.each([
  ['Wait for payment_2-b', 'Wait for payment_2-b'],
  ['a.b#c', 'a%2Eb%23c'],
  ['xstate.init', 'xstate%2Einit'],
  ['$completed', '%24completed'],
  ['prüfen', 'prüfen'],
  ['€', '%E2%82%AC'],
  ['__proto__', '%5F_proto__'],
  ['\ud800', '%uD800'],
  ['%24', '%2524'],
])('the state %j is the node %j', (state, node) => {
  expect(nodeName(state)).toBe(node)
})

test('a service whose states have odd names runs', () => {
  const names = ['__proto__', 'constructor', 'a.b', '#x', 'xstate.done', '$completed', '1']
  for (const name of names) expect(nodeName(name)).not.toContain('.')
  expect(new Set(names.map(nodeName)).size).toBe(names.length)
})

describe('the machine of any service', () => {
  test('does the same by our way as by the public one', async () => {
    const services = await generated(SERVICES, 20261122)
    // Some have faults, such as two transitions for one event.
    expect(services.length).toBeGreaterThan(SERVICES / 10)
    let compared = 0
    for (const [index, flux] of services.entries()) {
      // Some of the events at each place: a path that branches.
      let at = index
      const choose = (events: MachineEvent[]) =>
        [0, 1, 2].flatMap(() => {
          at = (at * 1_103_515_245 + 12_345) % 2_147_483_648
          return events[(at >> 8) % events.length] ?? []
        })
      compared += compareWithXState(flux, choose, 6)
    }
    expect(compared).toBeGreaterThan(COMPARED)
  })
})
