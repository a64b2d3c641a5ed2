// engine/turn: the answer of a context to the caller of its webhook: a response, outputs, or the reason why there is
// none.
import type { EventAnswer } from '../../api/events.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { readPath } from '../../definitions/values/paths.ts'
import { isFinished } from '../../model/context.ts'
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { DoorAnswer, WorkflowAnswer } from '../../model/webhook.ts'
import { redactorOf } from '../redact/redactor.ts'

/** Whether there is an answer. Needs only the head of the record, not its data, which may be large. */
export const hasAnswer = ({ paused, status }: ContextRecord): boolean => paused !== undefined || status !== 'RUNNING'

/** The answer of an endpoint that answers when the context is stored. */
export const acceptedAs = ({ id, paused, status }: Pick<ContextRecord, 'id' | 'paused' | 'status'>): DoorAnswer => ({
  kind: 'accepted',
  contextId: id,
  status: paused ?? status,
})

/** The answer of an endpoint that has sent an event. */
export function sentTo({ eventId, transitions, executions, pending }: EventAnswer): DoorAnswer {
  const ids = [...transitions, ...executions, ...pending].flatMap(({ contextId }) => contextId ?? [])
  return { kind: 'sent', eventId, contextIds: [...new Set(ids)] }
}

/** The answer of the context; null: it has neither paused nor ended. */
export function answerOf(record: ContextRecord, flux: CompiledFlux): WorkflowAnswer | null {
  const { id: contextId, answer } = record
  const status = record.paused ?? record.status
  if (status === 'RUNNING') return null
  if (status === 'FAILED') return { kind: 'failed', contextId, reason: reasonOf(record, flux) }
  const from = answer?.from.at(-1)
  if (from !== undefined) return { kind: 'response', contextId, response: responseOf(record, from) }
  if (answer) return { kind: 'outputs', contextId, value: outputsOf(record, flux) }
  return isFinished(status) ? { kind: 'nothing', contextId } : { kind: 'paused', contextId, status }
}

function reasonOf(record: ContextRecord, flux: CompiledFlux): string {
  if (record.error === null) return 'failed'
  const { type, message } = redactorOf(record, flux).error(record.error)
  return `${type}: ${message}`
}

/** Empty if a later line has replaced the object. */
function responseOf({ output }: ContextRecord, path: readonly string[]): JsonObject {
  const response = readPath(output, path)
  return isObject(response) ? response : {}
}

function outputsOf({ output }: ContextRecord, flux: CompiledFlux): Json {
  const names = [...flux.output.properties.keys()]
  const [lone, ...others] = names
  if (lone !== undefined && others.length === 0) return getOwn(output, lone) ?? null
  const all: JsonObject = {}
  for (const name of names) setOwn(all, name, getOwn(output, name) ?? null)
  return all
}
