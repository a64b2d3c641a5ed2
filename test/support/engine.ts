// Runs services written in a test on the real engine, on a store in memory and a clock that the test moves.
import { setTimeout as sleep } from 'node:timers/promises'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { settlementOf } from '../../src/http/webhooks/reply.ts'
import { stepRunner } from '../../src/steps/runner.ts'
import { Slots } from '../../src/model/slots.ts'
import { localAlarm } from '../../src/alarms/local.ts'
import { openCatalog } from '../../src/definitions/catalog.ts'
import { ByteBudget } from '../../src/model/byte-budget.ts'
import type { FluxApi } from '../../src/api/calls.ts'
import { notedApi } from './answers.ts'
import { atEndOfTest } from './at-end.ts'
import { SYSTEM } from '../../src/model/caller.ts'
import type { ContextView } from '../../src/api/contexts.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Store } from '../../src/ports/store.ts'
import type { MemoryLimits } from '../../src/engine/contexts/context-loader.ts'
import { callPartsOf } from '../../src/engine/calls/call-env.ts'
import { EngineCore } from '../../src/engine/core/core.ts'
import { createEngine, type Engine, type EngineParts } from '../../src/engine/engine.ts'
import { openLmdbStore } from '../../src/store/lmdb/store.ts'
import { Memory } from '../../src/store/memory/memory.ts'
import { MemoryStore } from '../../src/store/memory/memory-store.ts'
import type { WebhookSender } from '../../src/ports/steps.ts'
import { webhookSender } from '../../src/steps/builtin/webhooks.ts'
import { engineParts, secretsOf } from '../../src/testing/world.ts'
import { StoreCalls } from './store-calls.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'

/** Files of one folder of packages: path to content; what isn't text becomes JSON. */
export type Files = { readonly [path: string]: unknown }

export interface Bench extends FluxApi {
  readonly clock: SimulatedClock
  readonly engine: Engine
  /** Of the engine. */
  readonly parts: EngineParts
  readonly folder: string
  /** What was logged, newest last. */
  readonly logged: { level: string; message: string; fields: object | undefined }[]
  /** Resolves when nothing goes on by itself while the clock stands still, save for steps. */
  idle(): Promise<void>
  /** Moves the clock, and lets what becomes due come to its end. */
  advance(milliseconds: number): Promise<void>
  /** Starts a service of package `p` and gives its context. */
  run(fluxName: string, input?: object, more?: object): Promise<number>
  /** The context, once it satisfies the condition (real time, at least 5 s). */
  until(contextId: number, done: (view: ContextView) => boolean): Promise<ContextView>
  /** Stops as a server does and starts again on the same data. */
  restart(): Promise<Bench>
  /** Stops, and removes the folder; so does the end of the test that opened it. */
  close(): Promise<void>
}

const NOW = Date.UTC(2026, 0, 1)
const MIB = 1024 * 1024

/** Looks at a context until it is where it should be; before each further look than the first few there is a pause. */
const LOOKS = { atOnce: 20, all: 5000 }

/** Lets processes and functions of steps get on. */
const pause = () => sleep(1)

/** A store in memory, which outlives its server as a folder does. */
class KeptMemory {
  clock: SimulatedClock
  readonly memory = new Memory({ now: () => this.clock.now(), silence: null })

  constructor(clock: SimulatedClock) {
    this.clock = clock
  }
}

/** By folder. */
const memories = new Map<string, KeptMemory>()

function openMemoryIn(folder: string, clock: SimulatedClock): Store {
  const kept = memories.get(folder) ?? new KeptMemory(clock)
  memories.set(folder, kept)
  kept.clock = clock
  kept.memory.reopen()
  return new MemoryStore(kept.memory)
}

export async function writeFiles(folder: string, files: Files): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
  }
}

export interface BenchOptions {
  readonly folder?: string
  readonly clock?: SimulatedClock
  readonly retention?: number
  readonly idempotency?: Partial<EngineParts['idempotency']>
  readonly stepConcurrency?: number
  readonly signals?: EngineParts['signals']
  /** In place of those. */
  readonly slots?: Slots
  readonly memory?: Partial<MemoryLimits>
  readonly bounds?: Partial<EngineParts['bounds']>
  /** Of each endpoint. */
  readonly deliveries?: number
  readonly wrap?: (store: Store) => Store
  /** In place of one in memory. */
  readonly store?: Store
  /** On the embedded store, in the folder. */
  readonly onDisk?: boolean
  readonly others?: EngineParts['others']
  readonly moves?: EngineParts['moves']
  /** Whether services may send requests to this machine. */
  readonly allowPrivate?: boolean
  /** In place of the one that sends requests. */
  readonly webhookSender?: WebhookSender
  /** Whether the end of the test does not close it. */
  readonly isShared?: boolean
  /** Values of `$secrets`, by name. A test may change them. */
  readonly secrets?: { [name: string]: string }
}

/** The parts of an engine that is not started, and whose steps make no calls. */
export const partsOf = (parts: EngineParts) =>
  callPartsOf(
    new EngineCore({
      ...parts,
      apiOf() {
        throw new Error('no step makes a call')
      },
    }),
  )

/** What a test opens is closed when it ends. */
export async function openBench(files: Files, options: BenchOptions = {}): Promise<Bench> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'actorflux-')))
  await writeFiles(join(folder, 'actors'), files)
  const clock = options.clock ?? new SimulatedClock(NOW)
  const logged: Bench['logged'] = []
  const tell = (level: string) => (message: string, fields?: object) => {
    logged.push({ level, message, fields })
  }
  const log: Log = {
    trace: tell('trace'),
    debug: tell('debug'),
    info: tell('info'),
    warn: tell('warn'),
    error: tell('error'),
  }
  const runner = stepRunner({ log, allowPrivate: options.allowPrivate ?? false })
  const secrets = secretsOf(options.secrets ?? {})
  const { catalog, report } = await openCatalog({ folders: [join(folder, 'actors')], runner, log })
  const faults = report.filter(({ severity }) => severity === 'fault')
  if (faults.length > 0) throw new Error(`the services of the test have faults: ${JSON.stringify(faults)}`)
  const openOwn = () =>
    options.onDisk === true ? openLmdbStore({ folder: join(folder, 'data'), log, clock }) : openMemoryIn(folder, clock)
  const calls = new StoreCalls()
  clock.underWay.add(calls.underWay)
  const opened = calls.watch(options.store ?? (await openOwn()))
  const store = options.wrap?.(opened) ?? opened
  const parts = engineParts({
    store,
    catalog,
    runner,
    clock,
    log,
    signals: options.signals,
    alarm: localAlarm({ clock, log }),
    retention: options.retention ?? 7 * 86_400_000,
    idempotency: { kept: 86_400_000, max: 1_000_000, keptOfWebhooks: 7 * 86_400_000, ...options.idempotency },
    secrets,
    webhookSender: options.webhookSender ?? webhookSender({ allowPrivate: options.allowPrivate ?? false }),
    slots: options.slots ?? new Slots({ code: options.stepConcurrency ?? 256, isolated: 8 }),
    others: options.others ?? null,
    moves: options.moves,
    webhooks: { deliveries: options.deliveries ?? 1000, settlementOf },
    bounds: {
      commits: 1_000_000,
      broadcasts: 1000,
      waits: 20_000,
      pending: 100_000,
      answeredBroadcast: 10_000,
      ...options.bounds,
    },
    memory: {
      requests: new ByteBudget({ bytes: 256 * MIB, what: 'requests' }),
      steps: 64 * MIB,
      cache: 256 * MIB,
      record: 16 * MIB,
      ...options.memory,
    },
  })
  const created = createEngine(parts)
  let closing: Promise<void> | null = null
  const engine: Engine = { ...created, close: (given) => (closing ??= created.close(given)) }
  await engine.start()
  const api = notedApi(engine.calls(SYSTEM))
  const bench: Bench = {
    ...api,
    clock,
    engine,
    parts,
    folder,
    logged,
    idle: () => clock.idle(),
    advance: (milliseconds) => clock.advance(milliseconds),
    async run(fluxName, input, more) {
      const request = { package: 'p', fluxName, ...(input && { input: JSON.parse(JSON.stringify(input)) }), ...more }
      return (await api.execute(request)).contextId
    },
    async until(contextId, done) {
      for (let looks = 0; looks < LOOKS.all; looks += 1) {
        const view = await api.getContext({ contextId })
        if (done(view)) return view
        if (looks >= LOOKS.atOnce) await pause()
        // What has been committed is seen before its timer is set: one that the clock has passed meanwhile must ring
        // all the same.
        await clock.advance(0)
      }
      throw new Error(`context ${contextId} did not get there: ${JSON.stringify(await api.getContext({ contextId }))}`)
    },
    async restart() {
      await engine.close({ grace: 0 })
      clock.underWay.delete(calls.underWay)
      return openBench({}, { ...options, folder, clock, isShared: !isOfTest })
    },
    async close() {
      await engine.close({ grace: 0 })
      clock.underWay.delete(calls.underWay)
      memories.delete(folder)
      await rm(folder, { recursive: true, force: true })
    },
  }
  const isOfTest = options.isShared !== true && atEndOfTest(bench.close)
  return bench
}

/** The values of a context's outputs, by name. */
export function outputs(view: ContextView): { [name: string]: unknown } {
  return Object.fromEntries(view.output.gloopProperties.map(({ name, value }) => [String(name), value]))
}
