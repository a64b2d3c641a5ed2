// engine/webhooks: the key by which a request is known as a repeat: that which `dedupe` computes of it, or that of its
// header `Idempotency-Key`.
import { createHash } from 'node:crypto'
import type { Webhook } from '../../definitions/compile/webhooks.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { AnswerRow } from '../../model/context.ts'
import type { WebhookCall } from '../../model/webhook.ts'
import { FluxError } from '../../model/failure.ts'
import type { KeyTry } from '../idempotency/idempotency.ts'
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

/** A request that may be repeated: its key, and the try to be the first under it. */
export interface WebhookKeeping {
  readonly key: WebhookKey
  readonly tried: KeyTry
}

export interface WebhookKeys {
  /** null: repeats are not looked for. */
  readonly key: WebhookKey | null
  /** Why repeats are not looked for, although the endpoint says how. */
  readonly remark: string | null
}

export const NO_KEY: WebhookKeys = { key: null, remark: null }

/** Nobody has to say who he is. */
const SCOPE = 'nobody'
const KEY_POINTER = '/dedupe/key'
/** Of all contents: who repeats a delivery may have changed it. */
const ANY_CONTENT = ''

/** A request, and the endpoint as it is loaded now. */
export interface Asked {
  readonly flux: CompiledFlux
  readonly webhook: Webhook
  readonly call: WebhookCall
  readonly expressions: RequestExpressions
}

interface KeyEnv {
  /** Milliseconds for which the key of a header is kept. */
  readonly keptMs: number
  readonly partitions: number
  /**
   * What the request is for. `seed`: tells the key from others. @throws FluxError as the request itself, which is refused
   * then
   */
  readonly addresseeOf: (seed: string) => { readonly addressee: Addressee } & Pick<RootRequest, 'drawn'>
}

/**
 * That of `dedupe`; the header is for endpoints that have none, and for requests that no operator sends again.
 * @throws FluxError `malformed` when the key of `dedupe` can't be computed
 */
export function webhookKeysOf(
  { flux, webhook: { urlPath, dedupe }, call, expressions }: Asked,
  { keptMs, partitions, addresseeOf }: KeyEnv,
): WebhookKeys {
  const { request, rawBody, idempotencyKey, replayOf } = call
  const keyOf = (rowKey: string, more: Pick<WebhookKey, 'isDedupe' | 'hash' | 'keepMs'>): WebhookKeys => {
    try {
      const { addressee, drawn } = addresseeOf(rowKey)
      return { key: { ...more, drawn, place: placeOf(rowKey, addressee, partitions) }, remark: null }
    } catch (error) {
      // It may still be of no interest; else it is refused for the same reason.
      if (error instanceof FluxError) return NO_KEY
      throw error
    }
  }
  if (dedupe !== null) {
    const value = expressions.evaluate(dedupe.key, KEY_POINTER) ?? ''
    if (typeof value === 'object') return unfit(KEY_POINTER, 'must be text, a number or a boolean')
    const text = keyTextOf(value, KEY_POINTER)
    if (text === '') return { key: null, remark: 'the key of dedupe came out empty: no repeat was looked for' }
    // Keys of any length take as much space.
    const rowKey = sha256(JSON.stringify(['dedupe', flux.package, flux.fluxName, urlPath, text]))
    return keyOf(rowKey, { isDedupe: true, hash: ANY_CONTENT, keepMs: dedupe.keepMs })
  }
  if (idempotencyKey === null || replayOf !== null) return NO_KEY
  const { method, uri } = request
  const of = { method: String(method), route: `/api${urlPath}` }
  // Of method, path, query and body, as they were sent.
  const hash = sha256(`${JSON.stringify([method, uri])}\n`, rawBody)
  return keyOf(rowKeyOf({ scope: SCOPE, of, key: idempotencyKey }), { isDedupe: false, hash, keepMs: keptMs })
}

const sha256 = (text: string, bytes: Uint8Array = new Uint8Array()): string =>
  createHash('sha256').update(text).update(bytes).digest('hex')
