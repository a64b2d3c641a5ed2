// engine/calls: `getEvent` shows what became of an event.
import { check } from '../../api/check.ts'
import { GET_EVENT, type GetEventRequest, type NamedEvent, type Receipt } from '../../api/get-event.ts'
import { SEND_EVENT } from '../../api/send-event.ts'
import { denial, scopeOfToken } from '../../model/caller.ts'
import { eventIdOf } from '../../model/cloud-event.ts'
import { FluxError, notFound } from '../../model/failure.ts'
import type { ScopedKey } from '../idempotency/kept-answer.ts'
import { receiptOf } from '../idempotency/receipts.ts'
import type { CallEnv } from './call-env.ts'

/** See `FluxApi`. */
export async function getEvent(env: CallEnv, request: GetEventRequest): Promise<Receipt> {
  return receiptFor(env, eventNamed(env, check(GET_EVENT, request)))
}

/** The event that a request names, which has passed the check. @throws FluxError when its sender is another's business */
export function eventNamed(
  env: CallEnv,
  { eventId, source = '', id = '', scope: named }: NamedEvent & { readonly scope?: string | undefined },
): ScopedKey {
  const failure = named === undefined ? null : denial(env.caller, 'admin')
  if (failure) throw new FluxError(failure)
  const scope = named === undefined ? env.scope : scopeOfToken(named === 'nobody' ? undefined : named)
  return { scope, of: SEND_EVENT, key: eventId ?? eventIdOf(source, id) }
}

/** @throws FluxError `notFound` */
export async function receiptFor({ store, now }: CallEnv, event: ScopedKey): Promise<Receipt> {
  const receipt = await receiptOf(store, event, now())
  if (!receipt) throw notFound(`nothing is kept of an event '${event.key}'`)
  return receipt
}
