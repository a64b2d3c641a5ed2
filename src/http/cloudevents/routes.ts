// http: CloudEvents on the event call, by the HTTP binding: binary, structured, and in batches.
import type { Context } from 'hono'
import { CALLS, type Calls } from '../../api/calls.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import type { Caller } from '../../model/caller.ts'
import { FluxError, malformed, unsupportedType, type Failure } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'
import type { Answers } from '../answers/answers.ts'
import { failureLog } from '../answers/failure-log.ts'
import { isForAll, preferEvent, settledEvent, type SettledAnswer } from '../answers/prefer.ts'
import { quotaHeaders } from '../request/quotas.ts'
import { requestReader } from '../request/reader.ts'
import { eventLine } from '../batch/concern.ts'
import { Lanes } from '../batch/lanes.ts'
import { refusedLineOf, type LineRequest } from '../batch/line-stream.ts'
import { JSON_FORMAT } from '../formats/codecs.ts'
import { negotiate } from '../formats/negotiate.ts'
import { NOSNIFF } from '../formats/problem.ts'
import { formatOfBody, parseBody, type BodyLimits } from '../request/body.ts'
import type { CallFields, FieldsByName } from '../request/call-fields.ts'
import { headerOf, readBytes, type Env } from '../request/incoming.ts'
import { readQuery } from '../request/query.ts'
import { bodyOfEvent, bodyOfStructured, type Decode, type EventBody } from './event.ts'
import { problemAsSent } from './problem-as-sent.ts'

export interface CloudEventParts extends BodyLimits {
  readonly inFlight: ByteBudget
  readonly answers: Answers
  readonly log: Log
}

type Mode = 'binary' | 'structured' | 'batch'

/** Events of a batch. */
const MAX_BATCH_EVENTS = 1000
/** Those of them that are under way at once. */
const AT_ONCE = 256

const PREFIX = 'application/cloudevents'
const HEADERS = { 'content-type': JSON_FORMAT.answerType, 'cache-control': 'no-store', vary: 'Accept', ...NOSNIFF }
const NOTHING: FieldsByName = new Map()
const NO_FIELDS: ReadonlySet<string> = new Set()
const READER = requestReader(CALLS.sendEvent)

/** How the request has CloudEvents; null: it has none. @throws FluxError `unsupportedType` for another format of them */
export function modeOf(c: Context<Env>): Mode | null {
  const type = headerOf(c, 'content-type')
  if (type !== undefined && type.length >= PREFIX.length && type.slice(0, PREFIX.length).toLowerCase() === PREFIX) {
    const [bare = ''] = type.slice(PREFIX.length).toLowerCase().split(';', 1)
    if (bare.trim() === '+json') return 'structured'
    if (bare.trim() === '-batch+json') return 'batch'
    throw unsupportedType(`CloudEvents must be ${PREFIX}+json or ${PREFIX}-batch+json, or in headers`)
  }
  return headerOf(c, 'ce-specversion') !== undefined ||
    headerOf(c, 'ce-id') !== undefined ||
    headerOf(c, 'ce-type') !== undefined ||
    headerOf(c, 'ce-source') !== undefined
    ? 'binary'
    : null
}

interface Answering {
  readonly caller: Caller
  readonly calls: Calls
  readonly parts: CloudEventParts
}

/** Answers a request that has CloudEvents. @throws FluxError */
export async function answerCloudEvents(
  c: Context<Env>,
  mode: Mode,
  { caller, calls, parts }: Answering,
): Promise<Response> {
  if (negotiate(headerOf(c, 'accept'), [JSON_FORMAT]) === null)
    throw new FluxError({ kind: 'notAcceptable', detail: `the answer to CloudEvents is ${JSON_FORMAT.type}` })
  if (c.req.header('idempotency-key') !== undefined)
    throw malformed('a CloudEvent has a key of its own: Idempotency-Key must not be given')
  const { answers, inFlight, maxBody } = parts
  const decode: Decode = (bytes, format) => parseBody(bytes, format, parts)
  const hold = inFlight.hold()
  const read = <T>(use: (bytes: Buffer) => T | Promise<T>) => readBytes(c, { limit: maxBody, charge: hold.resize }, use)
  try {
    let answer: object
    let [status, more] = [200, {}]
    if (mode === 'batch') {
      readQuery(c.req.url, NOTHING)
      answer = await read((bytes) => {
        const { value } = decode(bytes, formatOfBody(c))
        return sendAll(value, { caller, calls, decode, failureOf: failureLog(c, parts.log) })
      })
    } else {
      const fields = READER.begin(c)
      const body = await read((bytes) => (mode === 'binary' ? binary(c, bytes, decode) : structured(c, bytes, decode)))
      const inQuery = new Set(Object.keys(fields).filter((name) => body.value[name] === undefined))
      Object.assign(fields, preferEvent(c))
      const { request, sent } = await inItsNames(inQuery, async () => {
        const checked = requestOf(fields, body)
        return { request: checked, sent: await calls.call('sendEvent', checked) }
      })
      const settled = settledEvent(c, sent, { calls, hold, isForAll: isForAll(request) })
      const { answer: told, status: given = 200, headers }: SettledAnswer = (await settled) ?? sent
      ;[answer, status] = [told, given]
      more = { ...headers, ...(sent.replayed && { 'idempotency-replayed': 'true' }) }
    }
    return await answers.send(c, answer, JSON_FORMAT.pieces(answer, ''), {
      status,
      headers: { ...HEADERS, ...quotaHeaders(c), ...more },
    })
  } finally {
    hold.release()
  }
}

/** @throws FluxError */
const requestOf = (fields: CallFields, body: EventBody) =>
  READER.finish(Object.assign(fields, { cloudEventId: body.eventId }), body)

/** What is refused is reported in the names that the sender knows. */
async function inItsNames<T>(inQuery: ReadonlySet<string>, send: () => Promise<T>): Promise<T> {
  try {
    return await send()
  } catch (error) {
    throw problemAsSent(error, inQuery)
  }
}

const structured = (c: Context<Env>, bytes: Buffer, decode: Decode): EventBody =>
  bodyOfStructured(decode(bytes, formatOfBody(c)).value, decode)

/** Attributes are headers, and the body is the data. */
function binary(c: Context<Env>, bytes: Buffer, decode: Decode): EventBody {
  const attributes: { [name: string]: string } = {}
  for (const [name, value] of c.req.raw.headers)
    if (name.startsWith('ce-')) attributes[name.slice('ce-'.length)] = attributeOf(name, value)
  if (bytes.length === 0) return bodyOfEvent(attributes, { value: undefined, untyped: false })
  const { value, untyped } = decode(bytes, formatOfBody(c))
  return bodyOfEvent(attributes, { value: value ?? undefined, untyped })
}

/** CloudEvents, HTTP binding, 3.1.3.2. */
function attributeOf(name: string, value: string): string {
  const bare = /^".*"$/s.test(value) ? value.slice(1, -1).replaceAll(/\\(.)/gs, '$1') : value
  try {
    return decodeURIComponent(bare)
  } catch {
    throw malformed(`the header ${name} has a malformed escape`)
  }
}

interface Sending {
  readonly caller: Caller
  readonly calls: Calls
  readonly decode: Decode
  readonly failureOf: (error: unknown) => Failure
}

/** Each by itself, in order where they are for the same context. Gives their answers in order. */
async function sendAll(events: unknown, { caller, calls, decode, failureOf }: Sending): Promise<object[]> {
  if (!Array.isArray(events)) throw malformed('a batch must be a list of CloudEvents')
  if (events.length > MAX_BATCH_EVENTS)
    throw new FluxError({ kind: 'tooLarge', detail: `a batch has at most ${MAX_BATCH_EVENTS} CloudEvents` })
  const answers: object[] = []
  let wake: (() => void) | null = null
  const lanes = new Lanes({ atOnce: AT_ONCE, onRoom: () => wake?.() })
  const room = () =>
    new Promise<void>((resolve) => {
      wake = resolve
    })
  const refuse = (n: number, error: unknown) => {
    answers[n] = refusedLineOf(n, failureOf(problemAsSent(error, NO_FIELDS)))
  }
  const run = async (n: number, { run: send }: LineRequest, placed: () => void) => {
    try {
      const { answer, ended } = await send(placed)
      answers[n] = { n, ...answer }
      // Those behind it wait for that.
      if (n < events.length - 1) await ended
    } catch (error) {
      refuse(n, error)
    }
  }
  for (const [n, event] of events.entries()) {
    try {
      caller.quota?.take(1)
      const fields: CallFields = { waits: true }
      const request = requestOf(fields, bodyOfStructured(event, decode))
      const line = eventLine(calls, { request, fields })
      while (lanes.isFull) await room()
      lanes.add({ ...line, run: (placed) => run(n, line, placed) })
    } catch (error) {
      refuse(n, error)
    }
  }
  while (!lanes.isIdle) await room()
  return answers
}
