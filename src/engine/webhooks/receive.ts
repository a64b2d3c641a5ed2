// engine/webhooks: a verified request starts a context, and the answer is taken from the commits of that context, on any
// server. What says no comes before, and leaves no context.
import type { Catalog } from '../../definitions/catalog.ts'
import type { Webhook } from '../../definitions/compile/webhooks.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextId } from '../../model/context.ts'
import { notFound } from '../../model/failure.ts'
import { setOwn, type JsonObject } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { Endpoint, WebhookCall, WebhookReply, WorkflowAnswer } from '../../model/webhook.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CommitFeed } from '../../ports/commit-feed.ts'
import type { Store } from '../../ports/store.ts'
import type { Commits } from '../commit.ts'
import type { Mailboxes } from '../mailboxes.ts'
import type { Deliveries } from './deliveries.ts'
import { answerOf } from './webhook-answer.ts'
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
  readonly deliveries: Deliveries
}

/** See `WebhookApi`. Not an async function, which would keep the request in memory while it waits. */
export function receive(parts: ReceiveParts, call: WebhookCall): Promise<WebhookReply> {
  const found = serviceOf(parts, call.endpoint, call.request['method'])
  if (found === null) return Promise.reject(notFound('this webhook is no longer there'))
  return start(parts, found.flux, call).then((answer) => ({ answer, replayed: false, remark: null }))
}

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

function start(parts: ReceiveParts, flux: CompiledFlux, call: WebhookCall): Promise<WorkflowAnswer> {
  const { clock, mailboxes, deliveries } = parts
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
  const started = mailboxes
    .start(
      { flux, input, untyped: true, unknown: 'ignore', tags: [], trigger: null, request: shown },
      { watcher: look, isCall: true, rows: (_, record) => deliveries.rowsOf(call, record) },
    )
    .then(({ record: { id, version } }) => {
      onStarted()
      return { id, version }
    })
  return answerAfter(parts, started, { answered, settle, look, until })
}

async function answerAfter(
  { waits, commits }: ReceiveParts,
  started: Promise<{ readonly id: ContextId; readonly version: number }>,
  waiting: Omit<Parameters<WebhookWaits['wait']>[0], 'id' | 'version'>,
): Promise<WorkflowAnswer> {
  const context = await started
  try {
    return await waits.wait({ ...context, ...waiting })
  } finally {
    commits.unwatch(context.id)
  }
}

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  const settled: { resolve: (value: T) => void } = { resolve: () => undefined }
  const promise = new Promise<T>((resolve) => {
    settled.resolve = resolve
  })
  return { promise, resolve: (value) => settled.resolve(value) }
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
