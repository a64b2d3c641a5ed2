// The picture of a service is configuration that stock XState loads as it is.
import { join } from 'node:path'
import { createMachine, type AnyStateMachine } from 'xstate'
import { expect, test } from 'vitest'
import { openCatalog } from '../../../src/definitions/catalog.ts'
import type { CompiledFlux } from '../../../src/definitions/flux.ts'
import { pictureOf } from '../../../src/engine/interpreter/picture.ts'
import { nodeName } from '../../../src/engine/interpreter/nodes.ts'
import { stepRunner } from '../../../src/steps/runner.ts'
import { folderOf, open } from '../../definitions/catalog-files.ts'
import { generated } from './generated.ts'
import { silent } from '../../support/silent.ts'

const picture = (flux: CompiledFlux) => JSON.parse(JSON.stringify(pictureOf(flux)))

/** Triggers and targets of a node, as XState has read them. */
function edgesOf(machine: AnyStateMachine, node: string) {
  const { transitions = new Map(), always = [] } = machine.states[node] ?? {}
  return [...[...transitions.values()].flat(), ...always].map(({ eventType, target }) => [
    eventType,
    target?.[0]?.key ?? null,
  ])
}

const SERVICES = 100

test('createMachine loads the picture of every example and of generated services, with each transition once', async () => {
  const runner = stepRunner({ log: silent })
  const folders = [join(import.meta.dirname, '../../../actors')]
  const examples = (await openCatalog({ folders, runner, log: silent })).catalog.all()
  runner.close()
  for (const flux of [...examples, ...(await generated(SERVICES, 3))]) {
    const machine = createMachine(picture(flux))
    expect(machine.config.initial).toBe(nodeName(flux.states[flux.startState]?.name ?? ''))
    expect(Object.keys(machine.states).length).toBe(flux.states.length)
    for (const { name, transitions } of flux.states) {
      const targets = transitions.map(({ to }) => nodeName(flux.states[to]?.name ?? ''))
      const edges = edgesOf(machine, nodeName(name))
      expect(edges.map(([, target]) => target).toSorted()).toEqual(targets.toSorted())
      const events = transitions.flatMap(({ event }) => event ?? [])
      expect(edges.map(([event]) => event)).toEqual(expect.arrayContaining(events))
    }
  }
})

test("has the user's names and times", async () => {
  const source = {
    comment: 'An order',
    startState: 'wait for it',
    input: [{ name: 'minutes', type: 'integer' }],
    states: [
      { name: 'a.b' },
      {
        name: 'wait for it',
        comment: 'Somebody decides',
        waiting: true,
        transitions: [
          { event: 'order.*', to: 'a.b' },
          { event: '$else', to: 'wait for it' },
          { event: '$exception', to: 'a.b' },
          { to: 'pass', wait: 'duration:1.5' },
        ],
      },
      { name: 'pass', transitions: [{ to: 'later' }] },
      { name: 'later', transitions: [{ to: 'a.b', wait: 'duration:${minutes}' }] },
    ],
  }
  const [flux] = (await open(await folderOf({ 'p/shop.Order.flux': source }))).catalog.all()
  if (!flux) throw new Error('not loaded')
  expect(picture(flux)).toEqual({
    id: 'shop.Order',
    description: 'An order',
    initial: 'wait for it',
    states: {
      'a%2Eb': { type: 'final' },
      'wait for it': {
        description: 'Somebody decides',
        on: {
          'order.*': { target: 'a%2Eb' },
          $else: { target: 'wait for it' },
          $exception: { target: 'a%2Eb' },
        },
        after: { 1500: { target: 'pass' } },
      },
      pass: { always: [{ target: 'later' }] },
      later: { after: { 'duration:${minutes}': { target: 'a%2Eb' } } },
    },
  })
})
