// http: CloudEvents on the event call, by the HTTP binding: binary, structured, and in batches.
import type { Context } from 'hono'
import { CALLS, type Calls } from '../../api/calls.ts'
import type { Caller } from '../../model/caller.ts'
import { malformed, tooLarge, unsupportedType } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'
import type { Answers } from '../answers/answers.ts'
import { acceptedOf, callHeaders } from '../answers/answer-format.ts'
import { failureLog } from '../answers/failure-log.ts'
import { isForAll, preferEvent, settledEvent, type SettledAnswer } from '../answers/prefer.ts'
import { requestReader } from '../request/reader.ts'
import { eventLine, refusedLineOf } from '../batch/event-line.ts'
import { KeyedQueue } from '../batch/keyed-queue.ts'
import { JSON_FORMAT } from '../formats/codecs.ts'
import { formatOfBody, parseBody, type BodyAdmission, type BodyLimits } from '../request/body.ts'
import type { CallFields } from '../request/call-fields.ts'
import { headerOf, ifMatchOf, readBytes, requireSingle, type Env } from '../request/incoming.ts'
import { readQuery } from '../request/query.ts'
import { unescaped } from '../request/text.ts'
import { bodyOfEvent, bodyOfStructured, errorAsSent, type EventBody } from './event.ts'

export interface CloudEventParts extends BodyLimits, BodyAdmission {
  readonly answers: Answers
  readonly log: Log
}

type Mode = 'binary' | 'structured' | 'batch'

/** Events of a batch. */
const MAX_BATCH_EVENTS = 1000
/** Those of them that are under way at once. */
const AT_ONCE = 256

const READER = requestReader(CALLS.sendEvent)

const TYPE = /^application\/cloudevents([^;]*)/i
const MODES: { readonly [suffix: string]: Mode } = { '+json': 'structured', '-batch+json': 'batch' }

/** How the request has CloudEvents; null: it has none. @throws FluxError `unsupportedType` for another format of them */
export function modeOf(c: Context<Env>): Mode | null {
  const match = TYPE.exec(headerOf(c, 'content-type') ?? '')
  if (match === null) {
    const named = headerOf(c, 'ce-specversion') ?? headerOf(c, 'ce-id') ?? headerOf(c, 'ce-type')
    return (named ?? headerOf(c, 'ce-source')) === undefined ? null : 'binary'
  }
  const mode = MODES[match[1]?.trim().toLowerCase() ?? '']
  if (mode) return mode
  throw unsupportedType('CloudEvents must be application/cloudevents+json or -batch+json, or in headers')
}

interface Answering {
  readonly caller: Caller
  readonly calls: Calls
  readonly parts: CloudEventParts
}

/** Answers a request that has CloudEvents. @throws FluxError */
export async function answerCloudEvents(c: Context<Env>, mode: Mode, answering: Answering): Promise<Response> {
  const { calls, parts } = answering
  acceptedOf(c, [JSON_FORMAT])
  if (c.req.header('idempotency-key') !== undefined)
    throw malformed('a CloudEvent has a key of its own: Idempotency-Key must not be given')
  const dataOf = (bytes: Buffer) => parseBody(bytes, formatOfBody(c), parts).value
  const hold = parts.inFlight.hold()
  const read = <T>(use: (bytes: Buffer) => T | Promise<T>) =>
    readBytes(c, { limit: parts.maxBody, charge: hold.resize }, use)
  const respond = ({ answer, status = 200, headers }: SettledAnswer) =>
    parts.answers.send(c, answer, JSON_FORMAT, '', { status, headers: { ...callHeaders(c, JSON_FORMAT), ...headers } })
  try {
    if (mode === 'batch') {
      readQuery(c.req.url)
      if (headerOf(c, 'if-match') !== undefined) throw malformed('If-Match is for single events')
      return await respond({ answer: await read((bytes) => sendAll(c, dataOf(bytes), answering)) })
    }
    const fields = READER.begin(c)
    const inQuery = Object.keys(fields)
    const body = await read((bytes) =>
      mode === 'binary' ? binary(c, bytes, parts) : bodyOfStructured(dataOf(bytes), parts),
    )
    Object.assign(fields, preferEvent(c), { version: ifMatchOf(c) })
    try {
      const request = requireSingle(c, requestOf(fields, body))
      const sent = await calls.call('sendEvent', request)
      const settled = sent.rehearsed ? null : await settledEvent(c, sent, isForAll(request), { calls, hold })
      const replayed = sent.replayed && { 'idempotency-replayed': 'true' }
      return await respond({ answer: sent.answer, ...settled, headers: { ...settled?.headers, ...replayed } })
    } catch (error) {
      throw errorAsSent(error, inQuery)
    }
  } finally {
    hold.release()
  }
}

/** @throws FluxError */
const requestOf = (fields: CallFields, body: EventBody) =>
  READER.finish(Object.assign(fields, { cloudEventId: body.eventId }), body)

/** Attributes are headers, and the body is the data. */
function binary(c: Context<Env>, bytes: Buffer, limits: BodyLimits): EventBody {
  const attributes: { [name: string]: string } = {}
  for (const [name, value] of c.req.raw.headers)
    if (name.startsWith('ce-')) attributes[name.slice('ce-'.length)] = attributeOf(name, value)
  if (bytes.length === 0) return bodyOfEvent(attributes, { value: undefined, untyped: false })
  const { value, untyped } = parseBody(bytes, formatOfBody(c), limits)
  return bodyOfEvent(attributes, { value: value ?? undefined, untyped })
}

/** CloudEvents, HTTP binding, 3.1.3.2. */
function attributeOf(name: string, value: string): string {
  const bare = /^".*"$/s.test(value) ? value.slice(1, -1).replaceAll(/\\(.)/gs, '$1') : value
  return unescaped(bare, `an escape in the header ${name}`)
}

/** Sends each by itself, in order where they are for the same context. Gives their answers in order. */
async function sendAll(c: Context<Env>, events: unknown, { caller, calls, parts }: Answering): Promise<object[]> {
  if (!Array.isArray(events)) throw malformed('a batch must be a list of CloudEvents')
  if (events.length > MAX_BATCH_EVENTS) throw tooLarge(`a batch has at most ${MAX_BATCH_EVENTS} CloudEvents`)
  const failureOf = failureLog(c, parts.log)
  const answers: object[] = []
  const queue = new KeyedQueue()
  let sending: Promise<void> | undefined
  for (const [n, event] of events.entries()) {
    const refuse = (error: unknown) => {
      answers[n] = refusedLineOf(n, failureOf(errorAsSent(error)))
    }
    if (n % AT_ONCE === 0) await queue.idle()
    try {
      caller.quota?.take(1)
      const fields: CallFields = { waits: true }
      const line = eventLine(calls, fields, requestOf(fields, bodyOfStructured(event, parts)))
      await sending
      await queue.begin(line, async (placed) => {
        try {
          const { answer, ended } = await line.run(placed)
          answers[n] = { n, ...answer }
          if (ended) sending = ended
        } catch (error) {
          refuse(error)
        }
      })
    } catch (error) {
      refuse(error)
    }
  }
  await queue.idle()
  return answers
}
