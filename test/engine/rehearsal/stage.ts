// A server on which generated calls are rehearsed and then made: its functions end as the seed says, or stand still, and
// its store can be compared with what it was.
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ContextView } from '../../../src/api/contexts.ts'
import { NO_SIGNALS } from '../../../src/engine/contexts/deps.ts'
import { SYSTEM } from '../../../src/model/caller.ts'
import { FluxError, type Failure } from '../../../src/model/failure.ts'
import type { OutgoingWebhook, SendOutcome, WebhookSender } from '../../../src/ports/steps.ts'
import { MoveRing } from '../../../src/store/lmdb/move-ring.ts'
import { openLmdbStore } from '../../../src/store/lmdb/store.ts'
import { openBench, type Bench, type BenchOptions, type Files } from '../../support/engine.ts'
import { openRedis } from '../../support/redis-store.ts'
import { silent, SILENT_FEED } from '../../support/silent.ts'
import { SimulatedClock } from '../../../src/testing/simulated-clock.ts'
import { dumpOf, dumpOfEmbedded, RedisDump } from '../../support/store-dump.ts'
import type { GeneratedCall, World } from './generated.ts'

export const STAGES = ['memory', 'embedded', 'Redis'] as const
export type StageKind = (typeof STAGES)[number]

const HALF_A_DAY_MS = 43_200_000
const BEAT_MS = 600_000
const DEAD_AFTER_MS = 86_400_000
const ALL = 1000

interface FunctionCall {
  readonly contextId: number
  readonly state: string
  readonly className: string
  readonly methodName: string
  readonly arguments: unknown
}

interface FluxFacts {
  readonly contextId: number
  readonly stateName: string
  readonly signal: AbortSignal
}

declare global {
  var rehearsedFunctions: Map<string, Functions> | undefined
}

/** The functions of the services. */
export class Functions {
  readonly #outcomes: World['outcomes']
  /** The states whose functions end; those of others stand still. */
  #ending: ReadonlySet<string>
  #counts = new Map<string, number>()
  readonly #standing = new Set<{ readonly facts: FluxFacts; readonly end: () => void }>()
  calls: FunctionCall[] = []

  get states(): readonly string[] {
    return Object.keys(this.#outcomes)
  }

  constructor({ outcomes }: World) {
    this.#outcomes = outcomes
    this.#ending = new Set(Object.keys(outcomes))
  }

  /** From now on, each state acts anew. */
  begin(ending: Iterable<string>): void {
    this.#ending = new Set(ending)
    this.#counts = new Map()
    this.calls = []
  }

  async call(methodName: string, args: unknown, facts: FluxFacts): Promise<unknown> {
    const { contextId, stateName, signal } = facts
    this.calls.push({ contextId, state: stateName, className: 'code', methodName, arguments: args })
    if (!this.#ending.has(stateName))
      await new Promise<void>((end, reject) => {
        const standing = { facts, end }
        this.#standing.add(standing)
        signal.addEventListener('abort', () => {
          this.#standing.delete(standing)
          reject(signal.reason)
        })
      })
    return this.#outcome(facts)
  }

  /** Lets those end that stand still in one of these contexts, if functions of their states end; whether there are any. */
  release(contexts: ReadonlySet<number>): boolean {
    const released = [...this.#standing].filter(
      ({ facts }) => contexts.has(facts.contextId) && this.#ending.has(facts.stateName),
    )
    for (const standing of released) {
      this.#standing.delete(standing)
      standing.end()
    }
    return released.length > 0
  }

  #outcome({ contextId, stateName }: FluxFacts): unknown {
    const key = `${contextId} ${stateName}`
    const count = this.#counts.get(key) ?? 0
    this.#counts.set(key, count + 1)
    const outcomes = this.#outcomes[stateName] ?? []
    const outcome = outcomes[count] ?? outcomes.at(-1)
    if (!outcome) throw new Error(`no outcome of ${stateName} is known`)
    if ('result' in outcome) return outcome.result
    const { type, message } = outcome.error
    throw Object.assign(new Error(message), { name: type })
  }
}

class Receiver implements WebhookSender {
  readonly sent: { readonly url: string; readonly contextId: number }[] = []

  async send({ url, body }: OutgoingWebhook): Promise<SendOutcome> {
    const { data }: { data: { contextId: number } } = JSON.parse(body)
    this.sent.push({ url, contextId: data.contextId })
    return { ok: true }
  }
}

/** Notes what is told to the stream. */
class NotedMoves extends MoveRing {
  readonly #note: (what: string) => void

  constructor(clock: SimulatedClock, note: (what: string) => void) {
    super(clock)
    this.#note = note
  }

  override get isActive(): boolean {
    return true
  }

  override publish(): void {
    this.#note('a move')
  }
}

/** Signals that note what is counted. */
const notedSignals = (note: (what: string) => void): typeof NO_SIGNALS =>
  new Proxy(NO_SIGNALS, {
    get(target, name) {
      note(String(name))
      return Reflect.get(target, name)
    },
  })

export type Outcome = { readonly answer: object; readonly replayed: boolean } | { readonly failure: Failure }

export interface Stage {
  readonly bench: Bench
  readonly functions: Functions
  readonly receiver: Receiver
  /** What was counted, and told to the stream. */
  readonly noted: string[]
  readonly dump: () => Promise<string>
  readonly make: (call: GeneratedCall, more?: object) => Promise<Outcome>
  /** All contexts, by id. */
  readonly views: () => Promise<ReadonlyMap<number, ContextView>>
  /** Withdraws unclaimed events: contexts take them later, by commits of their own, which no rehearsal foresees. */
  readonly withdraw: () => Promise<void>
  /** Lets all come to rest, while the clock stands still. */
  readonly settle: () => Promise<void>
  /** Moves the clock from one moment at which something happens to the next. `atEach`: what is done then. */
  readonly advanceTo: (end: number, atEach: () => Promise<void>) => Promise<void>
  readonly close: () => Promise<void>
}

const moduleOf = (world: string) =>
  ['run', 'other']
    .map(
      (name) =>
        `export const ${name} = (args, flux) => globalThis.rehearsedFunctions.get('${world}').call('${name}', args, flux)\n`,
    )
    .join('')

/** `seed` decides the partitions. */
export async function openStage(kind: StageKind, world: World, seed: number): Promise<Stage> {
  const name = randomUUID()
  const functions = new Functions(world)
  globalThis.rehearsedFunctions ??= new Map()
  globalThis.rehearsedFunctions.set(name, functions)
  const receiver = new Receiver()
  const clock = new SimulatedClock(Date.now() - HALF_A_DAY_MS)
  const files: Files = {
    'p/code.mjs': moduleOf(name),
    ...Object.fromEntries(world.services.map(({ fluxName, source }) => [`p/${fluxName}.flux`, source])),
  }
  const { options, dump, close } = await openStore(kind, clock, seed)
  const noted: string[] = []
  const note = (what: string) => {
    noted.push(what)
  }
  const bench = await openBench(files, {
    clock,
    isShared: true,
    webhookSender: receiver,
    signals: notedSignals(note),
    moves: new NotedMoves(clock, note),
    secrets: { HOOK: 'signs-the-webhooks-of-the-test' },
    ...options,
  })
  const calls = bench.engine.calls(SYSTEM)
  const isDue = (at: number) => at <= clock.now()
  const settle = async () => {
    for (let looks = 0; looks < 2; looks = clock.pending.some(isDue) ? 0 : looks + 1) await bench.advance(0)
  }
  return {
    bench,
    functions,
    receiver,
    noted,
    dump: () => dump?.() ?? dumpOf(bench.parts.store),
    settle,
    async make({ name: method, request }, more) {
      try {
        const { answer, replayed = false } = await calls.ask(method, { ...request, ...more })
        return { answer, replayed }
      } catch (error) {
        if (error instanceof FluxError) return { failure: error.failure }
        throw error
      }
    },
    async views() {
      const { contexts } = await bench.parts.store.select({ any: [[]], order: 'asc', limit: ALL })
      const views = await Promise.all(contexts.map(({ id: contextId }) => bench.getContext({ contextId })))
      return new Map(views.map((view) => [view.id, view]))
    },
    async withdraw() {
      const pending = await bench.listPending({ limit: ALL })
      for (const { contextId, eventId } of pending) if (contextId === null) await bench.withdraw({ eventId })
    },
    async advanceTo(end, atEach) {
      while (clock.now() < end) {
        const next = clock.pending.find((at) => at > clock.now()) ?? end
        await bench.advance(Math.min(next, end) - clock.now())
        await settle()
        await atEach()
      }
    },
    async close() {
      await bench.close()
      await close?.()
      globalThis.rehearsedFunctions?.delete(name)
    },
  }
}

interface OpenedStore {
  readonly options?: BenchOptions
  readonly dump?: () => Promise<string>
  readonly close?: () => Promise<void>
}

async function openStore(kind: StageKind, clock: SimulatedClock, seed: number): Promise<OpenedStore> {
  if (kind === 'memory') return {}
  if (kind === 'embedded') {
    const folder = await mkdtemp(join(tmpdir(), 'actorflux-'))
    const store = await openLmdbStore({ folder: join(folder, 'data'), log: silent, clock })
    const close = () => rm(folder, { recursive: true, force: true })
    return { options: { store }, dump: () => dumpOfEmbedded(store), close }
  }
  const namespace = `test-${randomUUID()}`
  const store = await openRedis({ namespace, partitions: seed % 2 === 0 ? 1 : 3, deadAfterMs: DEAD_AFTER_MS })
  const redis = new RedisDump(namespace)
  return {
    options: { store, others: { beat: BEAT_MS, feed: SILENT_FEED } },
    dump: () => redis.read(),
    close: async () => redis.close(),
  }
}
