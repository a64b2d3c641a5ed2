// engine/webhooks: a verified request starts a context, and the answer is taken from the commits of that context, on any
// server. What says no comes before, and leaves no context.
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
import type { Webhook } from '../../definitions/compile/webhooks.ts'
import { webhookOf } from '../../definitions/endpoints.ts'
import type { EventRequest } from '../../api/events.ts'
import { notFound } from '../../model/failure.ts'
import type { ContextId } from '../../model/context.ts'
import type { WebhookCall, WebhookReply } from '../../model/webhook.ts'
import { addresseeOf } from '../calls/address.ts'
import type { CallParts } from '../calls/call-env.ts'
import { addresseeOfNew } from '../idempotency/kept-answer.ts'
import type { RootRequest } from '../turn/start-request.ts'
import type { RowsOf } from '../turn/message.ts'
import { acceptedAs, answerOf } from '../turn/answer.ts'
import { Filtered, once, type Committed, type Settled } from './once.ts'
import { RequestExpressions, webhookInputOf } from './request-expressions.ts'
import { accessOf, eventOf, sendForWebhook } from './send.ts'
import { NO_KEY, webhookKeysOf, type Asked, type WebhookKeeping } from './webhook-keys.ts'

/** See `WebhookApi`. Not an async function, which would keep the request in memory while it waits. */
export const receive = (parts: CallParts, call: WebhookCall): Promise<WebhookReply> =>
  settle(parts, call).then(({ answer, replayed, remark }) =>
    Promise.resolve(answer).then((given) => ({ answer: given, replayed, remark })),
  )

/** Resolves when the effect of the request is committed. */
async function settle(parts: CallParts, call: WebhookCall): Promise<Settled> {
  const { store, given, catalog } = parts
  const { endpoint, request, traceparent, replayOf, timeout } = call
  const flux = catalog.find(endpoint.package, endpoint.fluxName)
  const webhook = flux && webhookOf(flux, endpoint.urlPath, request['method'])
  // A reload has removed it.
  if (!flux || !webhook) throw notFound('this webhook is no longer there')
  const expressions = new RequestExpressions(request, call.time)
  const asked = { flux, webhook, call, expressions }
  let event: EventRequest | null = null
  /** As it was computed first. @throws FluxError when the request gives none */
  const eventFor = (send: NonNullable<Webhook['send']>) => (event ??= eventOf(flux, send, call, expressions))
  const keysOf = () =>
    webhookKeysOf(asked, {
      keptMs: given.idempotency.keptOfWebhooks,
      partitions: store.partitions,
      addresseeOf(seed) {
        if (webhook.send === null) return addresseeOfNew(parts, startOf(asked), seed)
        const sent = eventFor(webhook.send)
        const env = { ...parts, ...accessOf(endpoint, traceparent) }
        const isForAll = sent.contextId === undefined && sent.key === undefined
        return { addressee: isForAll ? null : addresseeOf(env, sent, 'invoke') }
      },
    })
  const keys = replayOf === null ? keysOf() : await keysOfReplay(parts, keysOf)
  return once(parts, keys, timeout, async (keeping) => {
    if (webhook.when !== null && !expressions.evaluate(webhook.when, '/when')) throw new Filtered()
    if (webhook.send === null) return start(parts, asked, keeping)
    return sendForWebhook(parts, { send: webhook.send, wanted: eventFor(webhook.send) }, call, keeping)
  })
}

/**
 * What an operator sends again passes `dedupe`. Where nothing is remembered, since the first was refused, this one is: its
 * sender may still repeat it.
 */
async function keysOfReplay({ store }: CallParts, keysOf: () => ReturnType<typeof webhookKeysOf>) {
  const keys = await Promise.resolve()
    .then(keysOf)
    .catch(() => NO_KEY)
  return keys.key && !(await store.readRow(keys.key.place)) ? keys : NO_KEY
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

const startOf = ({ flux, call: { request, rawBody, textsOf, traceparent } }: Asked): RootRequest => ({
  flux,
  input: webhookInputOf(flux, textsOf),
  untyped: true,
  unknown: 'ignore',
  tags: [],
  trigger: null,
  request: { shown: request, raw: rawBody },
  traceparent,
})

/** The row of the key, if there is one, has the answer; else the commit in which the context first pauses or ends adds it. */
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
    const ofKey = keeping ? [keeping.tried.rowOf(answer ?? { kind: 'running', contextId })] : []
    return [...ofKey, ...deliveries.rowsOf(call, record, answer)]
  }
  const { key } = keeping ?? NO_KEY
  const answerRows = isAccepted || !key ? undefined : [{ key: key.place.key, hash: key.hash, keepMs: key.keepMs }]
  const request = { ...startOf(asked), answerRows, drawn: key?.drawn }
  const { record } = await mailboxes.start(request, { partition: keeping?.tried.partition, rows, isCall: true })
  call.onStarted()
  return record
}
