// engine: webhooks. The answer comes from the context's own commits, those of another server, which tells of them,
// too.
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { readPath } from '../../definitions/values/paths.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import { notFound } from '../../model/failure.ts'
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { WebhookAnswer, WebhookApi, WebhookCall } from '../../model/webhook.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CommitFeed } from '../../ports/commit-feed.ts'
import type { Store } from '../../ports/store.ts'
import { decodeRecord, decodeHead } from '../record/codec.ts'
import type { Commits } from '../commit.ts'
import type { Mailboxes } from '../mailboxes.ts'
import type { RefusalLog } from '../refusal-log.ts'
import { redactorOf } from '../redact/redactor.ts'

export interface WebhooksParts {
  readonly catalog: Catalog
  readonly mailboxes: Mailboxes
  readonly commits: Commits
  readonly store: Store
  readonly clock: Clock
  /** What other servers that carry contexts on tell of; null: there are none. */
  readonly feed: CommitFeed | null
  readonly refusals: RefusalLog
}

/**
 * Milliseconds between looks whether another server has carried a context on that a caller waits for here: what it told
 * may not have come.
 */
const LOOK_EVERY_MS = 1000

/** Milliseconds that the last look may take: a store that is silent is no reason to keep a caller. */
const LAST_LOOK_MS = 200

export function webhooks({ catalog, mailboxes, commits, store, clock, feed, refusals }: WebhooksParts): WebhookApi {
  /** Those who wait. */
  const waiting = new Set<() => void>()
  /** Looks what the store has of a context that a caller waits for. */
  const looks = new Map<ContextId, () => Promise<void>>()
  feed?.onNotified(
    (id) =>
      void looks
        .get(id)?.()
        .catch(() => undefined),
  )
  return {
    giveUp() {
      for (const end of waiting) end()
    },

    find: (method, segments) => catalog.endpoints().find(method, segments),
    all: () => catalog.endpoints().all,

    refused({ endpoint, method, path, failure: { kind, detail: reason } }) {
      const facts = { contextId: null, fluxName: endpoint?.fluxName ?? null, state: null, reason, method, path }
      void refusals.log('a webhook was refused', kind, () => facts)
    },

    // No async function: it would keep what was sent for as long as it waits.
    receive({ endpoint, request, rawBody, textsOf, timeout, onStarted }) {
      const flux = catalog.find(endpoint.package, endpoint.fluxName)
      if (!flux) return Promise.reject(notFound('this webhook is no longer there'))
      const input = inputOf(flux, textsOf)
      const { promise: answered, resolve: settle } = deferred<WebhookAnswer>()
      const look = (record: ContextRecord) => {
        const answer = answerOf(record, flux)
        if (answer) settle(answer)
      }
      // Its start counts, too.
      const began = clock.now()
      const started = mailboxes
        .start(
          {
            flux,
            input,
            untyped: true,
            unknown: 'ignore',
            tags: [],
            trigger: null,
            request: { shown: request, raw: rawBody },
          },
          { watcher: look, isCall: true },
        )
        .then(({ record: { id, version } }) => {
          onStarted()
          return { id, version }
        })
      return wait(started, { answered, settle, look, timeout, began })
    },
  }

  interface Waiting {
    readonly answered: Promise<WebhookAnswer>
    readonly settle: (answer: WebhookAnswer) => void
    readonly look: (record: ContextRecord) => void
    /** Milliseconds, from `began` on. */
    readonly timeout: number
    readonly began: number
  }

  async function wait(
    started: Promise<{ readonly id: ContextId; readonly version: number }>,
    { answered, settle, look, timeout, began }: Waiting,
  ): Promise<WebhookAnswer> {
    const { id, version } = await started
    let seen = version
    const lookNow = async () => {
      const found = await store.version({ id })
      const stored = found === seen ? null : await store.load({ id })
      seen = found ?? seen
      if (stored && hasAnswer(decodeHead(stored))) look(decodeRecord(stored))
    }
    if (feed) looks.set(id, lookNow)
    const stopLooking = feed ? repeat(clock, LOOK_EVERY_MS, lookNow) : () => undefined
    const late = () => settle({ kind: 'late', contextId: id })
    // Another server may have ended it since the last look.
    const end = !feed
      ? late
      : () => {
          clock.after(LAST_LOOK_MS, late)
          void lookNow()
            .catch(() => undefined)
            .finally(late)
        }
    waiting.add(end)
    const callOff = clock.after(Math.max(0, timeout - (clock.now() - began)), end)
    try {
      return await answered
    } finally {
      waiting.delete(end)
      callOff()
      stopLooking()
      looks.delete(id)
      commits.unwatch(id)
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

/** Does it again and again; gives what ends that. What fails is tried again. */
function repeat(clock: Clock, pause: number, look: () => Promise<void>): () => void {
  let ended = false
  const next = (): (() => void) =>
    clock.after(
      pause,
      () =>
        void look()
          .catch(() => undefined)
          .finally(() => {
            if (!ended) callOff = next()
          }),
    )
  let callOff = next()
  return () => {
    ended = true
    callOff()
  }
}

/** Only declared inputs are ever set. A list takes all values of its name, anything else the last. */
function inputOf({ input }: CompiledFlux, textsOf: WebhookCall['textsOf']): JsonObject {
  const given: JsonObject = {}
  for (const [name, { array }] of input.properties) {
    const texts = textsOf(name)
    const last = texts.at(-1)
    if (last !== undefined) setOwn(given, name, array ? [...texts] : last)
  }
  return given
}

/** Its data, which may be large, isn't needed to know that. */
const hasAnswer = ({ paused, status }: ContextRecord): boolean => paused !== undefined || status !== 'RUNNING'

/** null: it is still at work, and never paused. */
function answerOf(record: ContextRecord, flux: CompiledFlux): WebhookAnswer | null {
  const { id: contextId, answer } = record
  const status = record.paused ?? record.status
  if (status === 'RUNNING') return null
  if (status === 'FAILED') return { kind: 'failed', contextId, reason: reasonOf(record, flux) }
  const from = answer?.from.at(-1)
  if (from !== undefined) return { kind: 'response', contextId, response: responseOf(record, from) }
  if (answer) return { kind: 'outputs', contextId, value: outputsOf(record, flux) }
  return isFinished(status) ? { kind: 'nothing', contextId } : { kind: 'paused', contextId, status }
}

function reasonOf(record: ContextRecord, flux: CompiledFlux): string {
  if (record.error === null) return 'failed'
  const { type, message } = redactorOf(record, flux).error(record.error)
  return `${type}: ${message}`
}

/** A line may have made something else of it since. */
function responseOf({ output }: ContextRecord, path: readonly string[]): JsonObject {
  const response = readPath(output, path)
  return isObject(response) ? response : {}
}

function outputsOf({ output }: ContextRecord, flux: CompiledFlux): Json {
  const names = [...flux.output.properties.keys()]
  const [lone, ...others] = names
  if (lone !== undefined && others.length === 0) return getOwn(output, lone) ?? null
  const all: JsonObject = {}
  for (const name of names) setOwn(all, name, getOwn(output, name) ?? null)
  return all
}
