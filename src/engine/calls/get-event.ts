// engine/calls: `getEvent` shows what became of an event, and `stopEvent` stops one that is being sent to all that wait for it.
import { CALLS, type CheckedCall } from '../../api/calls.ts'
import type { NamedEvent, Receipt } from '../../api/events.ts'
import { denial, scopeOfToken } from '../../model/caller.ts'
import { eventIdOf } from '../../model/cloud-event.ts'
import { FluxError, notFound } from '../../model/failure.ts'
import { inDoubtIfAway } from '../tasks/queue.ts'
import type { ScopedKey } from '../idempotency/kept-answer.ts'
import { receiptOf } from '../fanout/receipts.ts'
import type { CallEnv } from './call-env.ts'

/** See `FluxApi`. */
export async function getEvent(env: CallEnv, request: CheckedCall<'getEvent'>): Promise<Receipt> {
  return receiptFor(env, eventNamed(env, request))
}

/** See `FluxApi`. */
export async function stopEvent(env: CallEnv, request: CheckedCall<'stopEvent'>): Promise<Receipt> {
  const event = eventNamed(env, request)
  await env.keptBroadcasts.stop(event)
  return inDoubtIfAway(() => receiptFor(env, event))
}

/** The event that a request names, which has passed the check. @throws FluxError when its sender is another's business */
function eventNamed(
  env: CallEnv,
  { eventId, source = '', id = '', scope: named }: NamedEvent & { readonly scope?: string | undefined },
): ScopedKey {
  const failure = named === undefined ? null : denial(env.caller, 'admin')
  if (failure) throw new FluxError(failure)
  const scope = named === undefined ? env.scope : scopeOfToken(named === 'nobody' ? undefined : named)
  return { scope, of: CALLS.sendEvent, key: eventId ?? eventIdOf(source, id) }
}

/** @throws FluxError `notFound` */
async function receiptFor({ store, now }: CallEnv, event: ScopedKey): Promise<Receipt> {
  const receipt = await receiptOf(store, event, now())
  if (!receipt) throw notFound(`nothing is kept of an event '${event.key}'`)
  return receipt
}
