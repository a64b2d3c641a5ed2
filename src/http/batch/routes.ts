// http: the calls that take a line for each of many events or starts.
import type { Context, Hono } from 'hono'
import { EXECUTES, SEND_EVENTS, type StreamCall } from '../../api/streams.ts'
import { CALLS, type Calls } from '../../api/calls.ts'
import { scopeOfToken, type Caller, type Role } from '../../model/caller.ts'
import { CountBound } from '../../model/count-bound.ts'
import { FluxError, malformed, overloaded } from '../../model/failure.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Answers } from '../answers/answers.ts'
import { failureLog } from '../answers/failure-log.ts'
import { quotaHeaders } from '../request/quotas.ts'
import { requestReader } from '../request/reader.ts'
import { decodeJson } from '../formats/json/decode.ts'
import { negotiate, type Format } from '../formats/negotiate.ts'
import { NOSNIFF } from '../formats/problem.ts'
import { typeOfBody, type BodyAdmission, type BodyLimits } from '../request/body.ts'
import { bodyText } from '../request/text.ts'
import type { CallFields, FieldsByName } from '../request/call-fields.ts'
import { headerOf, socketed, type Env } from '../request/incoming.ts'
import { traceOf } from '../socket/trace.ts'
import { readQuery } from '../request/query.ts'
import { mayComeSlowly } from '../socket/faults.ts'
import { eventLine, startConcernOf } from './concern.ts'
import { LineStream, type LineRequest } from './line-stream.ts'
import { codingOf, openSource } from './source.ts'

export interface BatchOptions {
  readonly clock: Clock
  /** Milliseconds that may pass between two lines. */
  readonly requestTimeout: number
  /** Streams at once. */
  readonly maxStreams: number
  /** Aborted when the server is to end: streams end then. */
  readonly stopping: AbortSignal
}

export interface BatchParts extends BatchOptions, BodyLimits, BodyAdmission {
  readonly api: (caller: Caller, traceparent?: string) => Calls
  readonly callerOf: (c: Context<Env>, role: Role) => Caller
  readonly answers: Answers
  readonly log: Log
}

const LINES: readonly Format[] = [
  { type: 'application/x-ndjson', suffix: null },
  { type: 'application/jsonl', suffix: null },
]

const NOTHING: FieldsByName = new Map()

/** Milliseconds after which it is asked again who calls: a token may have been withdrawn. */
const CALLER_MS = 1000
/** Milliseconds for which a connection is kept whose request isn't wanted any more, so that the answer arrives. */
const GOODBYE_MS = 1000

/** Gives what reads the lines of one stream. `calls`: as the caller may make them now. */
type ReaderOf = (c: Context<Env>, valueOf: (line: Buffer) => unknown) => (line: Buffer, calls: Calls) => LineRequest

export function addBatch(app: Hono<Env>, parts: BatchParts): void {
  const streams = new Set<LineStream>()
  const bound = new CountBound({ limit: parts.maxStreams, what: 'streams of lines' })
  parts.stopping.addEventListener('abort', () => {
    for (const stream of streams) stream.stop()
  })
  addStream(app, parts, { call: SEND_EVENTS, streams, bound, readerOf: events })
  addStream(app, parts, { call: EXECUTES, streams, bound, readerOf: starts })
}

interface Streaming {
  readonly call: StreamCall
  readonly streams: Set<LineStream>
  readonly bound: CountBound
  readonly readerOf: ReaderOf
}

function addStream(app: Hono<Env>, parts: BatchParts, { call, streams, bound, readerOf }: Streaming): void {
  const { api, callerOf, answers, inFlight, clock, stopping, maxBody } = parts
  app.post(call.route, (c) => {
    const { role } = call.each
    const caller = callerOf(c, role)
    const format = acceptedLines(c)
    readQuery(c.req.url, NOTHING)
    if (c.req.header('idempotency-key') !== undefined)
      throw malformed('Idempotency-Key is for single calls: a line has a key of its own')
    typeOfBody(c, LINES)
    const coding = codingOf(c)
    if (stopping.aborted) throw overloaded('the server is stopping')
    const scope = scopeOfToken(caller.name)
    bound.take(scope)
    const minimal = wantsMinimal(headerOf(c, 'prefer'))
    const nextCall = callsOf({ c, api, callerOf, role, clock, caller })
    const read = readerOf(c, (line) => decodeJson(bodyText(line), parts))
    const stream = new LineStream({
      read(line) {
        const calls = nextCall()
        if (line instanceof FluxError) throw line
        return read(line, calls)
      },
      open: (events) => openSource(c, coding, events),
      failureOf: failureLog(c, parts.log),
      minimal,
      maxBody,
      inFlight,
      clock,
      idleMs: parts.requestTimeout,
    })
    streams.add(stream)
    const end = () => {
      if (streams.delete(stream)) bound.release(scope)
      stream.stop()
    }
    if (socketed(c)) watch(c, { parts, end })
    return answers.stream(
      c,
      async () => {
        const bytes = await stream.take()
        if (bytes === null) end()
        return bytes
      },
      answers.hold(),
      {
        headers: {
          'content-type': format.type,
          'cache-control': 'no-store',
          vary: 'Accept, Prefer',
          ...NOSNIFF,
          ...quotaHeaders(c),
          ...(minimal && { 'preference-applied': 'return=minimal' }),
        },
      },
    )
  })
}

/** @throws FluxError `notAcceptable` */
function acceptedLines(c: Context<Env>): Format {
  const format = negotiate(headerOf(c, 'accept'), LINES)
  if (format === null)
    throw new FluxError({ kind: 'notAcceptable', detail: `answers are ${LINES.map(({ type }) => type).join(' or ')}` })
  return format
}

/** The request may take as long as it likes; what is left of it when the answer ends isn't waited for. */
function watch(c: Context<Env>, { parts: { clock }, end }: { parts: BatchParts; end: () => void }): void {
  const { incoming, outgoing } = c.env
  mayComeSlowly(outgoing)
  outgoing.once('close', end)
  outgoing.once('finish', () => {
    const { socket } = incoming
    if (incoming.complete) return
    const callOff = clock.after(GOODBYE_MS, () => socket.destroySoon())
    socket.once('close', callOff)
  })
}

interface Calling extends Pick<BatchParts, 'api' | 'callerOf' | 'clock'> {
  readonly c: Context<Env>
  readonly role: Role
  readonly caller: Caller
}

/**
 * Gives what counts a line as a call of its caller. That one throws a FluxError: `rateLimited`, or `unauthorized` once
 * the caller isn't known any more.
 */
function callsOf({ c, api, callerOf, role, clock, caller: first }: Calling): () => Calls {
  let caller = first
  let calls = api(caller, traceOf(c))
  let asked = clock.now()
  return () => {
    const now = clock.now()
    if (now - asked >= CALLER_MS) {
      caller = callerOf(c, role)
      calls = api(caller, traceOf(c))
      asked = now
    }
    caller.quota?.take(1)
    return calls
  }
}

/** RFC 7240, 4.2. */
const wantsMinimal = (prefer = ''): boolean =>
  prefer.split(',').some((preference) => /^return *= *"?minimal"?$/i.test((preference.split(';')[0] ?? '').trim()))

const EVENT_READER = requestReader({ ...CALLS.sendEvent, body: SEND_EVENTS.line })
const START_READER = requestReader({ ...CALLS.execute, body: EXECUTES.line })

const events: ReaderOf = (_, valueOf) => (line, calls) => {
  const fields: CallFields = { waits: true }
  const request = EVENT_READER.finish(fields, { value: valueOf(line), untyped: false })
  return eventLine(calls, { request, fields })
}

const starts: ReaderOf = (c, valueOf) => (line, calls) => {
  const fields: CallFields = { package: c.req.param('package'), waits: true }
  const request = START_READER.finish(fields, { value: valueOf(line), untyped: false })
  return {
    concern: startConcernOf(fields),
    key: request.idempotencyKey ?? null,
    async run() {
      const { answer, replayed } = await calls.call('execute', request)
      const { message: _message, ...told } = answer
      return { answer: { status: 200, ...told, ...(replayed && { replayed }) } }
    },
  }
}
