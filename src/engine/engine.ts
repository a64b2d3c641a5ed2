// engine: its public interface: the calls, the webhooks, start and close.
import type { ReadScope } from '../model/read-scope.ts'
import { apiOf, type Calls, type FluxApi } from '../api/calls.ts'
import { scopeOfToken, SYSTEM, type Caller } from '../model/caller.ts'
import type { WebhookApi } from '../model/webhook.ts'
import type { StepUsage } from '../ports/steps.ts'
import type { ServerSeen } from '../ports/store.ts'
import type { StatusCount } from '../ports/signals.ts'
import { EngineCore } from './core.ts'
import type { EngineParts } from './contexts/deps.ts'

export type { EngineParts } from './contexts/deps.ts'

export interface EngineHealth {
  /** Why it cannot serve now; null if it can. */
  readonly trouble: string | null
  /** Boot id of this server. */
  readonly runId: string
  readonly steps: readonly StepUsage[]
  /** None where the store is of one server alone. */
  readonly servers: readonly ServerSeen[]
}

export interface Engine {
  /** How it is, for people. */
  health(): Promise<EngineHealth>
  /** Why the engine cannot serve now; null if it can. */
  trouble(): string | null
  /** The calls for a caller over HTTP. They charge no budget: the HTTP server charges the requests itself. */
  /**
   * `traceparent`: the trace of the request, as the header names it; left out: it has none. `reads`: that of a request
   * that changes nothing; left out: the calls don't end with its client.
   */
  calls(caller: Caller, traceparent?: string, reads?: ReadScope): Calls
  /** The same, as methods. */
  api(caller: Caller, traceparent?: string, reads?: ReadScope): FluxApi
  /** The calls for the program that runs the engine. Their input is charged to the budget of requests. */
  local(): FluxApi
  readonly webhooks: WebhookApi
  /** The contexts of the namespace, by service and status, some seconds ago at most. @throws FluxError `unavailable` */
  countContexts(): Promise<readonly StatusCount[]>
  /** Ends all requests that are held until a context gets somewhere, and takes no more: the server stops. */
  endWaits(): void
  /**
   * Starts heartbeats, takeovers of steps of dead servers, wake-ups of due contexts, webhooks at ends, and purges.
   * `paused`: nothing of that, and all that changes something is refused, until `resume`.
   */
  start(options?: { readonly paused?: boolean | undefined }): Promise<void>
  /** Whether it was started paused and not resumed yet. */
  isPaused(): boolean
  /** Starts what `start` left out. Resolves at once when it is not paused. @throws FluxError `unavailable` */
  resume(): Promise<void>
  /**
   * Stops takeovers, gives running steps, and webhooks that are being sent, at most `grace` milliseconds (default
   * 10,000) to finish, aborts the rest (they run again, or are sent again, later), and closes the store.
   */
  close(options?: { grace?: number }): Promise<void>
}

/** Milliseconds for which contexts are not counted again for metrics, which keep them for some seconds more. */
const MAX_COUNT_AGE_MS = 4000

/** Creates an engine. Nothing runs before `start`. */
export function createEngine(parts: EngineParts): Engine {
  const { store, memory } = parts
  const core = new EngineCore(parts)
  const known = new WeakMap<Caller, Calls>()
  const own = {
    caller: SYSTEM,
    scope: 'runtime',
    home: null,
    admission: memory.requests,
    isStep: false,
    accepts: false,
  }
  const callsFor: Engine['calls'] = (caller, traceparent, reads) => {
    const isBare = traceparent === undefined && reads === undefined
    const scope = scopeOfToken(caller.name)
    const calls =
      (isBare ? known.get(caller) : undefined) ??
      core.calls({ caller, scope, home: null, admission: null, isStep: false, accepts: true, traceparent, reads })
    if (isBare) known.set(caller, calls)
    return calls
  }
  let resuming: Promise<void> | null = null
  const run = () => runParts(core)
  return {
    calls: callsFor,
    api: (...given) => apiOf(callsFor(...given)),
    local: () => apiOf(core.calls(own)),
    webhooks: core.webhooks,
    countContexts: () => core.envOf(own).serviceCounts.list({ maxAge: MAX_COUNT_AGE_MS }),
    endWaits() {
      core.waits.giveUp()
      core.keptBroadcasts.tasks.giveUp()
    },
    health: async () => ({
      trouble: store.trouble(),
      runId: core.servers.own,
      steps: parts.slots.usage(),
      servers: await store.servers(),
    }),
    trouble: () => store.trouble(),
    async start({ paused = false } = {}) {
      if (paused) core.gate.close()
      else await run()
    },
    isPaused: () => core.gate.isClosed,
    resume() {
      resuming ??= (core.gate.isClosed ? run() : Promise.resolve()).finally(() => {
        resuming = null
      })
      return resuming
    },
    close: ({ grace = 10_000 } = {}) => close(core, grace),
  }
}

/** Starts what an engine does of its own. @throws FluxError `unavailable` */
async function runParts(core: EngineCore): Promise<void> {
  const { gate } = core
  const { isClosed } = gate
  // Opened before: the first heartbeat claims steps.
  gate.open()
  await core.heartbeat.start().catch((error: unknown) => {
    if (isClosed) gate.close()
    throw error
  })
  core.given.alarm.start(() => core.timers.dispatchDue())
  core.purges.within(0)
  core.keptBroadcasts.tasks.look()
  core.operations.tasks.look()
  core.unclaimed.start()
  core.deliveries.start()
  core.ends.start()
}

async function close(core: EngineCore, grace: number): Promise<void> {
  const { given, steps, waits, mailboxes } = core
  const taskEnds = [core.keptBroadcasts, core.operations].map(({ tasks }) => tasks.close())
  const ended = Promise.all([core.recovery.stop(), core.unclaimed.stop(), ...taskEnds])
  core.claims.stop()
  waits.giveUp()
  await Promise.all([steps.stop(grace), core.ends.stop(grace)])
  waits.close()
  core.life.abort()
  await Promise.all([core.heartbeat.stop(), core.purges.stop(), given.alarm.close(), core.feed?.close()])
  await ended
  await mailboxes.idle()
  // The takeover of a released step is not counted.
  await Promise.allSettled(steps.abandon('the server stops').map((id) => mailboxes.post(id, { type: 'RELEASE' })))
  await core.deliveries.close()
  core.claims.close()
  given.runner.close()
  await given.moves?.close()
  await given.store.close()
}
