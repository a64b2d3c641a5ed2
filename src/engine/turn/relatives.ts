// engine/turn: what a turn needs of other contexts: the child that it starts or that has ended; the one that has the key of
// a new context, and its end where that is asked for; and of a context that is retried, whether its parent still waits
// for it, whether its key is free, and the definition that it goes on with.
import { outputsOf } from './answer.ts'
import { actionError, type ActionError } from '../../model/action-error.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { Input, DecisionEnv } from '../interpreter/decision.ts'
import { type KnownContexts, Lacking } from './turn-data.ts'
import { secretTextsOf } from '../redact/redactor.ts'
import { type StartRequest, keyInUse } from './start-request.ts'
import { denial } from '../../model/caller.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import type { Failure } from '../../model/failure.ts'
import { invalidInput } from '../interpreter/describe.ts'
import { dataBeforeEnd } from '../interpreter/transit.ts'
import { addressOf, partitionOfKey, usingKey, keptKey, type KeyAddress } from '../record/context-key.ts'
import { repinned } from '../record/repin.ts'
import type { TrackedContext, Applied } from './message.ts'

/** Maximum number of ancestors of a context. */
const MAX_DEPTH = 32

interface Family {
  readonly record: ContextRecord
  readonly flux: CompiledFlux
}

/** The request to start a service as a child of a context, or the error with which the parent's action fails. */
export function childRequestOf(
  { record }: Pick<Family, 'record'>,
  { name, input }: { readonly name: string; readonly input: JsonObject },
  atHand: Pick<KnownContexts, 'service'>,
): StartRequest | ActionError {
  const { id, package: own, parent, position } = record
  const depth = (parent?.depth ?? 0) + 1
  if (depth > MAX_DEPTH)
    return actionError('InvocationTooDeep', `services invoke one another more than ${MAX_DEPTH} deep`)
  const flux = atHand.service(own, name)
  if (flux === undefined) return actionError('ServiceNotFound', `there is no service '${name}'`)
  if (flux === 'ambiguous') return actionError('ServiceNotFound', `several packages have a service '${name}'`)
  return {
    flux,
    input,
    untyped: false,
    unknown: 'refuse',
    tags: [],
    trigger: null,
    parent: { id, epoch: position.epoch, depth },
    inherited: secretTextsOf(record),
    partition: id,
    traceparent: record.traceparent,
  }
}

/** The error with which the parent's action fails if the child cannot be started. */
export const notStarted = (name: string, reason: string): ActionError =>
  actionError('InvalidInput', `'${name}' can't be started: ${reason}`)

/**
 * The message to a parent that waits for the child; null: the child has not ended.
 * @param child null: the context no longer exists
 */
export function childResultOf({ child: id, position }: ContextRecord, child: Family | null): Input | null {
  const { epoch, attempt } = position
  const fail = (error: ActionError): Input => ({ type: 'FAIL', epoch, attempt, error })
  if (!child) return fail(actionError('ServiceNotFound', `context ${id} is gone`))
  const { status, output, error, fluxName } = child.record
  switch (status) {
    case 'COMPLETED':
      return { type: 'DONE', epoch, attempt, result: outputsOf(child.flux, output) }
    case 'TERMINATED':
      return fail(actionError('ServiceTerminated', `'${fluxName}' (context ${id}) was terminated`))
    case 'FAILED':
      return fail({
        ...actionError('ServiceFailed', error?.message ?? 'failed'),
        realException: { contextId: id, ...error },
      })
    default:
      return null
  }
}

interface Family {
  readonly record: ContextRecord
  readonly flux: CompiledFlux
}

/** The unit of work of the turn. */
interface Work {
  find(id: ContextId): TrackedContext | null
  apply(context: TrackedContext, input: Input): Applied
}

interface RetryParts {
  readonly work: Work
  readonly atHand: KnownContexts
  readonly env: DecisionEnv
}

type Retry = Input & { readonly type: 'RETRY' }

/** The definition that a context is retried with, and the environment of the decision. @throws Lacking */
export function retryEnvOf(
  { record, flux }: Family,
  message: Retry,
  { work, atHand, env }: RetryParts,
): { readonly flux: CompiledFlux; readonly env: DecisionEnv } {
  // A decision without these facts refuses what can't be retried.
  if (!isFinished(record.status) || record.status === 'COMPLETED') return { flux, env }
  if (flux.secured && denial(message.caller, 'admin')) return { flux, env }
  const [failure, known] = [goneOn(record, work) ?? keyTaken(record, atHand), { record, flux }]
  const fitted = failure ? { failure } : message.definition === 'current' ? currentOf(known, atHand, env.now) : known
  return { flux: 'failure' in fitted ? flux : fitted.flux, env: { ...env, retry: fitted } }
}

/**
 * A context is retried. Its parent, if it has one, waits for it anew: the parent is written in the same commit, which
 * fails if the parent has gone on meanwhile.
 */
export function goOnWith(context: TrackedContext, flux: CompiledFlux, work: Work): void {
  const { parent, status } = context.record
  if (flux !== context.flux) context.fluxBefore = context.flux
  context.flux = flux
  const waiting = parent && isFinished(status) ? work.find(parent.id) : null
  if (!waiting) return
  waiting.record = { ...waiting.record }
  waiting.isNotified = true
}

/** The record as the definition that is loaded now continues it; or why that can't be. @throws Lacking */
function currentOf(
  { record, flux: pinned }: Family,
  atHand: KnownContexts,
  now: number,
): Family | { readonly failure: Failure } {
  const flux = atHand.service(record.package, record.fluxName)
  if (flux === undefined || flux === 'ambiguous' || flux.package !== record.package)
    return { failure: notLoaded(record) }
  if (flux.hash === record.definition) return { record, flux: pinned }
  if (!atHand.isPinned(flux)) throw new Lacking({ kind: 'definition', flux })
  const fitted = repinned(dataBeforeEnd(record), pinned, flux, now)
  return 'errors' in fitted ? { failure: invalidInput(fitted.errors) } : { record: fitted.record, flux }
}

/** A child goes on only while its parent waits for it. */
function goneOn({ id, parent }: ContextRecord, work: Work): Failure | null {
  if (parent === null) return null
  const { record } = work.find(parent.id) ?? {}
  if (record?.child === id && record.position.epoch === parent.epoch) return null
  return { kind: 'conflict', detail: `context ${id} can't be retried: its parent, context ${parent.id}, has gone on` }
}

/** Another context may have got its key since it ended. @throws Lacking */
function keyTaken(record: ContextRecord, atHand: KnownContexts): Failure | null {
  const address = addressOf(record)
  if (address === null) return null
  const holder = holderWith(usingKey(address), address, atHand)
  return holder === null || holder === record.id ? null : keyInUse(address, holder)
}

function notLoaded({ package: owner, fluxName }: ContextRecord): Failure {
  const detail = `no service '${fluxName}' of the package '${owner}' is loaded`
  return { kind: 'invalid', detail, errors: [{ pointer: '/definition', detail }] }
}

/** The context because of which a new one can't have the key; null: there was none. @throws Lacking */
export const holderOf = (address: KeyAddress, { keyReuse }: CompiledFlux, atHand: KnownContexts): ContextId | null =>
  holderWith(keyReuse === 'never' ? keptKey(address) : usingKey(address), address, atHand)

/** The newest context that has that index key of the address. @throws Lacking */
function holderWith(key: string, address: KeyAddress, atHand: KnownContexts): ContextId | null {
  const holder = atHand.holder(key)
  if (holder !== undefined) return holder
  throw new Lacking({ kind: 'holder', key, partition: partitionOfKey(address, atHand.partitions) })
}

/**
 * Ends the context that has the key, if that is asked for. A key that isn't free while an ended context of it is kept
 * can't be had by that. Whether any other key is in use, the commit finds out. @throws Lacking
 */
export function makeRoom(
  address: KeyAddress,
  { flux, existing }: StartRequest,
  work: Work,
  atHand: KnownContexts,
): { readonly replaced: ContextId | null } | { readonly failure: Failure } {
  const isReplaced = typeof existing === 'object'
  if (!isReplaced && flux.keyReuse === 'ended') return NOBODY
  const id = holderOf(address, flux, atHand)
  if (id === null) return NOBODY
  const refusal = { failure: keyInUse(address, id) }
  if (!isReplaced || flux.keyReuse === 'never') return refusal
  const context = work.find(id)
  if (!context || context.flux.keyReuse === 'never') return refusal
  if (isFinished(context.record.status)) return NOBODY
  const applied = work.apply(context, { type: 'TERMINATE', caller: existing.caller })
  return applied.kind === 'refused' ? applied : { replaced: id }
}

const NOBODY = { replaced: null }
