// engine/calls: the calls that start a context, or do something with one, and answer when that is committed.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Address } from '../../api/fields.ts'
import type { AnswerKind } from '../../api/call.ts'
import { CALLS, type AnswerTo, type CheckedCall, type Told } from '../../api/calls.ts'
import type { Command, ExecuteAnswer } from '../../api/commands.ts'
import type { MessageAnswer } from '../../api/fields.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError, malformed, notFound } from '../../model/failure.ts'
import { addresseeOfNew, rowKeyOf } from '../idempotency/kept-answer.ts'
import type { Input } from '../interpreter/decision.ts'
import { messageOf } from '../operations/operation-run.ts'
import { decodeHead } from '../record/decode.ts'
import { RowTaken, type MessageOptions, type MessageOutcome, type RowsOf } from '../turn/message.ts'
import { holderIn, type RootRequest } from '../turn/start-request.ts'
import type { StartOptions } from '../turn/mailboxes.ts'
import { addresseeOf, faultOfService, sendTo, serviceNamed } from './address.ts'
import { admitted, checkedInput, checkedTags, isRefusable, requireRole, type CallEnv } from './call-env.ts'

/** See `FluxApi`. */
export async function execute(env: CallEnv, request: CheckedCall<'execute'>): Promise<Told<ExecuteAnswer>> {
  const { package: owner, fluxName, idempotencyKey, untyped = false, waits = false } = request
  const { input, isLarge } = checkedInput(request.input)
  const tags = checkedTags(env, request.tags, '/tags')
  const startState = request.startState ?? undefined
  // The service gives its own where none is given.
  const key = request.key ?? undefined
  const existing = request.existing ?? undefined
  if (isLarge) await nextTurn()

  const requestOf = (): RootRequest => {
    const flux = serviceNamed(env, request)
    requireRole(env, flux, 'invoke')
    const how = existing === 'replace' ? { caller: env.caller } : existing
    const { traceparent } = env
    return { flux, startState, input, untyped, unknown: 'refuse', tags, trigger: null, key, existing: how, traceparent }
  }
  const start = async (asked: RootRequest, options?: StartOptions): Promise<ExecuteAnswer> => {
    const isCall = isRefusable(env, waits)
    return answerOf(env, await admitted(env, input, () => env.mailboxes.start(asked, { ...options, isCall })))
  }
  /** The answer where the context that has the key is used. @throws the error, if it isn't that */
  const usedAnswer = (error: unknown): ExecuteAnswer => {
    const contextId = existing === 'use' ? holderIn(error) : null
    if (contextId === null) throw error
    return { message: `context ${contextId} of '${fluxName}' has the key already`, contextId, started: false }
  }

  if (idempotencyKey == null)
    try {
      return { answer: await start(requestOf()) }
    } catch (error) {
      return { answer: usedAnswer(error) }
    }
  const content = { package: owner, fluxName, startState, input, tags, key, existing }
  const call = { scope: env.scope, of: CALLS.execute, key: idempotencyKey, content }
  // Where the service is refused, only a start without a key is known as a repeat.
  let addressed: ReturnType<typeof addresseeOfNew> = { addressee: null }
  try {
    addressed = addresseeOfNew(env, requestOf(), rowKeyOf(call))
  } catch {
    // It is refused again below.
  }
  const { addressee, drawn } = addressed
  return env.idempotency.once({ ...call, addressee }, async ({ partition, rowOf }) => {
    const rows: RowsOf = (_, record, __, replaced) => [rowOf(answerOf(env, { record, replaced: replaced ?? null }))]
    try {
      return await start({ ...requestOf(), drawn }, { partition, rows })
    } catch (error) {
      // That a context has the key already is remembered, too.
      const answer = usedAnswer(error)
      const outcome = await env.store.commit({ writes: [], rows: [rowOf(answer)] })
      if ('row' in outcome) throw new RowTaken(outcome.row)
      return answer
    }
  })
}

function answerOf(env: CallEnv, { record, replaced }: Pick<MessageOutcome, 'record' | 'replaced'>) {
  const { id, fluxName } = record
  const fault = faultOfService(env, record)
  const message = `started '${fluxName}' as context ${id}${fault === null ? '' : `, as it was loaded before${fault}`}`
  return { message, contextId: id, started: true, ...(replaced && { replaced }) }
}

/**
 * Sends the message of a command; with a key, once. `asked`: the rest of the request. Whatever may be refused because
 * of the context belongs into `messageTo`, since a repeat is answered even if the context is gone.
 * @throws FluxError when the message is refused, and as `Idempotency.once`
 */
async function sendCommand<A extends MessageAnswer>(
  env: CallEnv,
  of: AnswerKind<A>,
  {
    key,
    address,
    asked,
  }: { readonly key: string | null | undefined; readonly address: Address; readonly asked?: object | undefined },
  messageTo: (id: ContextId) => Promise<Input>,
  answer: (id: ContextId) => A,
) {
  const send = async (options?: Pick<MessageOptions, 'rows' | 'rowsAlways'>): Promise<A> => {
    const { record, failure } = await sendTo(env, address, async (id) =>
      env.mailboxes.post(id, await messageTo(id), { ...options, isCall: !env.isStep }),
    )
    if (failure) throw new FluxError(failure)
    return answer(record.id)
  }
  if (key == null) return { answer: await send() }
  const [addressee, content] = [addresseeOf(env, address, 'invoke'), { ...address, ...asked }]
  return env.idempotency.once({ scope: env.scope, of, key, addressee, content }, ({ rowOf }) => {
    // A call that finds that nothing is to be done is answered 2xx, too, and remembered.
    const rows: RowsOf = ({ kind }, { id }) => (kind === 'refused' ? [] : [rowOf(answer(id))])
    return send({ rows, rowsAlways: true })
  })
}

/** A call for a context, perhaps with tags. `done`: what it did, with these in quotes. */
const giving =
  (
    name: 'terminate' | 'pause' | 'resume' | 'tag' | 'untag',
    of: AnswerKind<MessageAnswer>,
    done: (tags: string) => string,
  ) =>
  async (
    env: CallEnv,
    {
      tag,
      idempotencyKey: key,
      version,
      dryRun: _dryRun,
      assume: _assume,
      ...address
    }: CheckedCall<'terminate'> & { readonly tag?: readonly string[] },
  ): Promise<Told<MessageAnswer>> => {
    const tags = [...checkedTags(env, tag, '/tag')]
    if (tag && tags.length === 0) throw malformed('no tag is given')
    const command: Command = name === 'tag' || name === 'untag' ? { do: name, with: { tags } } : { do: name, with: {} }
    const names = tags.map((each) => `'${each}'`).join(', ')
    return sendCommand(
      env,
      of,
      { key, address, asked: tag && { tags } },
      async () => messageOf(command, { caller: env.caller, version }),
      (id) => ({ message: `${done(names)} context ${id}` }),
    )
  }

export const terminate = giving('terminate', CALLS.terminate, () => 'terminated')
export const pause = giving('pause', CALLS.pause, () => 'paused')
export const resume = giving('resume', CALLS.resume, () => 'resumed')
export const addTags = giving('tag', CALLS.addTags, (names) => `added ${names} to`)
export const removeTags = giving('untag', CALLS.removeTags, (names) => `removed ${names} from`)

export async function retry(
  env: CallEnv,
  {
    state,
    input: given,
    definition,
    newKey,
    idempotencyKey: key,
    version,
    untyped = false,
    dryRun: _dryRun,
    assume: _assume,
    ...address
  }: CheckedCall<'retry'>,
): Promise<Told<AnswerTo<'retry'>>> {
  const input = given == null ? null : checkedInput(given).input
  const asked = { state: state ?? null, input, definition: definition ?? null, newKey: newKey ?? false }
  return admitted(env, input ?? {}, () =>
    sendCommand(
      env,
      CALLS.retry,
      { key, address, asked },
      async (id) => {
        const stored = await env.store.load({ id })
        if (!stored) throw notFound(`there is no context ${id}`)
        // If several callers see the same position, one of them retries the context.
        const { epoch, attempt } = decodeHead(stored).position
        const sent = { caller: env.caller, version, untyped, seen: { epoch, attempt } }
        return messageOf({ do: 'retry', with: asked }, sent)
      },
      (contextId) => ({ message: `retried context ${contextId}`, contextId }),
    ),
  )
}
