// observe: spans by the API of OpenTelemetry, which does nothing unless the program that runs this one has loaded an SDK.
//
// - The incoming `traceparent` is a field of the record that is absent where there was none. The message of a sender,
//   and the result of a step, carry theirs through the turn: a step that begins in such a turn belongs to that trace;
//   any other (after a timer, a back-off, a takeover, or a wait for a slot) begins one that is linked to the sender's.
// - Whether an SDK of OpenTelemetry is there is looked up once (`observe/traces.ts`). Without one, there is no object
//   for a span, and nothing is wrapped.
import {
  context,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { Traces } from '../ports/signals.ts'

const NAME = 'actorflux'

/** null: no SDK is loaded. It is looked once, so an SDK must be registered before the server starts. */
export function openTraces(): Traces | null {
  const provider = trace.getTracerProvider()
  // Until an SDK is registered, the API stands in for it with a proxy that leads nowhere.
  if (provider instanceof ProxyTracerProvider && provider.getDelegateTracer(NAME) === undefined) return null
  const tracer = provider.getTracer(NAME)
  /** Begins a span. `inside`: the context of what it has begun. */
  const begin = (name: string, options: SpanOptions, traceparent: string | undefined) => {
    const parent =
      traceparent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, spanContextOf(traceparent))
    const span = tracer.startSpan(name, options, parent)
    const inside = trace.setSpan(parent, span)
    return { span, inside, traceparent: traceparentOf(span), run: <T>(call: () => T) => context.with(inside, call) }
  }
  return {
    request(method, parent) {
      const attributes = { 'http.request.method': method }
      const { span, traceparent, run } = begin(`request ${method}`, { kind: SpanKind.SERVER, attributes }, parent)
      return {
        traceparent,
        run,
        end(route, status) {
          if (route !== null) span.updateName(`request ${method} ${route}`).setAttribute('http.route', route)
          if (status !== null) span.setAttribute('http.response.status_code', status)
          endSpan(span, status !== null && status >= 500)
        },
      }
    },
    turn(contextId, [first, ...others]) {
      const attributes = contextId === null ? {} : { 'actorflux.context_id': contextId }
      const { span, inside } = begin('turn', { attributes, links: others.map(linkTo) }, first)
      return {
        commit() {
          const commit = tracer.startSpan('commit', {}, inside)
          return (isDone) => endSpan(commit, !isDone)
        },
        end: () => span.end(),
      }
    },
    step({ contextId, service, state, attempt, parent, sender }) {
      const attributes = {
        'actorflux.context_id': contextId,
        'actorflux.flux': service,
        'actorflux.state': state,
        'actorflux.attempt': attempt,
      }
      const links = parent === undefined && sender !== undefined ? [linkTo(sender)] : []
      const { span, traceparent, run } = begin(`step ${service} ${state}`, { attributes, links }, parent)
      return {
        traceparent,
        run,
        end(error) {
          if (error !== null) span.setAttribute('error.type', error)
          endSpan(span, error !== null)
        },
      }
    },
  }
}

function endSpan(span: Span, hasFailed: boolean) {
  if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

const linkTo = (traceparent: string) => ({ context: spanContextOf(traceparent) })

function spanContextOf(traceparent: string) {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-')
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}

function traceparentOf(span: Span) {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}
