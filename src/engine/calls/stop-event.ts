// engine/calls: `stopEvent` stops an event that is being sent to all that wait for it.
import { check } from '../../api/check.ts'
import type { Receipt } from '../../api/get-event.ts'
import { STOP_EVENT, type StopEventRequest } from '../../api/stop-event.ts'
import type { CallEnv } from './call-env.ts'
import { eventNamed, receiptFor } from './get-event.ts'

/** See `FluxApi`. */
export async function stopEvent(env: CallEnv, request: StopEventRequest): Promise<Receipt> {
  const event = eventNamed(env, check(STOP_EVENT, request))
  await env.keptBroadcasts.stop(event)
  return receiptFor(env, event)
}
