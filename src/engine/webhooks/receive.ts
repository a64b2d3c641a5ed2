// engine/webhooks: a verified request starts a context, and the answer is taken from the commits of that context, on any
// server. What says no comes before, and leaves no context.
import type { Catalog } from '../../definitions/catalog.ts'
import type { Webhook } from '../../definitions/compile/webhooks.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { notFound } from '../../model/failure.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { Endpoint, WebhookAnswer, WebhookCall, WebhookReply, WorkflowAnswer } from '../../model/webhook.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CommitFeed } from '../../ports/commit-feed.ts'
import type { Store } from '../../ports/store.ts'
import type { Commits, CommitWatcher } from '../commit.ts'
import type { Mailboxes } from '../mailboxes.ts'
import type { StartOptions } from '../starts.ts'
import { RequestExpressions } from './request-expressions.ts'
import { sendForWebhook, type EventOptions, type SendParts } from './send.ts'
import { answerOf } from './webhook-answer.ts'
import { webhookInputOf } from './webhook-input.ts'
import type { WebhookWaits } from './webhook-waits.ts'

export interface ReceiveParts extends SendParts {
  readonly catalog: Catalog
  readonly mailboxes: Mailboxes
  readonly commits: Commits
  readonly store: Store
  readonly clock: Clock
  /** Notifications of other servers that continue contexts; null: there are no other servers. */
  readonly feed: CommitFeed | null
  readonly waits: WebhookWaits
}

/** What is written in the commit of the effect of a request. `partition`: of a start. */
export interface EffectOptions extends Pick<StartOptions, 'partition'>, EventOptions {}

/** An endpoint as it is loaded now. */
export interface FoundWebhook {
  readonly flux: CompiledFlux
  readonly webhook: Webhook
}

/** See `WebhookApi`. Not an async function, which would keep the request in memory while it waits. */
export function receive(parts: ReceiveParts, call: WebhookCall): Promise<WebhookReply> {
  const found = serviceOf(parts, call.endpoint, call.request['method'])
  if (found === null) return Promise.reject(notFound('this webhook is no longer there'))
  return judge(parts, found, call).then((answer) => ({ answer, replayed: false, remark: null }))
}

/** Starts the service or sends the event, unless `when` says no: then nothing is stored. */
function judge(
  parts: ReceiveParts,
  { flux, webhook: { when, send, answer } }: FoundWebhook,
  call: WebhookCall,
  options: EffectOptions = {},
): Promise<WebhookAnswer> {
  try {
    if (when !== null && !new RequestExpressions(call.request, call.time).evaluate(when, '/when'))
      return Promise.resolve({ kind: 'filtered' })
  } catch (error) {
    return Promise.reject(error)
  }
  if (send !== null) return sendForWebhook(parts, { flux, send }, call, options)
  return answer === 'accepted' ? startAlone(parts, flux, call, options) : startAndWait(parts, flux, call, options)
}

/** null: a reload has removed it. A request with HEAD is for the webhook that has GET, unless one has HEAD. */
function serviceOf(
  { catalog }: ReceiveParts,
  { package: owner, fluxName, urlPath }: Endpoint,
  method: unknown,
): FoundWebhook | null {
  const flux = catalog.find(owner, fluxName)
  const ofMethod = (name: unknown) =>
    flux?.webhooks.find((entry) => entry.urlPath === urlPath && entry.httpMethods.some((own) => own === name))
  const webhook = ofMethod(method) ?? (method === 'HEAD' ? ofMethod('GET') : undefined)
  return flux && webhook ? { flux, webhook } : null
}

/** Answers when the context is stored. */
async function startAlone(...given: Parameters<typeof start>): Promise<WebhookAnswer> {
  const { id, paused, status } = await start(...given)
  return { kind: 'accepted', contextId: id, status: paused ?? status }
}

function startAndWait(
  parts: ReceiveParts,
  flux: CompiledFlux,
  call: WebhookCall,
  options: EffectOptions,
): Promise<WorkflowAnswer> {
  const { promise: answered, resolve: settle } = deferred<WorkflowAnswer>()
  const look = (record: ContextRecord) => {
    const answer = answerOf(record, flux)
    if (answer) settle(answer)
  }
  // The start counts towards the timeout.
  const until = parts.clock.now() + call.timeout
  return answerAfter(parts, start(parts, flux, call, options, look), { answered, settle, look, until })
}

/** Resolves with what is stored of the new context. */
function start(
  { mailboxes }: ReceiveParts,
  flux: CompiledFlux,
  { request, rawBody, textsOf, onStarted }: WebhookCall,
  { rows, first, partition }: EffectOptions,
  watcher?: CommitWatcher,
): Promise<Pick<ContextRecord, 'id' | 'version' | 'status' | 'paused'>> {
  const shown = { shown: request, raw: rawBody }
  const input = webhookInputOf(flux, textsOf)
  return mailboxes
    .start(
      { flux, input, untyped: true, unknown: 'ignore', tags: [], trigger: null, request: shown },
      { watcher, rows, first, partition, isCall: true },
    )
    .then(({ record: { id, version, status, paused } }) => {
      onStarted()
      return { id, version, status, paused }
    })
}

async function answerAfter(
  { waits, commits }: ReceiveParts,
  started: ReturnType<typeof start>,
  waiting: Omit<Parameters<WebhookWaits['wait']>[0], 'id' | 'version'>,
): Promise<WorkflowAnswer> {
  const { id, version } = await started
  try {
    return await waits.wait({ id, version, ...waiting })
  } finally {
    commits.unwatch(id)
  }
}

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  const settled: { resolve: (value: T) => void } = { resolve: () => undefined }
  const promise = new Promise<T>((resolve) => {
    settled.resolve = resolve
  })
  return { promise, resolve: (value) => settled.resolve(value) }
}
