// engine/webhooks: a verified request starts a context, and the answer is taken from the commits of that context, on any
// server. What says no comes before, and leaves no context.
import type { Catalog } from '../../definitions/catalog.ts'
import type { Webhook } from '../../definitions/compile/webhooks.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { notFound } from '../../model/failure.ts'
import { setOwn, type JsonObject } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { Endpoint, WebhookCall, WebhookReply, WorkflowAnswer } from '../../model/webhook.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CommitFeed } from '../../ports/commit-feed.ts'
import type { Store } from '../../ports/store.ts'
import type { Commits } from '../commit.ts'
import type { Mailboxes } from '../mailboxes.ts'
import { deferred } from './deferred.ts'
import type { Settled } from './first-answers.ts'
import { startUnder, type Committed, type WebhookKeeping } from './keeping.ts'
import type { Once } from './once.ts'
import { answerOf } from './webhook-answer.ts'
import { mayRepeat, webhookKeysOf } from './webhook-keys.ts'
import type { WebhookWaits } from './webhook-waits.ts'

export interface ReceiveParts {
  readonly catalog: Catalog
  readonly mailboxes: Mailboxes
  readonly commits: Commits
  readonly store: Store
  readonly clock: Clock
  /** Notifications of other servers that continue contexts; null: there are no other servers. */
  readonly feed: CommitFeed | null
  readonly waits: WebhookWaits
  readonly once: Once
  /** Milliseconds for which the key of a header is kept. */
  readonly keptMs: number
}

/** See `WebhookApi`. Not an async function, which would keep the request in memory while it waits. */
export function receive(parts: ReceiveParts, call: WebhookCall): Promise<WebhookReply> {
  const found = serviceOf(parts, call.endpoint, call.request['method'])
  if (found === null) return Promise.reject(notFound('this webhook is no longer there'))
  const { flux, webhook } = found
  if (!mayRepeat({ webhook, call })) return start(parts, flux, call, null).then(replyOf)
  return webhookKeysOf({ flux, webhook, call, keepMs: parts.keptMs })
    .then((keys) => parts.once.run(keys, call.timeout, (keeping) => start(parts, flux, call, keeping)))
    .then(replyOf)
}

const replyOf = ({ answer, replayed = false, remark = null }: Ending): Promise<WebhookReply> =>
  Promise.resolve(answer).then((given) => ({ answer: given, replayed, remark }))

type Ending = Pick<Settled, 'answer'> & Partial<Settled>

/** null: a reload has removed it. A request with HEAD is for the webhook that has GET, unless one has HEAD. */
function serviceOf(
  { catalog }: ReceiveParts,
  { package: owner, fluxName, urlPath }: Endpoint,
  method: unknown,
): { readonly flux: CompiledFlux; readonly webhook: Webhook } | null {
  const flux = catalog.find(owner, fluxName)
  const ofMethod = (name: unknown) =>
    flux?.webhooks.find((entry) => entry.urlPath === urlPath && entry.httpMethods.some((own) => own === name))
  const webhook = ofMethod(method) ?? (method === 'HEAD' ? ofMethod('GET') : undefined)
  return flux && webhook ? { flux, webhook } : null
}

function start(
  parts: ReceiveParts,
  flux: CompiledFlux,
  call: WebhookCall,
  keeping: WebhookKeeping | null,
): Promise<Committed> {
  const { clock, mailboxes } = parts
  const { request, rawBody, textsOf, timeout, onStarted } = call
  const { promise: answered, resolve: settle } = deferred<WorkflowAnswer>()
  const look = (record: ContextRecord) => {
    const answer = answerOf(record, flux)
    if (answer) settle(answer)
  }
  // The start counts towards the timeout.
  const until = clock.now() + timeout
  const shown = { shown: request, raw: rawBody }
  const input = inputOf(flux, textsOf)
  const { answerRows, options } = startUnder(keeping)
  return mailboxes
    .start(
      { flux, input, untyped: true, unknown: 'ignore', tags: [], trigger: null, request: shown, answerRows },
      { ...options, watcher: look, isCall: true },
    )
    .then(({ record: { id, version } }) => {
      onStarted()
      return { contextId: id, answer: answerAfter(parts, { id, version, answered, settle, look, until }) }
    })
}

async function answerAfter(
  { waits, commits }: ReceiveParts,
  waiting: Parameters<WebhookWaits['wait']>[0],
): Promise<WorkflowAnswer> {
  try {
    return await waits.wait(waiting)
  } finally {
    commits.unwatch(waiting.id)
  }
}

/** Only declared inputs are set. An array takes all values of its name, any other type the last one. */
function inputOf({ input }: CompiledFlux, textsOf: WebhookCall['textsOf']): JsonObject {
  const given: JsonObject = {}
  for (const [name, { array }] of input.properties) {
    const texts = textsOf(name)
    const last = texts.at(-1)
    if (last !== undefined) setOwn(given, name, array ? [...texts] : last)
  }
  return given
}
