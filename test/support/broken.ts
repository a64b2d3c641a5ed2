// Services whose contexts stand in all kinds of places, and what puts other definitions under them.
import { expect } from 'vitest'
import { hashOf } from '../../src/definitions/pinned/text.ts'
import { FluxError } from '../../src/model/failure.ts'
import { getOwn, isObject, type Json, type JsonObject } from '../../src/model/json/value.ts'
import type { Store } from '../../src/ports/store.ts'
import { openBench, type Bench, type Files } from './engine.ts'
import { definitionIn, putDefinition } from './stores.ts'

const set = (to: string, expression: string) => ({ type: 'set', expression, evaluate: true, to: [to] })
const caught = {
  name: 'caught',
  input: [{ name: 'e', type: 'any' }],
  action: { lines: [{ from: ['e', 'type'], to: ['note'] }] },
}
const onException = { event: '$exception', to: 'caught', lines: [{ from: ['$fluxException'], to: ['e'] }] }

const FILES: Files = {
  'p/fn.ts': 'export const slow = () => new Promise(() => {})\nexport const fails = () => { throw new Error("no") }',
  'p/Waits.flux': {
    tags: ['own'],
    output: [{ name: 'note' }, { name: 'count', type: 'integer', defaultValue: 0 }],
    states: [
      { name: 'first', transitions: [{ to: 'stands' }] },
      {
        name: 'stands',
        waiting: true,
        input: [{ name: 'value', type: 'integer' }],
        action: { lines: [set('count', 'count + 1')] },
        transitions: [
          { event: 'again', to: 'stands' },
          { event: 'on', to: 'ends', lines: [set('word', '"w"')] },
          { to: 'ends', wait: 'duration:60' },
          onException,
        ],
      },
      { name: 'ends', input: [{ name: 'word' }], action: { lines: [set('note', '"end"')] } },
      caught,
    ],
  },
  'p/Calls.flux': {
    output: [{ name: 'note' }],
    states: [
      {
        name: 'call',
        action: { type: 'invokeCode', className: 'fn', methodName: 'slow', outputs: [{ from: ['got'], to: ['note'] }] },
        transitions: [{ to: 'ends' }, onException],
      },
      { name: 'ends' },
      caught,
    ],
  },
  'p/Retries.flux': {
    output: [{ name: 'note' }],
    states: [
      {
        name: 'call',
        action: { type: 'invokeCode', className: 'fn', methodName: 'fails', retry: { maxAttempts: 3, delay: 60 } },
        transitions: [{ to: 'ends' }, onException],
      },
      { name: 'ends' },
      caught,
    ],
  },
  'p/Delays.flux': {
    output: [{ name: 'note' }],
    states: [
      { name: 'delay', transitions: [{ to: 'ends', wait: 'duration:60', lines: [set('word', '"w"')] }, onException] },
      { name: 'ends', input: [{ name: 'word' }] },
      caught,
    ],
  },
  'p/Parent.flux': {
    output: [{ name: 'note' }, { name: 'got', type: 'any' }],
    states: [
      {
        name: 'ask',
        action: { type: 'invokeFlux', name: 'Waits', timeout: 30, outputs: [{ from: ['note'], to: ['got'] }] },
        transitions: [{ to: 'ends' }, onException],
      },
      { name: 'ends' },
      caught,
    ],
  },
  'p/Secured.flux': {
    secured: true,
    states: [{ name: 'stands', waiting: true, transitions: [{ event: 'on', to: 'stands' }] }],
  },
  'p/Hook.flux': {
    webhooks: [{ urlPath: '/hook', httpMethods: ['POST'] }],
    output: [{ name: 'key' }, { name: 'other' }],
    states: [{ name: 'stands', waiting: true, action: { lines: [] }, transitions: [{ event: 'go', to: 'stands' }] }],
  },
}

/** As Redis does: who was too late is told what the context is now. */
function tellingCurrent(store: Store): Store {
  const commit: Store['commit'] = async (request) => {
    const outcome = await store.commit(request)
    return !('stale' in outcome) ? outcome : { ...outcome, current: await store.load({ id: outcome.stale }) }
  }
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      return name === 'commit' ? commit : typeof value === 'function' ? value.bind(target) : value
    },
  })
}

export class BrokenBench {
  #bench: Bench | null = null
  #store: Store | null = null

  get store(): Store {
    if (this.#store === null) throw new Error('no server is open')
    return this.#store
  }

  async open(): Promise<Bench> {
    this.#bench = await openBench(FILES, { wrap: (opened) => (this.#store = tellingCurrent(opened)) })
    return this.#bench
  }

  async close(): Promise<void> {
    await this.#bench?.close()
    this.#bench = null
  }

  /** Starts the server again, with other definitions under the contexts. */
  async broken(server: Bench, ...changes: readonly (readonly [contextId: number, instead: Instead])[]): Promise<Bench> {
    for (const [id, instead] of changes) {
      const stored = await this.store.load({ id })
      if (!stored) throw new Error('there is no such context')
      const base = JSON.parse(stored.parts['base'] ?? '')
      const text = textOf(instead, (await definitionIn(this.store, base.definition)) ?? '')
      base.definition = hashOf(text ?? `nothing ${id}`)
      if (text !== null) await putDefinition(this.store, base.definition, text)
      const context = { ...stored, version: stored.version + 1, parts: { ...stored.parts, base: JSON.stringify(base) } }
      expect(
        await this.store.commit({
          writes: [
            { context, previous: stored.version, changed: ['base'], log: [], notifies: [], answersNotification: false },
          ],
        }),
      ).toEqual({ ok: true })
    }
    this.#bench = await server.restart()
    return this.#bench
  }
}

export type Change = (definition: { source: JsonObject } & JsonObject) => void
/** What is stored instead: changed, a text, or nothing. */
export type Instead = Change | string | null

function textOf(instead: Instead, before: string): string | null {
  if (typeof instead !== 'function') return instead
  const definition = JSON.parse(before)
  instead(definition)
  return JSON.stringify(definition)
}

/** Changes what lies at that path of the source. */
export const at =
  (path: string, value: Json): Change =>
  ({ source }) => {
    const keys = path.split('/')
    const last = keys.pop() ?? ''
    let place: Json = source
    for (const key of keys)
      place = Array.isArray(place)
        ? (place[Number(key)] ?? null)
        : isObject(place)
          ? (getOwn(place, key) ?? null)
          : null
    if (Array.isArray(place)) place[Number(last)] = value
    else if (isObject(place)) place[last] = value
  }

export const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (error: unknown) => (error instanceof FluxError ? error.failure : String(error)),
  )
export const done = ({ status }: { status: string }) => ['COMPLETED', 'FAILED', 'TERMINATED'].includes(status)
export const ids = (views: readonly { id: number }[]) => views.map(({ id }) => id)
/** Nothing was delivered again, nor went wrong in the server. */
export const errors = (server: Bench) => server.logged.filter(({ level }) => level === 'error')
