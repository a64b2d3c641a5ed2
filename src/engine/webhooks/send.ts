// engine/webhooks: `send` of an endpoint: an event is sent to the contexts that wait for it, instead of starting the
// service. It goes the way of every event, on behalf of the endpoint. Also what a request gives: values of the
// endpoint's expressions over `$request`, and inputs of its service. No context exists yet.
import { check } from '../../api/call.ts'
import { CALLS } from '../../api/calls.ts'
import type { EventRequest } from '../../api/events.ts'
import type { WebhookSend } from '../../definitions/compile/webhooks.ts'
import type { Expression, Scope } from '../../definitions/expressions/expression.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { WorkBudget } from '../../definitions/work-budget.ts'
import { ANONYMOUS, SYSTEM } from '../../model/caller.ts'
import { messageOf } from '../../model/error-message.ts'
import { conflict, FluxError, malformed, notFound } from '../../model/failure.ts'
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import type { WebhookCall } from '../../model/webhook.ts'
import type { Access, CallParts } from '../calls/call-env.ts'
import { sendEvent, type SendOptions } from '../calls/send-event.ts'
import { redactedFor } from '../redact/redactor.ts'
import { sentTo } from '../turn/answer.ts'
import type { Committed, WebhookKeeping } from './once.ts'

/** `wanted`: what the request says. @throws FluxError when the event is refused */
export async function sendForWebhook(
  parts: CallParts,
  { send, wanted }: { readonly send: WebhookSend; readonly wanted: EventRequest },
  call: WebhookCall,
  keeping: WebhookKeeping | null,
): Promise<Committed> {
  const { request, rawBody } = call
  const redact = (text: string) => redactedFor(request, text)
  try {
    const env = { ...parts, ...accessOf(call) }
    const { answer, replayed = false } = await sendEvent(env, check(CALLS.sendEvent, wanted), {
      ...sendUnder(parts, keeping, call),
      ...(send.orStart === 'self' && { webhook: { shown: request, raw: rawBody } }),
      redact,
    })
    return { answer: sentTo(answer), replayed }
  } catch (error) {
    // A sender has no token of this server, so none is asked for.
    const kind = error instanceof FluxError ? error.failure.kind : null
    if (kind === 'unauthorized' || kind === 'forbidden')
      throw notFound('a webhook without verify reaches no secured service')
    throw error
  }
}

/**
 * What is written with the effect of the event: the row of its key, if it has one, and that of its delivery, if a
 * context is started.
 */
export function sendUnder(
  { deliveries, keptBroadcasts }: Pick<CallParts, 'deliveries' | 'keptBroadcasts'>,
  keeping: WebhookKeeping | null,
  call: WebhookCall | null,
): Pick<SendOptions, 'toOne' | 'toAll'> {
  return {
    toOne: (eventId) => ({
      rows(applied, record) {
        const answer = { kind: 'sent' as const, eventId, contextIds: [record.id] }
        const ofKey = keeping ? [keeping.rowOf(answer)] : []
        if (call === null) return ofKey
        const isStarted = applied.kind === 'next' && applied.started !== undefined
        if (isStarted) return [...ofKey, ...deliveries.rowsOf(call, record, answer)]
        deliveries.forgetRows(call.deliveryId)
        return ofKey
      },
    }),
    ...(keeping && {
      toAll(event, manner) {
        const { place, hash, keepMs: kept } = keeping.key
        return keptBroadcasts.onceUnder({ key: place.key, hash, kept, of: SENT_TO_ALL }, event, manner)
      },
    }),
  }
}

const SENT_TO_ALL = {
  answer: {
    /** @throws FluxError for the answer of a webhook that was no broadcast, which is then looked up as such */
    parse(data: unknown) {
      const sent = CALLS.sendEvent.answer.safeParse(data)
      if (!sent.success) throw conflict('the request was answered before')
      return sent.data
    },
  },
}

/**
 * A request that passed `verify` acts for the service, as its functions do. Without `verify`, secured services can't be
 * reached.
 */
export const accessOf = ({ endpoint, traceparent }: WebhookCall): Access => ({
  caller: endpoint.verify === null ? ANONYMOUS : SYSTEM,
  scope: `webhook ${endpoint.package}/${endpoint.fluxName} ${endpoint.urlPath}`,
  home: endpoint.package,
  traceparent,
})

/** All expressions of one request share a budget, so that each request costs a bounded amount of work. */
export class RequestExpressions {
  readonly #scope: Scope

  constructor(request: JsonObject, turn: Scope['turn']) {
    this.#scope = {
      turn,
      budget: new WorkBudget(),
      get: (name) => (name === '$request' ? request : undefined),
    }
  }

  /**
   * The value of the expression.
   * @param pointer where the expression stands in the webhook's entry
   * @throws FluxError `malformed` if it can't be worked out for this request
   */
  evaluate(expression: Expression, pointer: string): Json {
    try {
      return expression.evaluate(this.#scope)
    } catch (error) {
      return unfit(pointer, `can't be worked out: ${messageOf(error)}`)
    }
  }
}

/** @throws FluxError `malformed`: the request gives an expression a value that it must not have */
export function unfit(pointer: string, detail: string): never {
  const errors = [{ pointer, detail }]
  throw malformed(`${pointer} of the webhook ${detail}`, errors)
}

/**
 * A key as text. Whole numbers beyond 2^53 − 1 are none: parsing has rounded them, so different ones are equal by now.
 * @throws FluxError `malformed`
 */
export function keyTextOf(value: string | number | boolean, pointer: string): string {
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return unfit(pointer, 'must be exact, and is a number beyond 2^53 - 1: those must come as text')
  return String(value)
}

/**
 * The inputs that a request gives a service, by their names. Only declared inputs are set. An array takes all values of
 * its name, any other type the last one.
 */
export function webhookInputOf({ input }: CompiledFlux, request: JsonObject): JsonObject {
  const given: JsonObject = {}
  for (const [name, { array }] of input.properties) {
    const texts = textsOf(request, name)
    const last = texts.at(-1)
    if (last !== undefined) setOwn(given, name, array ? texts : last)
  }
  return given
}

/**
 * The texts with that name: from the path, else from the query, else from the headers, whose names are compared in the
 * case in which the client wrote them. A name may occur several times in a query and in headers.
 */
function textsOf({ parameters = null, headers = null }: JsonObject, name: string): string[] {
  const given = isObject(parameters) ? getOwn(parameters, name) : undefined
  if (given !== undefined) return (Array.isArray(given) ? given : [given]).map(String)
  return (Array.isArray(headers) ? headers : []).flatMap((header) =>
    isObject(header) && header['name'] === name ? [String(header['value'])] : [],
  )
}

/** @throws FluxError when the request gives no event that can be sent */
export function eventOf(
  flux: CompiledFlux,
  send: WebhookSend,
  { request }: WebhookCall,
  expressions: RequestExpressions,
): EventRequest {
  /** undefined: there is no such expression; else what `read` makes of its value. */
  const valueOf = <T>(
    expression: Expression | null,
    key: string,
    read: (value: Json, pointer: string) => T,
  ): T | undefined =>
    expression === null ? undefined : read(expressions.evaluate(expression, `/send/${key}`), `/send/${key}`)
  const { package: ownPackage, fluxName: ownName } = flux
  const { orStart } = send
  const started = orStart === 'self' ? null : orStart
  const fluxName = send.fluxName ?? started?.fluxName ?? ownName
  const owner = send.package ?? started?.package ?? (fluxName === ownName ? ownPackage : undefined)
  return {
    event: valueOf(send.event, 'event', textOf) ?? '',
    input: valueOf(send.input, 'input', inputOf),
    // Most values of a request are text.
    untyped: true,
    contextId: valueOf(send.contextId, 'contextId', idOf),
    key: valueOf(send.key, 'key', keyOf),
    ...(send.key && { fluxName, package: owner }),
    // Without any tag, the event would be for all contexts.
    tags: valueOf(send.tags, 'tags', (value, pointer) => {
      const tags = tagsOf(value, pointer)
      return tags.length > 0 ? tags : unfit(pointer, 'must not be empty: the event would be for all')
    }),
    orStart:
      orStart === 'self'
        ? { package: ownPackage, fluxName: ownName, input: webhookInputOf(flux, request) }
        : orStart && {
            package: orStart.package,
            fluxName: orStart.fluxName,
            input: valueOf(orStart.input, 'orStart/input', inputOf),
            tags: valueOf(orStart.tags, 'orStart/tags', (value, pointer) =>
              value === null ? null : tagsOf(value, pointer),
            ),
          },
  }
}

const textOf = (value: Json, pointer: string) => (typeof value === 'string' ? value : unfit(pointer, 'must be text'))

/** Digits are taken, too: a path and a form have no numbers. */
function idOf(value: Json, pointer: string) {
  const id = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  if (typeof id === 'number' && Number.isSafeInteger(id) && id > 0) return id
  return unfit(pointer, 'must be the id of a context')
}

function keyOf(value: Json, pointer: string) {
  if (value === '' || value === null || typeof value === 'object')
    return unfit(pointer, 'must be text that is not empty')
  return keyTextOf(value, pointer)
}

function tagsOf(value: Json, pointer: string) {
  const tags = typeof value === 'string' ? [value] : value
  if (!Array.isArray(tags)) return unfit(pointer, 'must be a list of texts')
  return tags.map((tag: Json, index) => textOf(tag, `${pointer}/${index}`))
}

const inputOf = (value: Json, pointer: string) =>
  value === null || isObject(value) ? value : unfit(pointer, 'must be an object')
