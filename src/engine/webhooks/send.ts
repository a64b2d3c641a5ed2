// engine/webhooks: `send` of an endpoint: an event is sent to the contexts that wait for it, instead of starting the
// service. It goes the way of every event, on behalf of the endpoint.
import { check } from '../../api/call.ts'
import { CALLS } from '../../api/calls.ts'
import type { EventRequest } from '../../api/events.ts'
import type { WebhookSend } from '../../definitions/compile/webhook-send.ts'
import type { Expression } from '../../definitions/expressions/expression.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { ANONYMOUS, SYSTEM } from '../../model/caller.ts'
import { FluxError, notFound } from '../../model/failure.ts'
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import type { Endpoint, WebhookCall } from '../../model/webhook.ts'
import type { Access, CallEnv } from '../calls/call-env.ts'
import { sendEvent, type SendOptions } from '../calls/send-event.ts'
import type { RowsOf } from '../turn/message.ts'
import { redactedFor } from '../redact/redactor.ts'
import type { Deliveries } from '../deliveries/deliveries.ts'
import { sendUnder, type Committed, type WebhookKeeping } from './keeping.ts'
import { keyTextOf, unfit, webhookInputOf, type RequestExpressions } from './request-expressions.ts'
import { sentTo } from '../turn/answer.ts'

export interface SendParts {
  readonly deliveries: Pick<Deliveries, 'rowsOf' | 'forgetRows'>
  /** The environment of the calls of that caller. */
  readonly envOf: (access: Access) => CallEnv
}

interface Sending {
  readonly send: WebhookSend
  /** What the request says. */
  readonly wanted: EventRequest
}

/** @throws FluxError when the event is refused */
export async function sendForWebhook(
  { envOf, deliveries }: SendParts,
  { send, wanted }: Sending,
  call: WebhookCall,
  keeping: WebhookKeeping | null,
): Promise<Committed> {
  const { endpoint, request, rawBody } = call
  const under = sendUnder(keeping)
  const options = send.orStart === null ? under : withDelivery(under, deliveries, call)
  const webhook = send.orStart === 'self' ? { shown: request, raw: rawBody } : undefined
  try {
    const env = envOf(accessOf(endpoint, call.traceparent))
    const redact = (text: string) => redactedFor(request, text)
    const checked = check(CALLS.sendEvent, wanted)
    const { answer, replayed = false } = await sendEvent(env, checked, {
      ...options,
      ...(webhook && { webhook }),
      redact,
    })
    return { contextId: null, answer: sentTo(answer), replayed }
  } catch (error) {
    throw withoutDenial(error)
  }
}

/** Adds the row of the delivery to the commit of the context that the event starts. */
function withDelivery(
  { toOne, toAll }: Pick<SendOptions, 'toOne' | 'toAll'>,
  deliveries: SendParts['deliveries'],
  call: WebhookCall,
): Pick<SendOptions, 'toOne' | 'toAll'> {
  return {
    ...(toAll && { toAll }),
    toOne(eventId) {
      const kept = toOne?.(eventId)
      const rows: RowsOf = (...start) => {
        const [applied, record] = start
        const others = kept?.rows?.(...start) ?? []
        if (applied.kind === 'next' && applied.started !== undefined)
          return [...others, ...deliveries.rowsOf(call, record, { kind: 'sent', eventId, contextIds: [record.id] })]
        deliveries.forgetRows(call.deliveryId)
        return others
      }
      return { ...kept, rows }
    },
  }
}

/** The endpoint's scope of keys. */
export const scopeOfEndpoint = ({ package: owner, fluxName, urlPath }: Endpoint): string =>
  `webhook ${owner}/${fluxName} ${urlPath}`

/**
 * Whoever passed `verify` acts for the service, as its functions do. Where anybody may call, secured services stay out of
 * reach.
 */
export const accessOf = (endpoint: Endpoint, traceparent: string | undefined): Access => ({
  caller: endpoint.verify === null ? ANONYMOUS : SYSTEM,
  scope: scopeOfEndpoint(endpoint),
  home: endpoint.package,
  // The HTTP server charges the request.
  admission: null,
  isStep: false,
  accepts: false,
  traceparent,
})

/** A sender has no token of this server, so none is asked for. */
function withoutDenial(error: unknown): unknown {
  const kind = error instanceof FluxError ? error.failure.kind : null
  return kind === 'unauthorized' || kind === 'forbidden'
    ? notFound('a webhook without verify reaches no secured service')
    : error
}

/** @throws FluxError when the request gives no event that can be sent */
export function eventOf(
  flux: CompiledFlux,
  send: WebhookSend,
  { textsOf }: WebhookCall,
  expressions: RequestExpressions,
): EventRequest {
  const valueOf = (expression: Expression | null, key: string): Json | undefined =>
    expression === null ? undefined : expressions.evaluate(expression, pointerOf(key))
  return {
    event: textOf(valueOf(send.event, 'event'), 'event'),
    input: inputOf(valueOf(send.input, 'input'), 'input'),
    // A request says most of what it says as text.
    untyped: true,
    ...receiverOf(flux, send, valueOf),
    ...(send.orStart === 'self' && {
      orStart: { package: flux.package, fluxName: flux.fluxName, input: webhookInputOf(flux, textsOf) },
    }),
    ...(send.orStart !== null && send.orStart !== 'self' && { orStart: startOf(send.orStart, valueOf) }),
  }
}

type ValueOf = (expression: Expression | null, key: string) => Json | undefined

const pointerOf = (key: string): string => `/send/${key}`

function receiverOf(
  { package: ownPackage, fluxName: ownName }: CompiledFlux,
  { contextId, key, tags, package: owner, fluxName, orStart }: WebhookSend,
  valueOf: ValueOf,
): Pick<EventRequest, 'contextId' | 'key' | 'tags' | 'package' | 'fluxName'> {
  if (contextId !== null) return { contextId: idOf(valueOf(contextId, 'contextId')) }
  if (tags !== null) return { tags: tagsOf(valueOf(tags, 'tags'), 'tags') }
  if (key === null) return {}
  const started = orStart === 'self' ? null : orStart
  const service = fluxName ?? started?.fluxName ?? ownName
  const place = owner ?? started?.package ?? (service === ownName ? ownPackage : null)
  return { key: keyOf(valueOf(key, 'key')), fluxName: service, ...(place !== null && { package: place }) }
}

function startOf(
  { package: owner, fluxName, input, tags }: Exclude<WebhookSend['orStart'], 'self' | null>,
  valueOf: ValueOf,
): NonNullable<EventRequest['orStart']> {
  const given = valueOf(tags, 'orStart/tags') ?? null
  return {
    package: owner,
    fluxName,
    input: inputOf(valueOf(input, 'orStart/input'), 'orStart/input'),
    ...(given !== null && { tags: tagsOf(given, 'orStart/tags', { mayBeEmpty: true }) }),
  }
}

const textOf = (value: Json | undefined, key: string): string =>
  typeof value === 'string' ? value : unfit(pointerOf(key), `must be text, and is ${nameOf(value)}`)

/** Digits are taken, too: a path and a form have no numbers. */
function idOf(value: Json | undefined): number {
  const id = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  if (typeof id === 'number' && Number.isSafeInteger(id) && id > 0) return id
  return unfit(pointerOf('contextId'), `must be the id of a context, and is ${nameOf(value)}`)
}

function keyOf(value: Json | undefined): string {
  if (value !== '' && (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'))
    return keyTextOf(value, pointerOf('key'))
  return unfit(pointerOf('key'), `must be text that is not empty, and is ${nameOf(value)}`)
}

/** Without any tag, the event would be for all contexts. */
function tagsOf(value: Json | undefined, key: string, { mayBeEmpty = false } = {}): string[] {
  const tags = typeof value === 'string' ? [value] : value
  if (!Array.isArray(tags)) return unfit(pointerOf(key), `must be a list of texts, and is ${nameOf(value)}`)
  if (tags.length === 0 && !mayBeEmpty) return unfit(pointerOf(key), 'must not be empty: the event would be for all')
  return tags.map((tag: Json, index) => textOf(tag, `${key}/${index}`))
}

function inputOf(value: Json | undefined, key: string): JsonObject | null {
  if (value === undefined || value === null) return null
  return isObject(value) ? value : unfit(pointerOf(key), `must be an object, and is ${nameOf(value)}`)
}

const nameOf = (value: Json | undefined): string => {
  if (value === '') return 'empty'
  if (value === null || value === undefined) return 'null'
  return Array.isArray(value) ? 'a list' : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`
}
