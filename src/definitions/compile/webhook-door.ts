// definitions: compiles what an entry of `webhooks` decides before a context exists: who may call, which calls are
// repeats or of no interest, what is sent, and when it is answered.
import { getOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { alternatives } from '../../model/nearest.ts'
import type { WebhookVerify } from '../../model/webhook-schemes/scheme.ts'
import type { Expression } from '../expressions/expression.ts'
import type { Report } from '../report.ts'
import { takeStrictly } from '../source/take.ts'
import { DAY_SECONDS, DedupeSchema, KEEP_DAYS, WEBHOOK_ANSWERS } from '../source/webhook-schema.ts'
import { durationSecondsOf } from '../values/durations.ts'
import { compileRequestExpression } from './request-expression.ts'
import { compileSend, type WebhookSend } from './webhook-send.ts'
import { compileVerify } from './webhook-verify.ts'

export interface WebhookDoor {
  /** null: anyone may call. */
  readonly verify: WebhookVerify | null
  /** `key`: equal for repeats. `keepMs`: milliseconds from the commit of the first on. null: no call is a repeat. */
  readonly dedupe: { readonly key: Expression; readonly keepMs: number } | null
  /** Calls for which it is false are of no interest. */
  readonly when: Expression | null
  /** Sent instead of starting the service. */
  readonly send: WebhookSend | null
  readonly answer: (typeof WEBHOOK_ANSWERS)[number]
}

export const PLAIN_DOOR: WebhookDoor = { verify: null, dedupe: null, when: null, send: null, answer: 'workflow' }

export function compileDoor(source: JsonObject, pointer: string, report: Report): WebhookDoor {
  const below = (key: string) => `${pointer}/${key}`
  // An explicit null is no way to switch the check off: it is a fault, as for anything that is no object.
  const given = getOwn(source, 'verify')
  const verify = given === undefined ? null : compileVerify(given, below('verify'), report)
  const dedupe = compileDedupe(getOwn(source, 'dedupe') ?? null, below('dedupe'), report)
  const when = compileRequestExpression(getOwn(source, 'when'), below('when'), report)
  const sent = getOwn(source, 'send') ?? null
  const send = sent === null ? null : compileSend(sent, below('send'), report)
  const answer = compileAnswer(getOwn(source, 'answer') ?? null, below('answer'), report)
  if (answer !== null && sent !== null)
    report.warn(below('answer'), 'has no effect beside send, which is answered when the event is sent')
  return { verify, dedupe, when, send, answer: answer ?? PLAIN_DOOR.answer }
}

function compileDedupe(source: Json, pointer: string, report: Report): WebhookDoor['dedupe'] {
  if (source === null) return null
  const dedupe = takeStrictly(DedupeSchema, source, pointer, report)
  if (dedupe === null) return null
  if (dedupe.key == null) report.fault(`${pointer}/key`, 'there is no key')
  const key = compileRequestExpression(dedupe.key, `${pointer}/key`, report)
  const seconds = dedupe.keep == null ? KEEP_DAYS.standard * DAY_SECONDS : durationSecondsOf(dedupe.keep)
  if (!(seconds >= 1 && seconds <= KEEP_DAYS.most * DAY_SECONDS))
    report.fault(
      `${pointer}/keep`,
      `must be 1 second to ${KEEP_DAYS.most} days, as a number of seconds or a text like "90s", "15m", "1h" or "7d"`,
    )
  return key && { key, keepMs: Math.round(seconds * 1000) }
}

function compileAnswer(source: Json, pointer: string, report: Report): WebhookDoor['answer'] | null {
  const answer = WEBHOOK_ANSWERS.find((name) => name === source)
  if (source !== null && answer === undefined)
    report.fault(
      pointer,
      typeof source === 'string'
        ? `unknown answer "${source}"${alternatives(source, WEBHOOK_ANSWERS)}`
        : 'must be text',
    )
  return answer ?? null
}
