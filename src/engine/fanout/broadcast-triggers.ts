// engine/fanout: starts the services that an event triggers, each by the key of its trigger.
import type { CompiledFlux, CompiledTrigger } from '../../definitions/flux.ts'
import { denial } from '../../model/caller.ts'
import type { ContextId } from '../../model/context.ts'
import { standOf } from '../turn/message.ts'
import { holderIn } from '../turn/start-key.ts'
import { ignored, moveAll, type BroadcastEvent, type Found, type ReceiverParts } from './broadcast-receivers.ts'

/** What the event came to so far. */
export interface OutcomesSoFar {
  readonly hasMoved: boolean
  /**
   * What it did to that context: 'counted' if that was counted, null if it did nothing yet. @throws FluxError `unavailable`
   */
  of(id: ContextId): Found | 'counted' | Promise<Found | 'counted'>
}

/** Those that start only if nobody was moved come last. */
export async function startTriggered(
  parts: ReceiverParts,
  services: readonly CompiledFlux[],
  sent: BroadcastEvent,
  outcomes: OutcomesSoFar,
): Promise<Found[]> {
  const triggered = services.flatMap((flux) => {
    const trigger = flux.triggers.find(({ event }) => event === sent.event)
    const isOut = (flux.secured && denial(sent.caller, 'invoke')) || parts.items?.hasStarted(flux) === true
    return !trigger || isOut ? [] : [{ flux, trigger }]
  })
  const startAll = (some: readonly Triggered[]) => Promise.all(some.map((one) => start(parts, one, sent, outcomes)))
  const always = await startAll(triggered.filter(({ trigger }) => !trigger.unlessMoved))
  if (outcomes.hasMoved || always.some((one) => one?.answer === 'transitions' || one?.answer === 'pending'))
    return always
  return [...always, ...(await startAll(triggered.filter(({ trigger }) => trigger.unlessMoved)))]
}

interface Triggered {
  readonly flux: CompiledFlux
  readonly trigger: CompiledTrigger
}

/** How often a start is tried again since the context that had its key has ended meanwhile. */
const MAX_TRIES = 10

/** Where another context has the key, that one gets the event, unless it has it already. */
async function start(
  parts: ReceiverParts,
  { flux, trigger }: Triggered,
  sent: BroadcastEvent,
  outcomes: OutcomesSoFar,
): Promise<Found> {
  const { mailboxes, refusals, items } = parts
  const { event, input, untyped, tags, traceparent } = sent
  const request = {
    flux,
    input,
    untyped,
    unknown: 'ignore' as const,
    tags,
    trigger: event,
    triggerId: sent.eventId,
    key: trigger.key ?? undefined,
    drawn: items?.drawnFor(flux),
    traceparent,
  }
  for (let tries = 1; ; tries += 1) {
    try {
      const outcome = await mailboxes.start(request, { rows: items?.started, partition: items?.partition })
      return { answer: 'executions', stand: standOf(outcome), at: outcome.record.updatedAt }
    } catch (error) {
      const done = items?.doneBefore(error)
      if (done) return done.item
      const holder = holderIn(error)
      if (holder === null) return ignored(refusals, { contextId: null, fluxName: flux.fluxName, state: null }, error)
      const given = await giveToHolder(parts, { flux, holder, outcomes }, sent)
      if (given === 'counted') return null
      const isOver = given === null || (given.answer === 'ignored' && given.hasEnded && flux.keyReuse === 'ended')
      if (!isOver || tries === MAX_TRIES) return given
    }
  }
}

/** Unless it has the event already, or is what the event itself has started before. */
async function giveToHolder(
  parts: ReceiverParts,
  { flux, holder, outcomes }: { flux: CompiledFlux; holder: ContextId; outcomes: OutcomesSoFar },
  sent: BroadcastEvent,
): Promise<Found | 'counted'> {
  try {
    const done = (await outcomes.of(holder)) ?? (await parts.items?.startedAs(flux, holder))
    if (done) return done
  } catch (error) {
    return ignored(parts.refusals, { contextId: holder, fluxName: flux.fluxName, state: null }, error)
  }
  const [found = null] = await moveAll(parts, [holder], sent, { byTags: false })
  return found
}
