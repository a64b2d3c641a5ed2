// engine/calls: the calls that start a context, or do something with one, and answer when that is committed.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Address } from '../../api/address.ts'
import type { AnswerKind } from '../../api/call.ts'
import { CALLS, type CheckedCall, type Told } from '../../api/calls.ts'
import { COMMANDS, type Command, type ExecuteAnswer, type RetryAnswer } from '../../api/commands.ts'
import type { MessageAnswer } from '../../api/fields.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError, malformed, notFound } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { addresseeOfNew, rowKeyOf } from '../idempotency/kept-answer.ts'
import type { Input } from '../interpreter/decision.ts'
import { messageOf } from '../operations/operation-run.ts'
import { decodeHead } from '../record/decode.ts'
import { RowTaken, type MessageOptions, type MessageOutcome, type RowsOf } from '../turn/message.ts'
import { holderIn, type RootRequest } from '../turn/start-request.ts'
import type { StartOptions } from '../turn/mailboxes.ts'
import { addresseeOf, contextIdOf, faultOfService, sendTo, serviceNamed } from './address.ts'
import { admitted, checkedInput, checkedTags, isRefusable, requireRole, type CallEnv } from './call-env.ts'

/** See `FluxApi`. */
export async function execute(env: CallEnv, request: CheckedCall<'execute'>): Promise<Told<ExecuteAnswer>> {
  const { idempotencyKey } = request
  const { input, isLarge } = checkedInput(request.input)
  const wanted = wantedOf(request, input, checkedTags(env, request.tags, '/tags'))
  if (isLarge) await nextTurn()
  if (idempotencyKey != null) return executeOnce(env, wanted, idempotencyKey)
  try {
    return { answer: await start(env, wanted, requestOf(env, wanted)) }
  } catch (error) {
    return { answer: usedAnswer(wanted, error) }
  }
}

type Wanted = ReturnType<typeof wantedOf>

function wantedOf(request: CheckedCall<'execute'>, input: JsonObject, tags: readonly string[]) {
  const { package: owner, fluxName, startState, key, existing, untyped = false, waits = false } = request
  return {
    package: owner,
    fluxName,
    startState: startState ?? undefined,
    input,
    untyped,
    waits,
    tags,
    // The service gives its own where none is given.
    key: key ?? undefined,
    existing: existing ?? undefined,
  }
}

function executeOnce(env: CallEnv, wanted: Wanted, key: string): Promise<Told<ExecuteAnswer>> {
  const { untyped: _untyped, waits: _waits, ...content } = wanted
  const call = { scope: env.scope, of: CALLS.execute, key, content }
  let asked: RootRequest
  try {
    asked = requestOf(env, wanted)
  } catch (error) {
    // Where the service is refused, only a start without a key is known as a repeat.
    return env.idempotency.once({ ...call, addressee: null }, () => Promise.reject(error))
  }
  const { addressee, drawn } = addresseeOfNew(env, asked, rowKeyOf(call))
  return env.idempotency.once({ ...call, addressee }, async ({ partition, rowOf }) => {
    const rows: RowsOf = (_, record, __, replaced) => [rowOf(answerOf(env, { record, replaced: replaced ?? null }))]
    try {
      return await start(env, wanted, { ...asked, drawn }, { partition, rows })
    } catch (error) {
      // That a context has the key already is remembered, too.
      const answer = usedAnswer(wanted, error)
      const outcome = await env.store.commit({ writes: [], rows: [rowOf(answer)] })
      if ('row' in outcome) throw new RowTaken(outcome.row)
      return answer
    }
  })
}

function requestOf(env: CallEnv, wanted: Wanted): RootRequest {
  const flux = serviceNamed(env, wanted)
  requireRole(env, flux, 'invoke')
  const { startState, input, untyped, tags, key } = wanted
  const existing = wanted.existing === 'replace' ? { caller: env.caller } : wanted.existing
  const { traceparent } = env
  return { flux, startState, input, untyped, unknown: 'refuse', tags, trigger: null, key, existing, traceparent }
}

async function start(
  env: CallEnv,
  { input, waits }: Wanted,
  request: RootRequest,
  options?: StartOptions,
): Promise<ExecuteAnswer> {
  const isCall = isRefusable(env, waits)
  return answerOf(env, await admitted(env, input, () => env.mailboxes.start(request, { ...options, isCall })))
}

function answerOf(env: CallEnv, { record, replaced }: Pick<MessageOutcome, 'record' | 'replaced'>): ExecuteAnswer {
  const { id, fluxName } = record
  const fault = faultOfService(env, record)
  const message = `started '${fluxName}' as context ${id}${fault === null ? '' : `, as it was loaded before${fault}`}`
  return { message, contextId: id, started: true, ...(replaced && { replaced }) }
}

/** The answer where the context that has the key is used. @throws the error, if it isn't that */
function usedAnswer({ existing, fluxName }: Wanted, error: unknown): ExecuteAnswer {
  const contextId = existing === 'use' ? holderIn(error) : null
  if (contextId === null) throw error
  return { message: `context ${contextId} of '${fluxName}' has the key already`, contextId, started: false }
}

type SentOptions = Pick<MessageOptions, 'rows' | 'rowsAlways'>

/** Sends a message to the context that is named, and gives its id. @throws FluxError when it is refused, or there is none */
async function send(env: CallEnv, address: Address, input: Input, options?: SentOptions): Promise<ContextId> {
  const post = (id: ContextId) => env.mailboxes.post(id, input, { ...options, isCall: !env.isStep })
  const { record, failure } = await sendTo(env, address, post)
  if (failure) throw new FluxError(failure)
  return record.id
}

interface SentOnce<A extends MessageAnswer> {
  readonly of: AnswerKind<A>
  /** Left out, or null: the message is sent each time. */
  readonly key: string | null | undefined
  readonly address: Address
  /** What is asked of the context that the address names; left out: there is nothing more to say. */
  readonly asked?: object | undefined
  /** All that may be refused of the context belongs here: a repeat is answered though the context is gone. */
  readonly send: (options?: SentOptions) => Promise<ContextId>
  readonly answerOf: (id: ContextId) => A
}

/** Sends the message of a command; with a key, once. @throws FluxError when the message is refused, and as `Idempotency.once` */
async function sendOnce<A extends MessageAnswer>(
  env: CallEnv,
  { of, key, address, asked, send, answerOf }: SentOnce<A>,
): Promise<Told<A>> {
  if (key == null) return { answer: answerOf(await send()) }
  const [addressee, content] = [addresseeOf(env, address, 'invoke'), { ...address, ...asked }]
  return env.idempotency.once({ scope: env.scope, of, key, addressee, content }, async ({ rowOf }) => {
    // A call that finds that nothing is to be done is answered 2xx, too, and remembered.
    const rows: RowsOf = ({ kind }, { id }) => (kind === 'refused' ? [] : [rowOf(answerOf(id))])
    return answerOf(await send({ rows, rowsAlways: true }))
  })
}

/** A call that is told the context, and perhaps tags. `done`: what it did, with these in quotes. */
const giving =
  (
    name: 'terminate' | 'pause' | 'resume' | 'tag' | 'untag',
    of: AnswerKind<MessageAnswer>,
    done: (tags: string) => string,
  ) =>
  async (
    env: CallEnv,
    { tag, idempotencyKey: key, ...address }: CheckedCall<'terminate'> & { readonly tag?: readonly string[] },
  ): Promise<Told<MessageAnswer>> => {
    const tags = [...checkedTags(env, tag, '/tag')]
    if (tag && tags.length === 0) throw malformed('no tag is given')
    const command: Command = name === 'tag' || name === 'untag' ? { do: name, with: { tags } } : { do: name, with: {} }
    const names = tags.map((each) => `'${each}'`).join(', ')
    return sendOnce(env, {
      of,
      key,
      address,
      asked: tag && { tags },
      send: (options) => send(env, address, messageOf(command, { caller: env.caller }), options),
      answerOf: (id) => ({ message: `${done(names)} context ${id}` }),
    })
  }

export const terminate = giving('terminate', CALLS.terminate, () => 'terminated')
export const pause = giving('pause', CALLS.pause, () => 'paused')
export const resume = giving('resume', CALLS.resume, () => 'resumed')
export const addTags = giving('tag', CALLS.addTags, (names) => `added ${names} to`)
export const removeTags = giving('untag', CALLS.removeTags, (names) => `removed ${names} from`)

export async function retry(
  env: CallEnv,
  { state, input: given, definition, newKey, idempotencyKey: key, untyped = false, ...address }: CheckedCall<'retry'>,
): Promise<Told<RetryAnswer>> {
  const input = given == null ? null : checkedInput(given).input
  const asked = { state: state ?? null, input, definition: definition ?? null, newKey: newKey ?? false }
  return admitted(env, input ?? {}, () =>
    sendOnce(env, {
      of: CALLS.retry,
      key,
      address,
      asked,
      async send(options) {
        const contextId = await contextIdOf(env, address, COMMANDS.retry.role)
        const seen = await positionOf(env, contextId)
        return send(
          env,
          { contextId },
          messageOf({ do: 'retry', with: asked }, { caller: env.caller, untyped, seen }),
          options,
        )
      },
      answerOf: (contextId) => ({ message: `retried context ${contextId}`, contextId }),
    }),
  )
}

/** Of several that see the same position, one retries the context. */
async function positionOf({ store }: CallEnv, id: ContextId) {
  const stored = await store.load({ id })
  if (!stored) throw notFound(`there is no context ${id}`)
  const { epoch, attempt } = decodeHead(stored).position
  return { epoch, attempt }
}
