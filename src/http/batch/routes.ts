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
import { acceptedOf, callHeaders } from '../answers/answer-format.ts'
import { failureLog } from '../answers/failure-log.ts'
import { prefersMinimal } from '../answers/prefer.ts'
import { requestReader } from '../request/reader.ts'
import { decodeJson } from '../formats/json/decode.ts'
import type { Format } from '../formats/negotiate.ts'
import { typeOfBody, type BodyAdmission, type BodyLimits } from '../request/body.ts'
import { bodyText } from '../request/text.ts'
import type { CallFields } from '../request/call-fields.ts'
import { socketed, type Env } from '../request/incoming.ts'
import { traceOf } from '../socket/observe.ts'
import { readQuery } from '../request/query.ts'
import { mayComeSlowly } from '../socket/connections.ts'
import { eventLine, orderingKeyOf, type LineRequest } from './event-line.ts'
import { NdjsonSession } from './ndjson-session.ts'
import { isGzip, openSource } from './source.ts'

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

/** Milliseconds after which the caller is identified again: a token may have been withdrawn. */
const CALLER_MS = 1000
/** Milliseconds for which a connection is kept whose request isn't wanted any more, so that the answer arrives. */
const GOODBYE_MS = 1000

/** Reads a line. */
type LineReader = (c: Context<Env>, value: unknown, calls: Calls) => LineRequest

export function addBatch(app: Hono<Env>, parts: BatchParts): void {
  const { api, callerOf, answers, clock, stopping, log } = parts
  const sessions = new Set<NdjsonSession>()
  const bound = new CountBound({ limit: parts.maxStreams, what: 'streams of lines' })
  stopping.addEventListener('abort', () => {
    for (const session of sessions) session.stop()
  })
  const add = ({ route, each: { role } }: StreamCall, readLine: LineReader) =>
    app.post(route, (c) => {
      let caller = callerOf(c, role)
      const format = acceptedOf(c, LINES)
      readQuery(c.req.url)
      if (c.req.header('idempotency-key') !== undefined)
        throw malformed('Idempotency-Key is for single calls: a line has a key of its own')
      if (c.req.header('if-match') !== undefined) throw malformed('If-Match is for single calls: a line has `version`')
      typeOfBody(c, LINES)
      const isPacked = isGzip(c)
      if (stopping.aborted) throw overloaded('the server is stopping')
      const scope = scopeOfToken(caller.name)
      bound.take(scope)
      const minimal = prefersMinimal(c)
      const trace = traceOf(c)
      let asked = clock.now()
      const session = new NdjsonSession({
        ...parts,
        read(line) {
          if (clock.now() - asked >= CALLER_MS) {
            caller = callerOf(c, role)
            asked = clock.now()
          }
          caller.quota?.take(1)
          if (line instanceof FluxError) throw line
          return readLine(c, decodeJson(bodyText(line), parts), api(caller, trace))
        },
        source: openSource(c, isPacked),
        failureOf: failureLog(c, log),
        minimal,
        idleMs: parts.requestTimeout,
      })
      sessions.add(session)
      const end = () => {
        if (sessions.delete(session)) bound.release(scope)
        session.stop()
      }
      if (socketed(c)) watch(c, clock, end)
      const next = async () => {
        const bytes = await session.take()
        if (bytes === null) end()
        return bytes
      }
      const headers = {
        ...callHeaders(c, { answerType: format.type }),
        vary: 'Accept, Prefer',
        ...(minimal && { 'preference-applied': 'return=minimal' }),
      }
      return answers.stream(c, next, { headers })
    })
  add(SEND_EVENTS, readEvent)
  add(EXECUTES, readStart)
}

/** The request may take as long as it likes; what is left of it when the answer ends isn't waited for. */
function watch({ env: { incoming, outgoing } }: Context<Env>, clock: Clock, end: () => void): void {
  mayComeSlowly(outgoing)
  outgoing.once('close', end)
  outgoing.once('finish', () => {
    const { socket } = incoming
    if (incoming.complete) return
    const callOff = clock.after(GOODBYE_MS, () => socket.destroySoon())
    socket.once('close', callOff)
  })
}

const EVENT_READER = requestReader({ ...CALLS.sendEvent, body: SEND_EVENTS.line })
const START_READER = requestReader({ ...CALLS.execute, body: EXECUTES.line })

const readEvent: LineReader = (_, value, calls) => {
  const fields: CallFields = { waits: true }
  return eventLine(calls, fields, EVENT_READER.finish(fields, { value, untyped: false }))
}

const readStart: LineReader = (c, value, calls) => {
  const fields: CallFields = { package: c.req.param('package'), waits: true }
  const request = START_READER.finish(fields, { value, untyped: false })
  const { idempotencyKey: key = null } = request
  return {
    // A start that may be repeated under a key keeps its order with those under that key.
    orderingKey: orderingKeyOf(fields) ?? (key && JSON.stringify([key])),
    key,
    async run() {
      const { answer, replayed } = await calls.call('execute', request)
      const { message: _message, ...told } = answer
      return { answer: { status: 200, ...told, ...(replayed && { replayed }) } }
    },
  }
}
