// engine/turn: what a context sends to the outside. The caller of its webhook gets a response, outputs, or the reason
// why there is none; where the webhook was called under a key, the first answer is a row of the commit that gives it,
// whichever server makes that, so it outlives the context, and a crash loses both or none. The receiver of `onEnd` gets
// the webhook that is sent when it has ended, made in the turn that ends it, redacted as views are. What can't be made
// of that webhook is left out: the context still ends.
import type { EventAnswer } from '../../api/events.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { readPath } from '../../definitions/values/paths.ts'
import { type ContextRecord, isFinished } from '../../model/context.ts'
import { getOwn, isObject, setOwn, type JsonObject } from '../../model/json/value.ts'
import type { DoorAnswer, WorkflowAnswer } from '../../model/webhook.ts'
import { redactorOf } from '../redact/redactor.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Expression, Turn } from '../../definitions/expressions/expression.ts'
import { messageOf } from '../../model/error-message.ts'
import type { StoredContext } from '../../ports/store.ts'
import { LIGHT_BYTES, weightOf } from '../contexts/context-loader.ts'
import { decodeRecord } from '../record/decode.ts'
import { NO_ROWS, type TrackedContext, type TurnEnv } from './message.ts'
import { rowsOfOwed, type OwedWebhook } from '../on-end/end-webhooks.ts'
import { startScopeOf, startTextOf } from './start-request.ts'

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
  const { id: contextId, answer, error, output } = record
  const status = record.paused ?? record.status
  if (status === 'RUNNING') return null
  if (status === 'FAILED') {
    const shown = error && redactorOf(record, flux).error(error)
    return { kind: 'failed', contextId, reason: shown ? `${shown.type}: ${shown.message}` : 'failed' }
  }
  if (!answer) return isFinished(status) ? { kind: 'nothing', contextId } : { kind: 'paused', contextId, status }
  const from = answer.from.at(-1)
  if (from === undefined) {
    const all = outputsOf(flux, output)
    const [lone, ...others] = Object.values(all)
    return { kind: 'outputs', contextId, value: lone !== undefined && others.length === 0 ? lone : all }
  }
  // Empty if a later line has replaced the object.
  const response = readPath(output, from)
  return { kind: 'response', contextId, response: isObject(response) ? response : {} }
}

/** The outputs that the service declares; null: those that have no value. */
export function outputsOf({ output: { properties } }: CompiledFlux, values: JsonObject): JsonObject {
  const outputs: JsonObject = {}
  for (const name of properties.keys()) setOwn(outputs, name, getOwn(values, name) ?? null)
  return outputs
}

/**
 * A row is not written in the last part of its time, nor in its last milliseconds: by the clock of another server it
 * may have expired, and the key may belong to another call.
 */
const LEAVE = { ms: 60_000, part: 0.1 }

/** The rows of a context that has got its first answer. They have no guard, since the version of the context is one. */
export function answerRowsAfter(
  { before, record, flux }: Pick<TrackedContext, 'before' | 'record' | 'flux'>,
  partitions: number,
): readonly RowWrite[] {
  const { id, startedAt: at, updatedAt: now, answerRows } = record
  // A start writes its rows itself.
  if (!answerRows || before === null || hasAnswer(before)) return NO_ROWS
  const answer = answerOf(record, flux)
  if (answer === null) return NO_ROWS
  return answerRows.flatMap(({ key, hash, keepMs }) => {
    const expiresAt = at + keepMs
    if (now >= expiresAt - Math.min(LEAVE.ms, keepMs * LEAVE.part)) return []
    const value = JSON.stringify({ hash, at, answer })
    return [{ partition: id % partitions, space: 'idempotency' as const, key, value, expiresAt }]
  })
}

/**
 * The rows of the webhook that is due since this turn. If the data was not read, which may be the cause of the end,
 * only that of a small context is read now; for another one, only that is sent which is in its head and can be no
 * secret of its request.
 */
export function endRowsOf(context: TrackedContext, turn: TurnEnv): readonly RowWrite[] {
  const webhook = owedBy(context, turn)
  if (webhook === null) return NO_ROWS
  return rowsOfOwed(webhook, { partitions: turn.partitions, due: Math.ceil(context.record.endedAt ?? turn.now) })
}

/** The webhook at the end of a context; null: it has not ended, or sends none. */
export function owedBy(context: TrackedContext, turn: Turn): OwedWebhook | null {
  const { before, record, flux, texts } = context
  const { onEnd, fluxName } = flux
  const { id: contextId, package: owner, status, endedAt, updatedAt, retries } = record
  if (onEnd === null || !isFinished(status) || (before !== null && isFinished(before.status))) return null
  const { url: template, secret } = onEnd
  const whole = context.isUnread ? wholeOf(record, texts) : record
  return {
    contextId,
    retries,
    package: owner,
    fluxName,
    ...(whole || template.names.size === 0 ? urlOf(template, whole ?? record, turn) : UNREAD),
    secret,
    // The data in the order of the documentation.
    body: JSON.stringify({
      type: `context.${status.toLowerCase()}`,
      timestamp: new Date(endedAt ?? updatedAt).toISOString(),
      data: { contextId, package: owner, fluxName, status, ...(whole ? shownOf(whole, flux) : shownOfHead(context)) },
    }),
  }
}

/** The record, of which the head was read, with its data; null: the data is too large, or can't be read. */
function wholeOf(record: ContextRecord, parts: StoredContext['parts']): ContextRecord | null {
  if (weightOf(parts) > LIGHT_BYTES) return null
  try {
    const { input, output, states, request, inheritedSecrets } = decodeRecord({ ...record, parts })
    return { ...record, input, output, states, request, inheritedSecrets }
  } catch {
    return null
  }
}

/** What is sent where nothing can be redacted. */
const NOTHING_SHOWN = { key: null, tags: null, output: null, error: null }

/** The body that is sent. */
function shownOf(record: ContextRecord, flux: CompiledFlux) {
  try {
    const redactor = redactorOf(record, flux)
    return {
      key: record.key === null ? null : redactor.text(record.key),
      tags: record.tags.map((tag) => redactor.text(tag)),
      output: outputsOf(flux, redactor.values(flux.output, record.output)),
      error: record.error && { ...redactor.error(record.error) },
    }
  } catch {
    return NOTHING_SHOWN
  }
}

function shownOfHead({ record, flux, texts }: TrackedContext) {
  const mayHaveSecrets = texts['request'] !== undefined || texts['inheritedSecrets'] !== undefined || flux.isSensitive
  return mayHaveSecrets ? NOTHING_SHOWN : { ...shownOf(record, flux), output: null }
}

const UNREAD = { url: null, fault: 'the inputs of the context were not read, since they may have ended servers' }

function urlOf(template: Expression, record: ContextRecord, turn: Turn) {
  try {
    return { url: startTextOf(template, startScopeOf(turn, record)), fault: null }
  } catch (error) {
    return { url: null, fault: messageOf(error) }
  }
}
