// observe: the metrics of one server, as Prometheus reads them. What is counted on the way of an event is one addition
// (see `accumulators.ts`); labels are templates and closed lists, and the number of them is bounded.
//
// - The engine and the HTTP server tell `ports/signals.ts` what they do. `observe/metrics.ts` adds it to numbers of
//   its own (`accumulators.ts`), which `exposition.ts` shows at a scrape.
// - What is counted of contexts (moves, steps, lateness) is noted in the turn and counted after its commit
//   (`engine/turn/commit.ts`), so a turn that is decided again counts once. Each server counts its own commits.
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { DeliveryOutcome, Endpoint } from '../model/webhook.ts'
import type {
  StatusCount,
  EventOutcome,
  RequestSignals,
  SignalledService,
  Signals,
  StepOutcome,
} from '../ports/signals.ts'
import { Distribution, OTHER, Series, Tally } from './accumulators.ts'
import { counter, expositionOf, gauge, histogram, type Metric } from './exposition.ts'

export interface MetricsParts {
  /** The store that commits go to. */
  readonly store: 'embedded' | 'redis'
  readonly version: string
  /** Counts the contexts now. */
  readonly countContexts: () => Promise<readonly StatusCount[]>
  /** Milliseconds of any clock that never goes back. */
  readonly now?: () => number
}

/** Seconds. */
const BOUNDS_SECONDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600,
]
/** Messages. */
const DEPTH_BOUNDS = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** The status of a request whose client left before it was answered. */
const ABORTED = 'aborted'

/** Milliseconds for which the numbers of contexts are not counted again. */
const MAX_AGE_MS = 10_000

/** Metrics of the process, for all servers in it. They cost a little, so they begin with the first scrape. */
let ofNode: Registry | null = null

function nodeRegistry() {
  if (ofNode === null) {
    ofNode = new Registry()
    collectDefaultMetrics({ register: ofNode })
  }
  return ofNode
}

export class ServerMetrics implements Signals, RequestSignals {
  readonly #events: { readonly [outcome in EventOutcome]: Tally }
  readonly #moves = new Series(() => new Tally())
  /** Those of a definition: its labels are not put together for each event. */
  readonly #movesOf = new WeakMap<SignalledService, Tally>()
  readonly #steps = new Series(() => new Tally(), 2)
  readonly #stepTimes = new Distribution(BOUNDS_SECONDS)
  readonly #running = new Tally()
  readonly #commits = new Distribution(BOUNDS_SECONDS)
  readonly #conflicts = new Tally()
  readonly #lateness = new Distribution(BOUNDS_SECONDS)
  readonly #depths = new Distribution(DEPTH_BOUNDS)
  readonly #deliveries = new Series(() => new Tally())
  readonly #requests = new Series(() => new Distribution(BOUNDS_SECONDS))
  readonly #parts: MetricsParts
  readonly #metrics: readonly Metric[]
  #exposing: Promise<{ readonly contentType: string; readonly text: string }> | null = null
  #counted: { readonly at: number; readonly counts: readonly StatusCount[] } = { at: -Infinity, counts: [] }

  constructor(parts: MetricsParts) {
    this.#parts = parts
    const events = new Series(() => new Tally())
    this.#events = {
      moved: events.of('moved'),
      started: events.of('started'),
      ignored: events.of('ignored'),
      pending: events.of('pending'),
      refused: events.of('refused'),
    }
    const contexts = async () =>
      (await this.#contexts()).map(({ service, status, count }) => ({
        values: [service === null ? OTHER : nameOf(service), status],
        cell: { value: count },
      }))
    this.#metrics = [
      counter('events_total', ['outcome'], events, 'Events, by what they came to for each context'),
      counter('moves_total', ['flux'], this.#moves, 'States that contexts entered'),
      counter('steps_total', ['flux', 'state', 'outcome'], this.#steps, 'Attempts of functions and scripts that ended'),
      histogram('step_duration_seconds', [], only(this.#stepTimes), 'How long functions and scripts ran'),
      histogram('commit_duration_seconds', ['store'], only(this.#commits, parts.store), 'How long commits took'),
      counter('commit_conflicts_total', [], only(this.#conflicts), 'Commits that found a newer version of a context'),
      histogram('wakeup_lateness_seconds', [], only(this.#lateness), 'How late contexts that were due were woken'),
      histogram('mailbox_depth', [], only(this.#depths), 'Messages that waited for the context of another that came'),
      counter('webhook_requests_total', ['endpoint', 'outcome'], this.#deliveries, 'Requests to webhooks'),
      histogram('http_request_duration_seconds', ['route', 'method', 'status'], this.#requests, 'Requests over HTTP'),
      gauge('contexts', ['flux', 'status'], { all: contexts }, 'Contexts; with Redis, those of the namespace'),
      gauge('steps_running', [], only(this.#running), 'Functions and scripts that run here'),
      gauge(
        'build_info',
        ['version', 'node'],
        only({ value: 1 }, parts.version, process.version),
        'Versions of actorflux and Node',
      ),
    ]
  }

  /** Counted at most once in some seconds. Where they can't be counted, the others are shown. */
  async #contexts() {
    const { countContexts, now = () => performance.now() } = this.#parts
    const at = now()
    if (at - this.#counted.at > MAX_AGE_MS) {
      const counts = await countContexts().catch(() => [])
      this.#counted = { at: counts.length > 0 ? at : -Infinity, counts }
    }
    return this.#counted.counts
  }

  /** All metrics, with those of the process. Scrapes that come while they are gathered get the same. */
  exposition() {
    const node = nodeRegistry()
    this.#exposing ??= Promise.all([...this.#metrics.map(expositionOf), node.metrics()])
      .then((parts) => ({ contentType: node.contentType, text: parts.join('') }))
      .finally(() => {
        this.#exposing = null
      })
    return this.#exposing
  }

  event(outcome: EventOutcome, count = 1) {
    this.#events[outcome].value += count
  }

  moves(service: SignalledService, made: { readonly length: number }) {
    const known = this.#movesOf.get(service)
    const moves = known ?? this.#moves.of(nameOf(service))
    if (!known) this.#movesOf.set(service, moves)
    moves.value += made.length
  }

  step(service: SignalledService, state: string, outcome: StepOutcome) {
    this.#steps.of(nameOf(service), state, outcome).value += 1
  }

  stepBegan() {
    this.#running.value += 1
  }

  stepEnded(milliseconds: number) {
    this.#running.value -= 1
    this.#stepTimes.observe(milliseconds / 1000)
  }

  commit(milliseconds: number) {
    this.#commits.observe(milliseconds / 1000)
  }

  conflict() {
    this.#conflicts.value += 1
  }

  lateness(milliseconds: number) {
    this.#lateness.observe(milliseconds / 1000)
  }

  depth(messages: number) {
    this.#depths.observe(messages)
  }

  delivery(endpoint: Endpoint | null, outcome: DeliveryOutcome) {
    this.#deliveries.of(endpoint?.urlPath ?? OTHER, outcome).value += 1
  }

  request(route: string | null, method: string, status: number | null, milliseconds: number) {
    const known = METHODS.has(method) ? method : OTHER
    const times = this.#requests.of(route ?? OTHER, known, status === null ? ABORTED : String(status))
    times.observe(milliseconds / 1000)
  }
}

/** The source of a metric with that one number. */
const only = <T>(cell: T, ...values: readonly string[]) => ({ all: () => [{ values, cell }] })

const nameOf = ({ package: owner, fluxName }: SignalledService) => `${owner}/${fluxName}`
