// engine/webhooks: the key by which a request is known as a repeat: that which `dedupe` computes of it, or that of its
// header `Idempotency-Key`.
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Webhook } from '../../definitions/compile/webhooks.ts'
import type { Expression } from '../../definitions/expressions/expression.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { AnswerRow } from '../../model/record.ts'
import type { WebhookCall } from '../../model/webhook.ts'
import { FluxError } from '../../model/failure.ts'
import { placeOf, rowKeyOf, type Addressee, type KeptPlace } from '../idempotency/kept-answer.ts'
import type { RootRequest } from '../turn/start-request.ts'
import { keyTextOf, unfit, type RequestExpressions } from './request-expressions.ts'

/** The key of a request, with which it has its effect once. */
export interface WebhookKey extends Pick<AnswerRow, 'hash' | 'keepMs'> {
  readonly place: KeptPlace
  /** `dedupe` has computed it. */
  readonly isDedupe: boolean
  /** Of the context that it starts. */
  readonly drawn?: RootRequest['drawn']
}

export interface WebhookKeys {
  /** null: repeats are not looked for. */
  readonly key: WebhookKey | null
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
  readonly partitions: number
  /**
   * What the request is for. `seed`: tells the key from others. @throws FluxError as the request itself, which is refused
   * then
   */
  readonly addresseeOf: (seed: string) => { readonly addressee: Addressee } & Pick<RootRequest, 'drawn'>
}

/** Whether the request may have a key, under which it is a repeat or may be repeated. */
export const mayRepeat = ({ webhook, call }: Pick<KeyFacts, 'webhook' | 'call'>): boolean =>
  webhook.dedupe !== null || (call.idempotencyKey !== null && call.replayOf === null)

/**
 * That of `dedupe`; the header is for endpoints that have none. @throws FluxError `malformed` when the key of `dedupe`
 * can't be computed
 */
export async function webhookKeysOf(facts: KeyFacts): Promise<WebhookKeys> {
  const { flux, webhook, call, expressions, keepMs } = facts
  const { urlPath, dedupe } = webhook
  if (dedupe !== null) {
    const text = dedupeTextOf(dedupe.key, expressions)
    if (text === null || text === '')
      return { key: null, remark: 'the key of dedupe came out empty: no repeat was looked for' }
    const rowKey = dedupeRowKey([flux.package, flux.fluxName, urlPath, text])
    return keyOf(facts, rowKey, { isDedupe: true, hash: ANY_CONTENT, keepMs: dedupe.keepMs })
  }
  if (call.idempotencyKey === null) return NO_KEY
  const of = { method: methodOf(call.request['method']), route: `/api${urlPath}` }
  const rowKey = rowKeyOf({ scope: SCOPE, of, key: call.idempotencyKey })
  return keyOf(facts, rowKey, { isDedupe: false, hash: await requestHashOf(call), keepMs })
}

const NO_KEY: WebhookKeys = { key: null, remark: null }

function keyOf(
  { addresseeOf, partitions }: KeyFacts,
  rowKey: string,
  more: Pick<WebhookKey, 'isDedupe' | 'hash' | 'keepMs'>,
): WebhookKeys {
  try {
    const { addressee, drawn } = addresseeOf(rowKey)
    return { key: { ...more, drawn, place: placeOf(rowKey, addressee, partitions) }, remark: null }
  } catch (error) {
    // It may still be of no interest; else it is refused for the same reason.
    if (error instanceof FluxError) return NO_KEY
    throw error
  }
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
