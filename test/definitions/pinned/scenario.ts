// pinned: runs services until their contexts stand in every phase, and keeps what was written of each.
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Json, JsonObject } from '../../../src/model/json.ts'
import { NOBODY } from '../../../src/model/record.ts'
import type { Store, Write } from '../../../src/ports/store.ts'
import { CODE } from '../../recorded/actions.ts'
import { inputFor, MODEL_FILE } from '../../recorded/properties.ts'
import { Random } from '../../recorded/random.ts'
import { openServer, type RecordedServer } from '../../recorded/server.ts'
import { EVENTS } from '../../recorded/services.ts'
import { randomWorld } from '../../recorded/world.ts'
import { SimulatedClock } from '../../support/simulated-clock.ts'
import type { Corpus, PinnedRecord } from './corpus.ts'
import { FILES } from './services.ts'

const ACTORS = resolve(import.meta.dirname, '../../../actors')
/** Whose services are in the corpus, too. */
const WORLDS = [1, 14] as const

/** All that was written, in order. */
class Commits {
  readonly #writes: Write[] = []
  readonly #definitions = new Map<string, string>()

  readonly wrap = (store: Store): Store =>
    new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (name === 'commit') return this.#commit.bind(this, target)
        if (name === 'putDefinition') return this.#define.bind(this, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })

  async #commit(store: Store, request: Parameters<Store['commit']>[0]): ReturnType<Store['commit']> {
    const outcome = await store.commit(request)
    if (outcome.ok) this.#writes.push(...request.writes)
    return outcome
  }

  async #define(store: Store, definition: { hash: string; text: string }): Promise<void> {
    await store.putDefinition(definition)
    this.#definitions.set(definition.hash, definition.text)
  }

  get definitions(): { hash: string; text: string }[] {
    return [...this.#definitions].map(([hash, text]) => ({ hash, text }))
  }

  get ids(): number[] {
    return [...new Set(this.#writes.map(({ context }) => context.id))].toSorted((a, b) => a - b)
  }

  /** Whether it was written after all of that context. */
  isAfter(write: Write, id: number): boolean {
    return this.#writes.indexOf(write) > this.#writes.findLastIndex(({ context }) => context.id === id)
  }

  /** A context as its last write left it that comes before the first one that `until` holds for. */
  record(id: number, phase: string, until: (write: Write) => boolean = () => false): PinnedRecord {
    const own = this.#writes.filter(({ context }) => context.id === id)
    const end = own.findIndex(until)
    const writes = end < 0 ? own : own.slice(0, end)
    const last = writes.at(-1)
    if (!last) throw new Error(`nothing is written of context ${id} (${phase})`)
    return { phase, context: last.context, log: writes.flatMap(({ log }) => log), pokes: [] }
  }
}

interface Written { readonly corpus: Corpus; /** The folder of the server, which has stopped. */ readonly folder: string }

export async function writeCorpus(folder: string): Promise<Written> {
  const code = await codeFiles()
  const files = { ...await exampleFiles(), ...FILES, 'k/models/Thing.model': MODEL_FILE, ...code, ...generatedFiles() }
  const clock = new SimulatedClock()
  const commits = new Commits()
  const server = await openServer(files, { folder, clock, wrap: commits.wrap })
  const { special, waiting } = await play(server, commits)
  await runGenerated(server)
  const now = clock.now()
  // What is under way has to be given back when the server stops; as it was before, it is kept by `special`.
  await server.stop()
  await Promise.all(waiting)
  const chosen = special()
  const rest = commits.ids.filter((id) => !chosen.some(({ context }) => context.id === id)).map((id) => commits.record(id, 'when the server stopped'))
  const records = [...chosen, ...rest].toSorted((a, b) => a.context.id - b.context.id)
  return { corpus: { now, definitions: commits.definitions, records, code }, folder }
}

/** Of the packages of the corpus, and of the examples as they are now. */
async function codeFiles(): Promise<{ [path: string]: string }> {
  const code: { [path: string]: string } = { 'k/code.mjs': CODE }
  for (const seed of WORLDS) for (const name of ['p', 'q']) code[`${name}${seed}/code.mjs`] = CODE
  for (const path of await readdir(ACTORS, { recursive: true })) if (path.endsWith('.ts')) code[path] = await readFile(join(ACTORS, path), 'utf8')
  return code
}

async function exampleFiles(): Promise<{ [path: string]: string }> {
  const files: { [path: string]: string } = {}
  for (const path of await readdir(ACTORS, { recursive: true })) if (/\.(flux|model)$/.test(path)) files[path] = await readFile(join(ACTORS, path), 'utf8')
  return files
}

const worldOf = (seed: number) => randomWorld(new Random(seed), { scripts: true })

/** Each world in packages of its own, without its webhooks. */
function generatedFiles(): { [path: string]: Json } {
  return Object.fromEntries(WORLDS.flatMap((seed) => Object.entries(worldOf(seed).files)
    .filter(([path]) => !path.includes('Hook') && !path.endsWith('.mjs'))
    .map(([path, content]) => [path.replace('/', `${seed}/`), content] as const)))
}

/** Starts each of the generated services, and lets some of them hear an event. */
async function runGenerated({ api, settle, advance }: RecordedServer): Promise<void> {
  for (const seed of WORLDS) {
    const random = new Random(seed + 1000)
    for (const service of worldOf(seed).services) {
      let contextId: number | null = null
      for (let attempt = 0; attempt < 20 && contextId === null; attempt += 1) {
        const request = { package: `${service.package}${seed}`, fluxName: service.fluxName, input: inputFor(random, service.input) }
        contextId = await api.execute(request).then((answer) => answer.contextId, () => null)
      }
      await settle()
      if (contextId === null) throw new Error(`${service.fluxName} of ${seed} can't be started`)
      if (random.chance(0.5)) await api.sendEvent({ contextId, event: random.pick(EVENTS) }).catch(() => null)
      await settle()
    }
  }
  await advance(1)
}

const EXAMPLES: readonly (readonly [string, JsonObject])[] = [
  ['ApprovalWithTimeout', { patience: 86_400 }], ['DataPassing', { customer: { id: 'c-1', name: 'Ada' }, items: [{ sku: 'pear', quantity: 2, price: 5 }] }], ['flux.Polling', { readyAfter: 3, interval: 600 }],
  ['Tags', { customerId: 'c-7' }], ['Trigger', { orderId: '4711' }], ['ErrorHandling', {}], ['DelayUntilDate', { at: '2026-03-01T00:00:00Z' }], ['Parent', { question: 'why?' }], ['Child', { question: 'what?' }],
  ['orders.OrderProcess', { order: { id: '4711', customer: { id: 'c-7', name: 'Ada' }, items: [{ sku: 'pear', quantity: 2, price: 5 }] } }],
  ['webhooks.Deployment', { repository: 'r', commit: 'c' }], ['webhooks.GithubPush', {}], ['webhooks.Greeting', {}], ['webhooks.Order', { customer: 4 }], ['webhooks.Upload', {}],
]

interface Played {
  /** Records of moments that have passed. */
  readonly special: () => PinnedRecord[]
  /** Requests that are answered when the server stops. */
  readonly waiting: readonly Promise<unknown>[]
}

async function play(server: RecordedServer, commits: Commits): Promise<Played> {
  const { api, settle } = server
  const run = async (fluxName: string, input?: JsonObject, tags?: string[]): Promise<number> => {
    const owner = EXAMPLES.some(([name]) => name === fluxName) && fluxName !== 'Parent' && fluxName !== 'Child' ? 'examples' : 'k'
    const { contextId } = await api.execute({ package: owner, fluxName, ...input && { input }, ...tags && { tags } })
    await settle()
    return contextId
  }
  const send = async (contextId: number, event: string, input?: JsonObject) => {
    await api.sendEvent({ contextId, event, ...input && { input } })
    await settle()
  }
  for (const [fluxName, input] of EXAMPLES) {
    await api.execute({ package: 'examples', fluxName, input })
    await settle()
  }
  const acting = await run('Stands')
  await run('Stands')
  const called = await run('Echoes', { what: { a: [1, 'ü', null] } })
  const scripted = await run('Scripted', { list: [1, 2, 3] })
  await run('Retries')
  await run('Delays')
  await run('Fails')
  await run('Ends')
  await run('Isolated')
  await run('Types', { integer: 3, double: [0.5], thing: [{ id: 'a' }], model: { a: 'x', extra: [1] }, bigDecimal: '1.5000000000000000001', ['__proto__']: { x: 1 }, stranger: 'kept' })
  const heard = await run('Types', { date: '2026-01-02', any: { sessionId: 1, send: 2, ref: 3 }, long: '9223372036854775807' })
  await send(heard, 'anything', { told: { deep: [{ 'odd name': true }] } })
  const rounds = await run('Events', { name: 'many' }, ['own'])
  for (let round = 0; round < 20; round += 1) await send(rounds, 'again', { note: round === 3 ? 'x'.repeat(5000) : round })
  await send(await run('Events'), 'later')
  await api.sendEvent({ event: 'begin', tags: ['from-trigger'] })
  await api.terminate({ contextId: await run('Events', { name: 'short' }) })
  await run('Parent')
  const parent = await run('Parent', { child: 'ends' })
  await send(parent + 1, 'stop')
  const hook = (path: string) => ({ method: 'POST', path: `/api/pinned/${path}`, headers: { 'content-type': 'application/json', 'x-api-key': 'secret', cookie: 'sid=s' }, body: '{"a":1}' })
  const waiting: Promise<unknown>[] = []
  for (const path of ['stands/Ada', 'waits', 'answers']) {
    const before = commits.ids.length
    waiting.push(server.send(hook(path)))
    while (commits.ids.length === before) await settle()
    await settle()
  }
  await server.advance(1)
  const early = (id: number, phase: string) => commits.record(id, phase, ({ context }) => context.version > 1)
  return {
    waiting,
    special: () => [
      early(called, 'a function that hasn\'t answered'), early(scripted, 'a script that hasn\'t answered'),
      commits.record(acting, 'a function under way', ({ context }) => context.owner === NOBODY),
      commits.record(parent, 'a parent that was told of its child\'s end', (write) => commits.isAfter(write, parent + 1)),
      { ...commits.record(parent + 1, 'a child whose parent was told of its end'), pokes: [parent] },
    ],
  }
}
