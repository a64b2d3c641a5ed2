// engine: its public interface: the calls, the webhooks, start and close.
import type { ReadScope } from '../model/read-scope.ts'
import { apiOf, type Calls, type FluxApi } from '../api/calls.ts'
import { scopeOfToken, SYSTEM, type Caller } from '../model/caller.ts'
import { callPartsOf, type Access } from './calls/call-env.ts'
import type { EngineParts } from './contexts/deps.ts'
import { EngineCore } from './core/core.ts'
import { callsOf } from './handlers.ts'
import { webhooks } from './webhooks/webhooks.ts'

export type { EngineParts } from './contexts/deps.ts'

export type Engine = ReturnType<typeof createEngine>

/** Creates an engine. Nothing runs before `start`. */
export function createEngine(parts: EngineParts) {
  const { store, memory } = parts
  const core = new EngineCore({
    ...parts,
    apiOf: ({ id, package: home }, traceparent) =>
      apiOf(callsFor({ caller: SYSTEM, isStep: true, scope: `context ${id}`, home, traceparent })),
  })
  const callParts = callPartsOf(core)
  const callsFor = (access: Access) => callsOf({ ...callParts, ...access })
  const calls = callsOverHttp(callsFor)
  let resuming: Promise<void> | null = null
  return {
    calls,
    /** The same, as methods. */
    api: (...given: Parameters<typeof calls>): FluxApi => apiOf(calls(...given)),
    /** The calls for the program that runs the engine. Their input is charged to the budget of requests. */
    local: (): FluxApi => apiOf(callsFor({ caller: SYSTEM, scope: 'runtime', inputBudget: memory.requests })),
    webhooks: webhooks(callParts),
    /** The contexts of the namespace, by service and status, as they were counted last. @throws FluxError `unavailable` */
    countContexts: () => callParts.serviceCounts.list(),
    /** Ends all requests that are held until a context gets somewhere, and takes no more: the server stops. */
    endWaits() {
      core.waits.giveUp()
      core.keptBroadcasts.tasks.giveUp()
    },
    /** How it is, for people. `runId`: its boot id. `servers`: none where the store is of one server alone. */
    health: async () => ({
      trouble: store.trouble(),
      runId: core.servers.own,
      steps: parts.slots.usage(),
      servers: await store.servers(),
    }),
    /** Why the engine cannot serve now; null if it can. */
    trouble: () => store.trouble(),
    /**
     * Starts heartbeats, takeovers of steps of dead servers, wake-ups of due contexts, webhooks at ends, and purges.
     * `paused`: nothing of that, and all that changes something is refused, until `resume`.
     */
    async start({ paused = false }: { readonly paused?: boolean | undefined } = {}) {
      if (paused) core.gate.isClosed = true
      else await runParts(core)
    },
    /** Whether it was started paused and not resumed yet. */
    isPaused: () => core.gate.isClosed,
    /** Starts what `start` left out. Resolves at once when it is not paused. @throws FluxError `unavailable` */
    resume() {
      resuming ??= (core.gate.isClosed ? runParts(core) : Promise.resolve()).finally(() => {
        resuming = null
      })
      return resuming
    },
    /**
     * Stops takeovers, gives running steps, and webhooks that are being sent, at most `grace` milliseconds to finish,
     * aborts the rest (they run again, or are sent again, later), and closes the store.
     */
    close: ({ grace = 10_000 }: { readonly grace?: number } = {}) => close(core, grace),
  }
}

/**
 * The calls for a caller over HTTP. They charge no budget: the HTTP server charges the requests itself.
 * `traceparent`: the trace of the request, as the header names it; left out: it has none. `reads`: that of a request
 * that changes nothing; left out: the calls don't end with its client.
 */
function callsOverHttp(callsFor: (access: Access) => Calls) {
  const known = new WeakMap<Caller, Calls>()
  return (caller: Caller, traceparent?: string, reads?: ReadScope): Calls => {
    const isBare = traceparent === undefined && reads === undefined
    const scope = scopeOfToken(caller.name)
    const calls =
      (isBare ? known.get(caller) : undefined) ?? callsFor({ caller, scope, accepts: true, traceparent, reads })
    if (isBare) known.set(caller, calls)
    return calls
  }
}

/** Starts what an engine does of its own. @throws FluxError `unavailable` */
async function runParts(core: EngineCore) {
  const { gate } = core
  const { isClosed } = gate
  // Opened before: the first heartbeat claims steps.
  gate.isClosed = false
  await core.heartbeat.start().catch((error: unknown) => {
    gate.isClosed = isClosed
    throw error
  })
  core.given.alarm.start(core.wakeUps)
  core.purges.within(0)
  core.keptBroadcasts.tasks.look()
  core.operations.tasks.look()
  core.unclaimed.start()
  core.deliveries.start()
  core.ends.start()
}

async function close(core: EngineCore, grace: number) {
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
