// What the API shows of a context and of its definition is XState's: stock XState restores and loads it, and goes on as
// the server does.
import { join } from 'node:path'
import { createActor, createMachine, type Snapshot } from 'xstate'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { machineOf } from '../../src/machine.ts'
import { openLive, type Live } from './live.ts'

interface Shown {
  readonly currentState: string
  readonly snapshot: Snapshot<unknown> & {
    readonly value: unknown
    readonly context: object
    readonly children: object
  }
}

const ACTORS = join(import.meta.dirname, '../../actors')
const SECRET = 'SECRETAUTHTOKEN123456'

const NODE = {
  'w/Tree.model': {
    gloopProperties: [{ name: 'below', type: 'model', reference: 'Tree' }],
  },
}

let live: Live
let own: Live
const plain = (value: unknown) => JSON.parse(JSON.stringify(value))
const seen = ({ value, context, status }: { value: unknown; context: unknown; status: unknown }) =>
  plain({ value, context, status })

async function started(server: Live, fluxName: string, input: object): Promise<number> {
  const { json } = await server.call('POST', '/flux-api/examples/execute', { body: { fluxName, input } })
  return (json as { contextId: number }).contextId
}

async function shown(server: Live, contextId: number): Promise<Shown> {
  return (await server.call('GET', `/flux-api/context?contextId=${contextId}&snapshot=true`)).json as Shown
}

async function definitionOf(server: Live, contextId: number): Promise<object> {
  return (await server.call('GET', `/flux-api/definition?contextId=${contextId}&resolved=true`)).json as object
}

const redis = (name: string) => ({
  ACTORFLUX_REDIS_URL: inject('redisUrl'),
  ACTORFLUX_NAMESPACE: `machine-${name}-${process.pid}`,
})

describe.each([
  ['the embedded store', () => ({})],
  ['Redis', redis],
])('over %s', (_, env) => {
  beforeAll(async () => {
    live = await openLive({ ACTORFLUX_ACTORS: ACTORS, ...env('examples') }, {})
    own = await openLive(env('own'), {
      ...NODE,
      'w/Hook.flux': {
        webhooks: [{ urlPath: '/hook', httpMethods: ['GET'] }],
        input: [{ name: 'tree', type: 'model', reference: 'Tree' }],
        output: [{ name: 'auth' }],
        states: [
          {
            name: 'wait',
            waiting: true,
            action: {
              type: 'map',
              lines: ['auth', '$response'].map((name) => ({
                type: 'set',
                expression: '$request.headers["authorization"]',
                evaluate: true,
                to: name === 'auth' ? [name] : [name, 'body'],
              })),
            },
            transitions: [{ event: 'go', to: 'wait' }],
          },
        ],
      },
    })
  })
  afterAll(() => Promise.all([live.close(), own.close()]))

  describe('a snapshot', () => {
    test('is restored, and takes the events that the server takes', async () => {
      const contextId = await started(live, 'ApprovalWithTimeout', { request: 'a day off', patience: 600 })
      const before = await shown(live, contextId)
      expect(before.snapshot).toEqual({
        status: 'active',
        value: { WaitForDecision: 'waiting' },
        historyValue: {},
        children: {},
        context: {
          input: { request: 'a day off', patience: 600 },
          output: {},
          fluxEvent: null,
          trackerId: expect.any(String),
          states: { WaitForDecision: { input: {}, output: {} } },
          epoch: 1,
          attempt: 1,
          due: expect.any(Number),
          moves: 0,
        },
      })
      const machine = machineOf(await definitionOf(live, contextId))
      const actor = createActor(machine, { snapshot: before.snapshot }).start()
      // Refused with 422: `by` is required.
      for (const input of [{}, { by: 'Ada' }]) {
        await live.call('POST', `/flux-api/event?contextId=${contextId}`, { body: { event: 'approve', input } })
        actor.send({ type: 'EVENT', name: 'approve', input })
        expect(seen(actor.getSnapshot())).toEqual(seen((await shown(live, contextId)).snapshot))
      }
      expect(actor.getSnapshot().status).toBe('done')
    })

    test('shows a child as a reference to an actor, and takes its result', async () => {
      const contextId = await started(live, 'Parent', { question: 'How many?' })
      const { snapshot } = await shown(live, contextId)
      const [child = ''] = Object.keys(snapshot.children)
      expect(plain(snapshot)).toMatchObject({
        value: { Ask: 'acting' },
        children: { [child]: { src: 'examples/Child', snapshot: null, syncSnapshot: false } },
        context: { epoch: 1, attempt: 1 },
      })
      const actor = createActor(machineOf(await definitionOf(live, contextId)), { snapshot }).start()
      await live.call('POST', `/flux-api/event?contextId=${child}`, {
        body: { event: 'answer', input: { text: 'two' } },
      })
      actor.send({ type: 'DONE', epoch: 1, attempt: 1, result: { answer: 'How many? two' } })
      await live.call('GET', `/flux-api/context/wait?contextId=${contextId}&status=COMPLETED&timeout=30`)
      const after = await shown(live, contextId)
      expect(after.snapshot.children).toEqual({})
      expect(seen(actor.getSnapshot())).toEqual(seen(after.snapshot))
    })

    test('says how a context ended', async () => {
      const terminated = await started(live, 'ApprovalWithTimeout', {})
      await live.call('DELETE', `/flux-api/terminate?contextId=${terminated}`)
      expect((await shown(live, terminated)).snapshot).toMatchObject({ status: 'stopped', value: '$terminated' })
      const actor = createActor(machineOf(await definitionOf(live, terminated)), {
        snapshot: (await shown(live, terminated)).snapshot,
      }).start()
      actor.send({ type: 'EVENT', name: 'approve', input: { by: 'Ada' } })
      expect(actor.getSnapshot().status).toBe('stopped')
    })

    test('hides what the context hides, and is restored all the same', async () => {
      await fetch(`${own.url}/api/hook`, { headers: { authorization: SECRET } })
      const { json } = await own.call('GET', '/flux-api/contexts?fluxName=Hook')
      const [contextId = 0] = (json as { id: number }[]).map(({ id }) => id)
      await own.call('POST', `/flux-api/event?contextId=${contextId}`, { body: { event: 'go' } })
      const { snapshot } = await shown(own, contextId)
      expect(JSON.stringify(snapshot)).not.toContain(SECRET)
      expect(snapshot.context).toMatchObject({ epoch: 2, output: { auth: expect.any(String) } })
      const actor = createActor(machineOf(await definitionOf(own, contextId)), { snapshot }).start()
      expect(seen(actor.getSnapshot())).toEqual(seen(snapshot))
      actor.send({ type: 'EVENT', name: 'go' })
      expect(actor.getSnapshot()).toMatchObject({ value: { wait: 'waiting' }, context: { epoch: 3 } })
    })
  })

  describe('a definition', () => {
    test('has the models that it refers to, if they are asked for', async () => {
      const bare = (await live.call('GET', '/flux-api/definition?fluxName=orders.OrderProcess')).json as object
      expect(() => machineOf(bare)).toThrow(/there is no model/)
      const resolved = (await live.call('GET', '/flux-api/definition?fluxName=orders.OrderProcess&resolved=true')).json
      const { models, ...rest } = resolved as { models: { [name: string]: object } }
      expect(rest).toEqual(bare)
      expect(machineOf(resolved as object).id).toBe('service')
      expect(machineOf(bare, { models, name: 'examples/orders.OrderProcess' }).id).toBe('orders.OrderProcess')
      const none = '/flux-api/definition?fluxName=Child'
      expect((await live.call('GET', `${none}&resolved=true`)).json).toEqual((await live.call('GET', none)).json)
    })

    test('is shown as a machine that createMachine loads, by its name or a context', async () => {
      const contextId = await started(live, 'ApprovalWithTimeout', {})
      const byName = await live.call('GET', '/flux-api/machine?fluxName=ApprovalWithTimeout')
      const byContext = await live.call('GET', `/flux-api/machine?contextId=${contextId}`)
      expect(byContext.json).toEqual(byName.json)
      expect(createMachine(byName.json as object).config).toMatchObject({
        initial: 'WaitForDecision',
        states: {
          WaitForDecision: {
            on: { approve: { target: 'Approved' }, reject: { target: 'Rejected' } },
            after: { 'duration:${patience}': { target: 'Expired' } },
          },
          Approved: { type: 'final' },
        },
      })
      expect((await live.call('GET', '/flux-api/machine?fluxName=None')).status).toBe(404)
      expect((await live.call('GET', '/flux-api/machine?contextId=999999')).status).toBe(404)
      expect((await live.call('GET', '/flux-api/machine?fluxName=Child', { accept: 'application/xml' })).status).toBe(
        200,
      )
    })
  })
})
