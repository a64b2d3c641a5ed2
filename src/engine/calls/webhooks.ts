// engine/calls: webhooks. A request starts a context, and the answer is taken from the commits of that context, on any
// server.
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextId } from '../../model/context.ts'
import { notFound } from '../../model/failure.ts'
import { setOwn, type JsonObject } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { WebhookAnswer, WebhookApi, WebhookCall } from '../../model/webhook.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CommitFeed } from '../../ports/commit-feed.ts'
import type { Store } from '../../ports/store.ts'
import type { Commits } from '../commit.ts'
import type { Mailboxes } from '../mailboxes.ts'
import type { RefusalLog } from '../refusal-log.ts'
import { answerOf } from './webhook-answer.ts'
import { WebhookWaits } from './webhook-waits.ts'

export interface WebhooksParts {
  readonly catalog: Catalog
  readonly mailboxes: Mailboxes
  readonly commits: Commits
  readonly store: Store
  readonly clock: Clock
  /** Notifications of other servers that continue contexts; null: there are no other servers. */
  readonly feed: CommitFeed | null
  readonly refusals: RefusalLog
}

export function webhooks({ catalog, mailboxes, commits, store, clock, feed, refusals }: WebhooksParts): WebhookApi {
  const waits = new WebhookWaits({ store, clock, feed })
  return {
    giveUp: () => waits.endAll(),

    find: (method, segments) => catalog.endpoints().find(method, segments),
    all: () => catalog.endpoints().all,

    refused({ endpoint, method, path, failure: { kind, detail: reason } }) {
      const facts = { contextId: null, fluxName: endpoint?.fluxName ?? null, state: null, reason, method, path }
      void refusals.log('a webhook was refused', kind, () => facts)
    },

    // Not an async function, which would keep the request in memory while it waits.
    receive({ endpoint, request, rawBody, textsOf, timeout, onStarted }) {
      const flux = catalog.find(endpoint.package, endpoint.fluxName)
      if (!flux) return Promise.reject(notFound('this webhook is no longer there'))
      const { promise: answered, resolve: settle } = deferred<WebhookAnswer>()
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
          { watcher: look, isCall: true },
        )
        .then(({ record: { id, version } }) => {
          onStarted()
          return { id, version }
        })
      return answerAfter(started, { answered, settle, look, until })
    },
  }

  async function answerAfter(
    started: Promise<{ readonly id: ContextId; readonly version: number }>,
    waiting: Omit<Parameters<WebhookWaits['wait']>[0], 'id' | 'version'>,
  ): Promise<WebhookAnswer> {
    const context = await started
    try {
      return await waits.wait({ ...context, ...waiting })
    } finally {
      commits.unwatch(context.id)
    }
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
