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
import type { EventRequest } from '../../api/events.ts'
import type { Catalog } from '../../definitions/catalog.ts'
import type { WebhookSend } from '../../definitions/compile/webhook-send.ts'
import type { Webhook } from '../../definitions/compile/webhooks.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { notFound } from '../../model/failure.ts'
import type { ContextId } from '../../model/context.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { Endpoint, WebhookCall, WebhookReply } from '../../model/webhook.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import { addresseeOf } from '../calls/address.ts'
import { addresseeOfNew } from '../idempotency/kept-answer.ts'
import type { RootRequest } from '../turn/start-request.ts'
import type { RowsOf } from '../turn/message.ts'
import type { Waits } from '../waits/waits.ts'
import type { Deliveries } from '../deliveries/deliveries.ts'
import { startUnder, type Committed, type WebhookKeeping } from './keeping.ts'
import type { Once, Settled } from './once.ts'
import { RequestExpressions, webhookInputOf } from './request-expressions.ts'
import { accessOf, eventOf, sendForWebhook, type SendParts } from './send.ts'
import { acceptedAs, answerOf } from '../turn/answer.ts'
import { mayRepeat, webhookKeysOf, type WebhookKeys } from './webhook-keys.ts'

export interface ReceiveParts extends SendParts {
  readonly catalog: Catalog
  readonly mailboxes: Mailboxes
  readonly store: Store
  readonly clock: Clock
  readonly waits: Waits
  readonly deliveries: Deliveries
  readonly once: Once
  /** Milliseconds for which the key of a header is kept. */
  readonly keptMs: number
}

/** A request, and the endpoint as it is loaded now. */
interface Asked {
  readonly flux: CompiledFlux
  readonly webhook: Webhook
  readonly call: WebhookCall
  readonly expressions: RequestExpressions
  /** The event that is to be sent, as it was computed first. @throws FluxError when the request gives none */
  readonly eventFor: (send: WebhookSend) => EventRequest
}

/** With the key under which it has its effect once; null: there is none. */
interface Judged extends Asked {
  readonly keeping: WebhookKeeping | null
}

/** See `WebhookApi`. Not an async function, which would keep the request in memory while it waits. */
export function receive(parts: ReceiveParts, call: WebhookCall): Promise<WebhookReply> {
  const found = serviceOf(parts, call.endpoint, call.request['method'])
  if (found === null) return Promise.reject(notFound('this webhook is no longer there'))
  const { flux, webhook } = found
  const expressions = new RequestExpressions(call.request, call.time)
  let event: EventRequest | null = null
  const eventFor = (send: WebhookSend) => (event ??= eventOf(flux, send, call, expressions))
  const facts = { flux, webhook, call, expressions, eventFor }
  if (!mayRepeat(facts)) return commit(parts, { ...facts, keeping: null }).then(replyOf)
  if (call.replayOf !== null) return sentAgain(parts, facts).then(replyOf)
  return keysOf(parts, facts)
    .then((keys) => parts.once.run(keys, call.timeout, (keeping) => commit(parts, { ...facts, keeping })))
    .then(replyOf)
}

/**
 * What an operator sends again passes `dedupe`. Where nothing is remembered, since the first was refused, this one is: its
 * sender may still repeat it.
 */
async function sentAgain(parts: ReceiveParts, facts: Asked): Promise<Ending> {
  const keys = await keysOf(parts, facts).catch(() => null)
  if (!keys?.key || (await parts.store.readRow(keys.key.place))) return commit(parts, { ...facts, keeping: null })
  return parts.once.run(keys, facts.call.timeout, (keeping) => commit(parts, { ...facts, keeping }))
}

function keysOf({ keptMs: keepMs, store, envOf }: ReceiveParts, facts: Asked): Promise<WebhookKeys> {
  const { flux, webhook, call, eventFor } = facts
  const addresseeOfCall: Parameters<typeof webhookKeysOf>[0]['addresseeOf'] = (seed) => {
    const env = envOf(accessOf(call.endpoint, call.traceparent))
    if (webhook.send === null) return addresseeOfNew(env, startOf(flux, call), seed)
    const event = eventFor(webhook.send)
    const isForAll = event.contextId === undefined && event.key === undefined
    return { addressee: isForAll ? null : addresseeOf(env, event, 'invoke') }
  }
  return webhookKeysOf({ ...facts, keepMs, partitions: store.partitions, addresseeOf: addresseeOfCall })
}

const replyOf = ({ answer, replayed = false, remark = null }: Ending): Promise<WebhookReply> =>
  Promise.resolve(answer).then((given) => ({ answer: given, replayed, remark }))

type Ending = Pick<Settled, 'answer'> & Partial<Settled>

/** null: a reload has removed it. A request with HEAD is for the webhook that has GET, unless one has HEAD. */
function serviceOf(
  { catalog }: ReceiveParts,
  { package: owner, fluxName, urlPath }: Endpoint,
  method: unknown,
): Pick<Asked, 'flux' | 'webhook'> | null {
  const flux = catalog.find(owner, fluxName)
  const ofMethod = (name: unknown) =>
    flux?.webhooks.find((entry) => entry.urlPath === urlPath && entry.httpMethods.some((own) => own === name))
  const webhook = ofMethod(method) ?? (method === 'HEAD' ? ofMethod('GET') : undefined)
  return flux && webhook ? { flux, webhook } : null
}

/** Starts the service or sends the event, unless `when` says no: then nothing is stored. */
function commit(parts: ReceiveParts, judged: Judged): Promise<Committed> {
  const { webhook, call, expressions, keeping, eventFor } = judged
  const { when, send, answer } = webhook
  try {
    if (when !== null && !expressions.evaluate(when, '/when'))
      return Promise.resolve({ contextId: null, answer: { kind: 'filtered' } })
    if (send !== null) return sendForWebhook(parts, { send, wanted: eventFor(send) }, call, keeping)
  } catch (error) {
    return Promise.reject(error)
  }
  return answer === 'accepted' ? startAlone(parts, judged) : startAndWait(parts, judged)
}

/** The answer is there when the context is stored. */
function startAlone(parts: ReceiveParts, judged: Judged): Promise<Committed> {
  return start(parts, judged).then((record) => ({ contextId: record.id, answer: acceptedAs(record) }))
}

function startAndWait(parts: ReceiveParts, judged: Judged): Promise<Committed> {
  const { clock, waits } = parts
  const { flux, call } = judged
  const expected = waits.expect((record) => answerOf(record, flux))
  // The start counts towards the timeout.
  const until = clock.now() + call.timeout
  return start(parts, judged, expected.of).then(
    ({ id: contextId }) => ({
      contextId,
      answer: expected.within(Math.max(0, until - clock.now())).then((answer) => answer ?? { kind: 'late', contextId }),
    }),
    (error: unknown) => {
      expected.leave()
      throw error
    },
  )
}

const startOf = (flux: CompiledFlux, { request, rawBody, textsOf, traceparent }: WebhookCall): RootRequest => ({
  flux,
  input: webhookInputOf(flux, textsOf),
  untyped: true,
  unknown: 'ignore',
  tags: [],
  trigger: null,
  request: { shown: request, raw: rawBody },
  traceparent,
})

/** Resolves with what is stored of the new context. */
function start(
  { mailboxes, deliveries }: ReceiveParts,
  { flux, webhook, call, keeping }: Judged,
  onTry?: (id: ContextId) => void,
): Promise<Pick<ContextRecord, 'id' | 'status' | 'paused'>> {
  const under = startUnder(keeping, webhook.answer === 'accepted')
  const rows: RowsOf = (...start) => {
    const [, record] = start
    onTry?.(record.id)
    const answer = webhook.answer === 'accepted' ? acceptedAs(record) : answerOf(record, flux)
    return [...(under.options.rows?.(...start) ?? []), ...deliveries.rowsOf(call, record, answer)]
  }
  return mailboxes
    .start({ ...startOf(flux, call), ...under.request }, { ...under.options, rows, isCall: true })
    .then(({ record: { id, status, paused } }) => {
      call.onStarted()
      return { id, status, paused }
    })
}
