// engine/webhooks: the keys by which a request is known as a repeat: that which `dedupe` computes of it, and that of its
// header `Idempotency-Key`.
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Webhook } from '../../definitions/compile/webhooks.ts'
import type { Expression } from '../../definitions/expressions/expression.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { AnswerRow } from '../../model/record.ts'
import type { WebhookCall } from '../../model/webhook.ts'
import { rowKeyOf } from '../idempotency/kept-answer.ts'
import { keyTextOf, unfit, type RequestExpressions } from './request-expressions.ts'

export interface WebhookKeys {
  /** null: repeats are not looked for. Their content plays no part. */
  readonly dedupe: AnswerRow | null
  readonly idempotency: AnswerRow | null
  /** Why repeats are not looked for, although the endpoint says how. */
  readonly remark: string | null
}

/** Nobody has to say who he is. */
const SCOPE = 'nobody'
const KEY_POINTER = '/dedupe/key'
/** Bytes of a body that are hashed before other requests are served. */
const BYTES_AT_ONCE = 1024 * 1024
/** Of all contents: who repeats a delivery may have changed it. */
const ANY_CONTENT = ''

interface KeyFacts {
  readonly flux: Pick<CompiledFlux, 'package' | 'fluxName'>
  readonly webhook: Pick<Webhook, 'urlPath' | 'dedupe'>
  readonly call: Pick<WebhookCall, 'request' | 'rawBody' | 'idempotencyKey' | 'replayOf'>
  readonly expressions: RequestExpressions
  /** Milliseconds for which the key of a header is kept. */
  readonly keepMs: number
}

/** Whether the request may have a key, under which it is a repeat or may be repeated. */
export const mayRepeat = ({ webhook, call }: Pick<KeyFacts, 'webhook' | 'call'>): boolean =>
  webhook.dedupe !== null || (call.idempotencyKey !== null && call.replayOf === null)

/** @throws FluxError `malformed` when the key of `dedupe` can't be computed */
export async function webhookKeysOf({ flux, webhook, call, expressions, keepMs }: KeyFacts): Promise<WebhookKeys> {
  const { urlPath, dedupe: wanted } = webhook
  const text = wanted === null ? null : dedupeTextOf(wanted.key, expressions)
  const dedupe: AnswerRow | null =
    wanted === null || text === null || text === ''
      ? null
      : { key: dedupeRowKey([flux.package, flux.fluxName, urlPath, text]), hash: ANY_CONTENT, keepMs: wanted.keepMs }
  const remark =
    wanted !== null && dedupe === null ? 'the key of dedupe came out empty: no repeat was looked for' : null
  if (call.idempotencyKey === null) return { dedupe, idempotency: null, remark }
  const of = { method: methodOf(call.request['method']), route: `/api${urlPath}` }
  const key = rowKeyOf({ scope: SCOPE, of, key: call.idempotencyKey })
  return { dedupe, remark, idempotency: { key, hash: await requestHashOf(call), keepMs } }
}

/** null: it came out as nothing. */
function dedupeTextOf(key: Expression, expressions: RequestExpressions): string | null {
  const value = expressions.evaluate(key, KEY_POINTER)
  if (value === null) return null
  return typeof value === 'object'
    ? unfit(KEY_POINTER, 'must be text, a number or a boolean')
    : keyTextOf(value, KEY_POINTER)
}

/** Keys of any length take as much space. */
const dedupeRowKey = (parts: readonly string[]): string =>
  createHash('sha256')
    .update(JSON.stringify(['dedupe', ...parts]))
    .digest('hex')

const methodOf = (method: unknown): string => (typeof method === 'string' ? method : '')

/** Of method, path, query and body, as they were sent. */
async function requestHashOf({ request, rawBody }: KeyFacts['call']): Promise<string> {
  const hash = createHash('sha256').update(`${JSON.stringify([request['method'], request['uri']])}\n`)
  for (let at = 0; at < rawBody.length; at += BYTES_AT_ONCE) {
    if (at > 0) await nextTurn()
    hash.update(rawBody.subarray(at, at + BYTES_AT_ONCE))
  }
  return hash.digest('hex')
}
