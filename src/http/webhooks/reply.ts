// http: writes what an endpoint answers as an HTTP response. A repeat gets the same one.
import type { Context } from 'hono'
import { FluxError, type Failure } from '../../model/failure.ts'
import type { HandshakeAnswer } from '../../model/webhook-schemes/scheme.ts'
import type { WebhookAnswer } from '../../model/webhook.ts'
import type { Log } from '../../ports/log.ts'
import type { Answers } from '../answers/answers.ts'
import type { Codec } from '../formats/codecs.ts'
import type { Env } from '../request/incoming.ts'
import { pathShown } from '../socket/access-log.ts'
import { noteReplay, REPLAYED } from './replay-header.ts'
import { bodyOf, responseOf, type ResponseBody } from './response.ts'
import { UnsafeResponse } from './response-fields.ts'
import type { DoorReply, Visit } from './visit.ts'

export interface ReplyOptions extends Pick<Visit, 'format' | 'keyed'> {
  readonly log: Log
  readonly answers: Answers
  /** Writes a problem. */
  readonly refuse: (c: Context<Env>, failure: Failure) => Response
}

/** @throws FluxError for a workflow that failed, is late, or gave an answer that can't be sent */
export async function respond(
  c: Context<Env>,
  reply: DoorReply,
  { format, log, answers, keyed, refuse }: ReplyOptions,
): Promise<Response> {
  if ('refusal' in reply) return refuse(c, reply.refusal)
  if ('handshake' in reply) return handshaken(reply.handshake)
  const { answer, replayed } = reply
  const isTold = keyed && replayed
  if (isTold) noteReplay(c)
  // A repeat is no news.
  if (answer.kind === 'failed' && !replayed)
    log.warn('the workflow behind a webhook failed', {
      contextId: answer.contextId,
      path: pathShown(c),
      reason: answer.reason,
    })
  try {
    const { content, init } = bodyOfAnswer(answer, format)
    const whole = isTold ? { ...init, headers: withReplayed(init.headers) } : init
    if (content === null) return new Response(null, whole)
    if ('bytes' in content) return answers.bytes(c, content.bytes, whole)
    return await answers.send(c, content.value, content.pieces, whole)
  } catch (error) {
    if (!(error instanceof UnsafeResponse) || !('contextId' in answer)) throw error
    const { contextId } = answer
    log.error("the answer of a webhook can't be sent", { contextId, path: pathShown(c), reason: error.message })
    const detail = "the workflow gave an answer that can't be sent"
    throw new FluxError({ kind: 'webhookFailed', detail, contextId })
  }
}

const handshaken = ({ status, contentType, text }: HandshakeAnswer): Response =>
  new Response(text, { status, headers: { 'Content-Type': contentType } })

/** @throws FluxError where the answer is a problem; UnsafeResponse */
function bodyOfAnswer(answer: WebhookAnswer, format: Codec): ResponseBody {
  switch (answer.kind) {
    case 'response':
      return responseOf(answer.response, format)
    case 'outputs':
      return bodyOf(answer.value, { status: 200, headers: [], format, always: true })
    case 'nothing':
    case 'filtered':
      return { content: null, init: { status: 204, headers: {} } }
    case 'paused':
    case 'accepted': {
      const { contextId, status } = answer
      const location = `/flux-api/context?contextId=${contextId}`
      return bodyOf({ contextId, status }, { status: 202, headers: [['Location', location]], format })
    }
    case 'running':
      return bodyOf({ contextId: answer.contextId }, { status: 202, headers: [], format })
    case 'sent': {
      const { eventId, contextIds } = answer
      return bodyOf({ eventId, contextIds: [...contextIds] }, { status: 200, headers: [], format })
    }
    case 'failed':
      throw new FluxError({ kind: 'webhookFailed', detail: 'the workflow failed', contextId: answer.contextId })
    case 'late':
      throw new FluxError({
        kind: 'webhookTimeout',
        detail: 'the workflow did not finish in time, and continues',
        contextId: answer.contextId,
      })
  }
}

const withReplayed = (headers: ResponseBody['init']['headers']): ResponseBody['init']['headers'] =>
  Array.isArray(headers) ? [...headers, ...Object.entries(REPLAYED)] : { ...headers, ...REPLAYED }
