// engine/calls: `getEvent` tells what became of an event.
import { check } from '../../api/check.ts'
import { GET_EVENT, type GetEventRequest, type Receipt } from '../../api/get-event.ts'
import { SEND_EVENT } from '../../api/send-event.ts'
import { denial, scopeOfToken } from '../../model/caller.ts'
import { FluxError, notFound } from '../../model/failure.ts'
import { receiptOf } from '../idempotency/receipts.ts'
import type { CallEnv } from './call-env.ts'

/** See `FluxApi`. */
export async function getEvent(env: CallEnv, request: GetEventRequest): Promise<Receipt> {
  const { eventId, scope: named } = check(GET_EVENT, request)
  const failure = named === undefined ? null : denial(env.caller, 'admin')
  if (failure) throw new FluxError(failure)
  const scope = named === undefined ? env.scope : scopeOfToken(named === 'nobody' ? undefined : named)
  const receipt = await receiptOf(env.store, { scope, of: SEND_EVENT, key: eventId }, env.now())
  if (!receipt) throw notFound(`nothing is kept of an event '${eventId}'`)
  return receipt
}
