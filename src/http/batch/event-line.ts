// http: an event as one of many asks for it, and which of them must keep their order: those that name the same context,
// or the same key of a service.
import type { z } from 'zod'
import type { CALLS, Calls, Told } from '../../api/calls.ts'
import type { EventAnswer } from '../../api/events.ts'
import type { Failure } from '../../model/failure.ts'
import { getOwn, isObject } from '../../model/json/value.ts'
import { problemOf, retryAfterOf } from '../formats/problem.ts'
import type { CallFields } from '../request/call-fields.ts'
import type { Ordering } from './keyed-queue.ts'

/** The answer to a line: the status of the single call, and what else it says. */
export interface LineAnswer {
  readonly status: number
  readonly [field: string]: unknown
}

/** What a line asks for. */
export interface LineRequest extends Ordering {
  /** @throws FluxError when it is refused */
  run(placed: () => void): Promise<Told<LineAnswer>>
}

/**
 * null: it names no context. The package is left out, since one line may name it and another may not. Where several
 * packages have a service of that name, some lines keep an order that they needn't.
 */
export function orderingKeyOf({ contextId, key, fluxName, orStart }: CallFields): number | string | null {
  if (typeof contextId === 'number') return contextId
  if (typeof key !== 'string') return null
  const start = isObject(orStart) ? orStart : {}
  return JSON.stringify([fluxName ?? getOwn(start, 'fluxName'), key])
}

/** One that names no context is for all, and is sent when no other is under way. */
export const eventLine = (
  calls: Calls,
  fields: CallFields,
  request: z.output<typeof CALLS.sendEvent.request>,
): LineRequest => ({
  orderingKey: orderingKeyOf(fields) ?? 'everything',
  key: request.eventId ?? null,
  run: (onPlaced) => calls.call('sendEvent', request, { onPlaced }).then(answered),
})

/** Each field is named: a rest pattern and spreading cost each line more than its check. */
function answered({ answer, replayed, ended }: Told<EventAnswer>): Told<LineAnswer> {
  const { eventId } = answer
  if (ended) return { answer: { status: 202, eventId, replayed }, ended }
  const { transitions, executions, ignored, pending, hint } = answer
  return { answer: { status: 200, transitions, executions, ignored, eventId, pending, hint, replayed } }
}

/** How a line is answered that was refused. */
export function refusedLineOf(n: number, failure: Failure) {
  const problem = problemOf(failure)
  return { n, status: problem.status, problem, retryAfter: retryAfterOf(failure) }
}
