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
import { Distribution, Series, Tally } from './accumulators.ts'
import { counter, expositionOf, histogram, type Metric } from './exposition.ts'

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
const COMMIT_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const STEP_BOUNDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800]
const LATENESS_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600]
const REQUEST_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
/** Messages. */
const DEPTH_BOUNDS = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

const OTHER = 'other'
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** The status of a request whose client left before it was answered. */
const ABORTED = 'aborted'

/** Milliseconds for which the numbers of contexts are not counted again. */
const MAX_AGE_MS = 10_000

/** What a scrape gives. */
type Exposition = { readonly contentType: string; readonly text: string }

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
  readonly #steps = new Series(() => new Tally(), 2)
  readonly #stepTimes = new Distribution(STEP_BOUNDS)
  #running = 0
  readonly #commits = new Distribution(COMMIT_BOUNDS)
  readonly #conflicts = new Tally()
  readonly #lateness = new Distribution(LATENESS_BOUNDS)
  readonly #depths = new Distribution(DEPTH_BOUNDS)
  readonly #deliveries = new Series(() => new Tally())
  readonly #requests = new Series(() => new Distribution(REQUEST_BOUNDS))
  readonly #parts: MetricsParts
  readonly #metrics: readonly Metric[]
  #exposing: Promise<Exposition> | null = null
  #counted: { at: number; readonly counts: Promise<readonly StatusCount[]> } | null = null

  constructor(parts: MetricsParts) {
    this.#parts = parts
    const events = new Series(() => new Tally(), 0)
    this.#events = {
      moved: events.of('moved'),
      started: events.of('started'),
      ignored: events.of('ignored'),
      pending: events.of('pending'),
      refused: events.of('refused'),
    }
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
      {
        name: 'contexts',
        type: 'gauge',
        help: 'Contexts; with Redis, those of the namespace',
        samples: async () =>
          (await this.#contexts()).map(({ service, status, count }) => ({
            labels: { flux: service === null ? OTHER : nameOf(service), status },
            value: count,
          })),
      },
      {
        name: 'steps_running',
        type: 'gauge',
        help: 'Functions and scripts that run here',
        samples: () => [{ labels: {}, value: this.#running }],
      },
      {
        name: 'build_info',
        type: 'gauge',
        help: 'Versions of actorflux and Node',
        samples: () => [{ labels: { version: parts.version, node: process.version }, value: 1 }],
      },
    ]
  }

  /**
   * Counted once for all who ask within some seconds, and never twice at the same time. Where they can't be counted,
   * the others are shown.
   */
  async #contexts() {
    const { countContexts, now = () => performance.now() } = this.#parts
    const began = now()
    if (this.#counted !== null && began - this.#counted.at <= MAX_AGE_MS) return this.#counted.counts
    // While it is counted, it is not outdated.
    const counted = { at: Infinity, counts: countContexts().catch(() => []) }
    this.#counted = counted
    const counts = await counted.counts
    counted.at = counts.length > 0 ? began : -Infinity
    return counts
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

  moves(service: SignalledService, count: number) {
    this.#moves.of(nameOf(service)).value += count
  }

  step(service: SignalledService, state: string, outcome: StepOutcome) {
    this.#steps.of(nameOf(service), state, outcome).value += 1
  }

  stepBegan() {
    this.#running += 1
  }

  stepEnded(milliseconds: number) {
    this.#running -= 1
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

  delivery({ urlPath }: Endpoint, outcome: DeliveryOutcome) {
    this.#deliveries.of(urlPath, outcome).value += 1
  }

  unmatchedDelivery() {
    this.#deliveries.of(OTHER, 'refused').value += 1
  }

  request(route: string | null, method: string, status: number | null, milliseconds: number) {
    const known = METHODS.has(method) ? method : OTHER
    const times = this.#requests.of(route ?? OTHER, known, status === null ? ABORTED : String(status))
    times.observe(milliseconds / 1000)
  }
}

/** The series of a metric with that one number. */
function only<T>(cell: T, ...values: readonly string[]): Series<T> {
  const series = new Series(() => cell)
  series.of(...values)
  return series
}

const nameOf = ({ package: owner, fluxName }: SignalledService) => `${owner}/${fluxName}`
