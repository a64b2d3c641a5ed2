// http: an event as a line of many asks for it, and which of them must keep their order: those that name the same
// context, or the same key of a service.
import type { z } from 'zod'
import type { CALLS, Calls, Told } from '../../api/calls.ts'
import type { EventAnswer } from '../../api/events.ts'
import { getOwn, isObject } from '../../model/json/value.ts'
import type { CallFields } from '../request/call-fields.ts'
import type { Concern } from './lanes.ts'
import type { LineAnswer, LineRequest } from './line-stream.ts'

/**
 * null: it names no context. The package is left out, since one line may name it and another may not. Where several
 * packages have a service of that name, some lines keep an order that they needn't.
 */
export function concernOf({ contextId, key, fluxName, orStart }: CallFields): number | string | null {
  if (typeof contextId === 'number') return contextId
  if (typeof key !== 'string') return null
  const start = isObject(orStart) ? orStart : {}
  return JSON.stringify([fluxName ?? getOwn(start, 'fluxName'), key])
}

/** A start that may be repeated under a key keeps its order with those under that key. */
export function startConcernOf(fields: CallFields): Concern {
  const { idempotencyKey } = fields
  return concernOf(fields) ?? (typeof idempotencyKey === 'string' ? JSON.stringify([idempotencyKey]) : null)
}

interface EventLine {
  readonly request: z.output<typeof CALLS.sendEvent.request>
  readonly fields: CallFields
}

/** One that names no context is for all, and is sent when no other is under way. */
export function eventLine(calls: Calls, { request, fields }: EventLine): LineRequest {
  return {
    concern: concernOf(fields) ?? 'everything',
    key: request.eventId ?? null,
    run: (onPlaced) => calls.call('sendEvent', request, { onPlaced }).then(answered),
  }
}

/** Each field is named: a rest pattern and spreading cost each line more than its check. */
function answered({ answer, replayed, ended }: Told<EventAnswer>): Told<LineAnswer> {
  const { eventId } = answer
  if (ended) return { answer: { status: 202, eventId, replayed }, ended }
  const { transitions, executions, ignored, pending, hint } = answer
  return { answer: { status: 200, transitions, executions, ignored, eventId, pending, hint, replayed } }
}
