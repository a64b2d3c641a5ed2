// observe: spans by the API of OpenTelemetry, which does nothing unless the program that runs this one has loaded an SDK.
//
// - The incoming `traceparent` is a field of the record that is absent where there was none. The message of a sender,
//   and the result of a step, carry theirs through the turn: a step that begins in such a turn belongs to that trace;
//   any other (after a timer, a back-off, a takeover, or a wait for a slot) begins one that is linked to the sender's.
// - Whether an SDK of OpenTelemetry is there is looked up once (`observe/traces.ts`). Without one, there is no object
//   for a span, and nothing is wrapped.
import {
  context,
  type Context,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api'
import type { Traces } from '../ports/signals.ts'

const NAME = 'actorflux'

/** null: no SDK is loaded. It is looked once, so an SDK must be registered before the server starts. */
export function openTraces(): Traces | null {
  const provider = trace.getTracerProvider()
  // Until an SDK is registered, the API stands in for it with a proxy that leads nowhere.
  if (provider instanceof ProxyTracerProvider && provider.getDelegateTracer(NAME) === undefined) return null
  const tracer = provider.getTracer(NAME)
  return {
    request: requestSpan(tracer),
    turn: turnSpan(tracer),
    step: stepSpan(tracer),
  }
}

const requestSpan =
  (tracer: Tracer): Traces['request'] =>
  (method, traceparent) => {
    const parent = contextOf(traceparent)
    const attributes = { 'http.request.method': method }
    const span = tracer.startSpan(`request ${method}`, { kind: SpanKind.SERVER, attributes }, parent)
    return {
      traceparent: traceparentOfSpan(span),
      run: (call) => context.with(trace.setSpan(parent, span), call),
      end(route, status) {
        if (route !== null) span.updateName(`request ${method} ${route}`).setAttribute('http.route', route)
        if (status !== null) span.setAttribute('http.response.status_code', status)
        if (status !== null && status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
        span.end()
      },
    }
  }

const turnSpan =
  (tracer: Tracer): Traces['turn'] =>
  (contextId, traceparents) => {
    const [first, ...others] = traceparents
    const parent = contextOf(first)
    const links = others.flatMap(linkOf)
    const attributes = contextId === null ? {} : { 'actorflux.context_id': contextId }
    const span = tracer.startSpan('turn', { attributes, links }, parent)
    return {
      commit() {
        const commit = tracer.startSpan('commit', {}, trace.setSpan(parent, span))
        return (isDone) => {
          if (!isDone) commit.setStatus({ code: SpanStatusCode.ERROR })
          commit.end()
        }
      },
      end: () => span.end(),
    }
  }

const stepSpan =
  (tracer: Tracer): Traces['step'] =>
  ({ contextId, service, state, attempt, parent: before, sender }) => {
    const parent = contextOf(before)
    const attributes = {
      'actorflux.context_id': contextId,
      'actorflux.flux': service,
      'actorflux.state': state,
      'actorflux.attempt': attempt,
    }
    const links = before === undefined && sender !== undefined ? linkOf(sender) : []
    const span = tracer.startSpan(`step ${service} ${state}`, { attributes, links }, parent)
    return {
      traceparent: traceparentOfSpan(span),
      run: (call) => context.with(trace.setSpan(parent, span), call),
      end(error) {
        if (error !== null) span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', error)
        span.end()
      },
    }
  }

/** What a span begins in. */
function contextOf(traceparent: string | undefined): Context {
  return traceparent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, spanContextOf(traceparent))
}

const linkOf = (traceparent: string) => [{ context: spanContextOf(traceparent) }]

function spanContextOf(traceparent: string): SpanContext {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-')
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}

function traceparentOfSpan(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}
