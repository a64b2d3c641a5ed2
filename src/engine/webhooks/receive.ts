// engine/webhooks: a verified request starts a context, and the answer is taken from the commits of that context, on
// any server. Checks that refuse a request come before that, and leave no context.
//
// - The answer is taken from the commits of the context: `Waits.expect` looks at each, including the first. A server
//   that continues a context for which a caller waits at another server notifies that one (`ports/feeds.ts`; on
//   Redis it publishes). The waiting server then reads the record, and also checks it once a second in case the
//   message was lost. The record has the status in which the context first paused (`paused`).
// - The compiler marks lines that carry `$response` as a whole (`answers`). When such a line fills an output of the
//   service, the turn records that (`answer`), so the origin of an output makes it the answer, not its shape. A failed
//   action undoes it together with its other changes.
// - `$request` and the raw bytes are parts of the record that are written once. A child gets the part of it that must
//   be hidden, a list of texts (`inheritedSecrets`).
import { createHash } from 'node:crypto'
import type { WebhookSend } from '../../definitions/compile/webhooks.ts'
import type { Webhook } from '../../definitions/compile/webhooks.ts'
import { webhookOf } from '../../definitions/endpoints.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { EventRequest } from '../../api/events.ts'
import { FluxError, notFound } from '../../model/failure.ts'
import type { ContextId } from '../../model/context.ts'
import type { WebhookCall, WebhookReply } from '../../model/webhook.ts'
import { addresseeOf } from '../calls/address.ts'
import type { CallParts } from '../calls/call-env.ts'
import { addresseeOfNew, placeOf, rowKeyOf } from '../idempotency/kept-answer.ts'
import type { RootRequest } from '../turn/start-request.ts'
import type { RowsOf } from '../turn/message.ts'
import { acceptedAs, answerOf } from '../turn/answer.ts'
import {
  Filtered,
  once,
  type Committed,
  type Settled,
  type WebhookKeeping,
  type WebhookKey,
  type WebhookKeys,
} from './once.ts'
import { accessOf, eventOf, keyTextOf, RequestExpressions, sendForWebhook, unfit, webhookInputOf } from './send.ts'

const NO_KEY: WebhookKeys = { key: null, remark: null }

/** The scope of senders that need no token. */
const SCOPE = 'nobody'
const KEY_POINTER = '/dedupe/key'
/** Stands for any content: a repeat of a delivery may have other content. */
const ANY_CONTENT = ''

/** A request, and the endpoint as it is loaded now. */
interface Asked {
  readonly flux: CompiledFlux
  readonly webhook: Webhook
  readonly call: WebhookCall
  readonly expressions: RequestExpressions
  /** The event that it sends, as it was computed first. @throws FluxError when the request gives none */
  readonly eventFor: (send: WebhookSend) => EventRequest
}

/** See `WebhookApi`. Not an async function, which would keep the request in memory while it waits. */
export const receive = (parts: CallParts, call: WebhookCall): Promise<WebhookReply> =>
  settle(parts, call).then(({ answer, replayed, remark }) =>
    Promise.resolve(answer).then((given) => ({ answer: given, replayed, remark })),
  )

/** Resolves when the effect of the request is committed. */
async function settle(parts: CallParts, call: WebhookCall): Promise<Settled> {
  const { endpoint, request, replayOf, timeout } = call
  const flux = parts.catalog.find(endpoint.package, endpoint.fluxName)
  const webhook = flux && webhookOf(flux, endpoint.urlPath, request['method'])
  // A reload has removed it.
  if (!flux || !webhook) throw notFound('this webhook is no longer there')
  const expressions = new RequestExpressions(request, { ...parts.env(), now: call.time })
  let event: EventRequest | null = null
  const eventFor = (send: WebhookSend) => (event ??= eventOf(flux, send, call, expressions))
  const asked = { flux, webhook, call, expressions, eventFor }
  const keys = replayOf === null ? keysOf(parts, asked) : await keysOfReplay(parts, asked)
  return once(parts, keys, timeout, async (keeping) => {
    if (webhook.when !== null && !expressions.evaluate(webhook.when, '/when')) throw new Filtered()
    if (webhook.send === null) return start(parts, asked, keeping)
    return sendForWebhook(parts, { send: webhook.send, wanted: eventFor(webhook.send) }, call, keeping)
  })
}

/**
 * What an operator sends again passes `dedupe`. Where nothing is remembered, since the first was refused, this one is:
 * its sender may still repeat it.
 */
async function keysOfReplay(parts: CallParts, asked: Asked) {
  try {
    const keys = keysOf(parts, asked)
    return keys.key && !(await parts.store.readRow(keys.key.place)) ? keys : NO_KEY
  } catch {
    return NO_KEY
  }
}

/** Starts the service. The answer is there when the context is stored, or comes later. */
async function start(parts: CallParts, asked: Asked, keeping: WebhookKeeping | null): Promise<Committed> {
  const { clock, waits } = parts
  const { flux } = asked
  if (asked.webhook.answer === 'accepted') return { answer: acceptedAs(await commit(parts, asked, keeping)) }
  const expected = waits.expect((record) => answerOf(record, flux))
  // The start counts towards the timeout.
  const until = clock.now() + asked.call.timeout
  try {
    const { id: contextId } = await commit(parts, asked, keeping, expected.of)
    const answer = expected.within(Math.max(0, until - clock.now()))
    return { answer: answer.then((given) => given ?? { kind: 'late', contextId }) }
  } catch (error) {
    expected.leave()
    throw error
  }
}

const startOf = ({ flux, call: { request, rawBody, traceparent } }: Asked): RootRequest => ({
  flux,
  input: webhookInputOf(flux, request),
  untyped: true,
  unknown: 'ignore',
  tags: [],
  trigger: null,
  request: { shown: request, raw: rawBody },
  traceparent,
})

/**
 * The row of the key, if there is one, has the answer; else the commit in which the context first pauses or ends adds
 * it.
 */
async function commit(
  { mailboxes, deliveries }: CallParts,
  asked: Asked,
  keeping: WebhookKeeping | null,
  onTry?: (id: ContextId) => void,
) {
  const { call, webhook } = asked
  const isAccepted = webhook.answer === 'accepted'
  const rows: RowsOf = (_, record, flux) => {
    const { id: contextId } = record
    onTry?.(contextId)
    const answer = isAccepted ? acceptedAs(record) : answerOf(record, flux)
    const ofKey = keeping ? [keeping.rowOf(answer ?? { kind: 'running', contextId })] : []
    return [...ofKey, ...deliveries.rowsOf(call, record, answer)]
  }
  const { key } = keeping ?? NO_KEY
  const answerRows = isAccepted || !key ? undefined : [{ key: key.place.key, hash: key.hash, keepMs: key.keepMs }]
  const request = { ...startOf(asked), answerRows, drawn: key?.drawn }
  const { record } = await mailboxes.start(request, { partition: keeping?.partition, rows, isCall: true })
  call.onStarted()
  return record
}

/**
 * The key by which a request is known as a repeat: that which `dedupe` computes of it; of an endpoint without `dedupe`,
 * that of its header `Idempotency-Key`. @throws FluxError `malformed` when the key of `dedupe` can't be computed
 */
function keysOf(parts: CallParts, asked: Asked) {
  const { flux, webhook, call, expressions } = asked
  const { urlPath, dedupe } = webhook
  const { request, rawBody, idempotencyKey } = call
  if (dedupe !== null) {
    const value = expressions.evaluate(dedupe.key, KEY_POINTER) ?? ''
    if (typeof value === 'object') return unfit(KEY_POINTER, 'must be text, a number or a boolean')
    const text = keyTextOf(value, KEY_POINTER)
    if (text === '') return { key: null, remark: 'the key of dedupe came out empty: no repeat was looked for' }
    // Keys of any length take as much space.
    const rowKey = sha256(JSON.stringify(['dedupe', flux.package, flux.fluxName, urlPath, text]))
    return placed(parts, asked, rowKey, { isDedupe: true, hash: ANY_CONTENT, keepMs: dedupe.keepMs })
  }
  if (idempotencyKey === null) return NO_KEY
  const { method, uri } = request
  const of = { method: String(method), route: `/api${urlPath}` }
  // The hash of method, path, query and body, as they were sent.
  const hash = sha256(`${JSON.stringify([method, uri])}\n`, rawBody)
  const rowKey = rowKeyOf({ scope: SCOPE, of, key: idempotencyKey })
  return placed(parts, asked, rowKey, { isDedupe: false, hash, keepMs: parts.given.idempotency.keptOfWebhooks })
}

/** The key, with the place of its row: there where its effect is. */
function placed(
  parts: CallParts,
  asked: Asked,
  rowKey: string,
  more: Pick<WebhookKey, 'isDedupe' | 'hash' | 'keepMs'>,
) {
  try {
    const { addressee, drawn } = addresseeFor(parts, asked, rowKey)
    return { key: { ...more, drawn, place: placeOf(rowKey, addressee, parts.store.partitions) }, remark: null }
  } catch (error) {
    // It may still be of no interest; else it is refused for the same reason.
    if (error instanceof FluxError) return NO_KEY
    throw error
  }
}

/** What the request is for. @throws FluxError as the request itself, which is refused then */
function addresseeFor(parts: CallParts, asked: Asked, rowKey: string) {
  const { webhook, call, eventFor } = asked
  if (webhook.send === null) return addresseeOfNew(parts, startOf(asked), rowKey)
  const sent = eventFor(webhook.send)
  if (sent.contextId === undefined && sent.key === undefined) return { addressee: null }
  return { addressee: addresseeOf({ ...parts, ...accessOf(call) }, sent, 'invoke') }
}

const sha256 = (text: string, bytes: Uint8Array = new Uint8Array()) =>
  createHash('sha256').update(text).update(bytes).digest('hex')
