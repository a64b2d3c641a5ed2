// engine/turn: what a turn needs of other contexts: the child that it starts or that has ended; the one that has the
// key of a new context, and its end where that is asked for; and of a context that is retried, whether its parent still
// waits for it, whether its key is free, and the definition that it goes on with.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { actionError, type ActionError } from '../../model/action-error.ts'
import { denial } from '../../model/caller.ts'
import { type ContextId, type ContextRecord, isFinished } from '../../model/context.ts'
import { conflict, FluxError, invalid } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { DecisionEnv, Input } from '../interpreter/decision.ts'
import { requireValid } from '../interpreter/describe.ts'
import { dataBeforeEnd } from '../interpreter/transit.ts'
import { addressOf, keptKey, partitionOfKey, usingKey, type KeyAddress } from '../record/index-keys.ts'
import { repinned } from '../record/repin.ts'
import { secretTextsOf } from '../redact/redactor.ts'
import { outputsOf } from './answer.ts'
import type { Applied, TrackedContext, TurnEnv } from './message.ts'
import { keyInUse, type StartRequest } from './start-request.ts'
import { Lacking, type KnownContexts } from './turn-data.ts'

/** Maximum number of ancestors of a context. */
const MAX_DEPTH = 32

interface Family {
  readonly record: ContextRecord
  readonly flux: CompiledFlux
}

/** The unit of work of the turn. */
interface Work {
  readonly atHand: KnownContexts
  readonly env: Pick<TurnEnv, 'now' | 'partitions'>
  find(id: ContextId): TrackedContext | null
  apply(context: TrackedContext, input: Input): Applied
  create(request: StartRequest, partition: number): TrackedContext
}

/** Starts a service as a child of a context; or gives the error with which the parent's action fails. */
export function startChild(
  record: ContextRecord,
  { name, input }: { readonly name: string; readonly input: JsonObject },
  work: Work,
): ContextId | ActionError {
  const { id, package: own, parent, position, traceparent } = record
  const depth = (parent?.depth ?? 0) + 1
  if (depth > MAX_DEPTH)
    return actionError('InvocationTooDeep', `services invoke one another more than ${MAX_DEPTH} deep`)
  const flux = work.atHand.service(own, name)
  if (flux === undefined) return actionError('ServiceNotFound', `there is no service '${name}'`)
  if (flux === 'ambiguous') return actionError('ServiceNotFound', `several packages have a service '${name}'`)
  try {
    const child = work.create(
      {
        flux,
        input,
        untyped: false,
        unknown: 'refuse',
        tags: [],
        trigger: null,
        parent: { id, epoch: position.epoch, depth },
        inherited: secretTextsOf(record),
        traceparent,
      },
      id,
    )
    return child.record.id
  } catch (error) {
    if (!(error instanceof FluxError)) throw error
    return actionError('InvalidInput', `'${name}' can't be started: ${error.failure.detail}`)
  }
}

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

/** The definition that a context is retried with, and the environment of the decision. @throws Lacking */
export function retryEnvOf(
  { record, flux }: Family,
  { caller, definition, state }: Input & { readonly type: 'RETRY' },
  work: Work,
  env: DecisionEnv,
): { readonly flux: CompiledFlux; readonly env: DecisionEnv } {
  // A decision without these facts refuses what can't be retried.
  if (!isFinished(record.status) || record.status === 'COMPLETED') return { flux, env }
  if (flux.secured && denial(caller, 'admin')) return { flux, env }
  try {
    requireParent(record, work)
    const address = addressOf(record)
    const holder = address && holderWith(usingKey(address), address, work)
    // Another context may have got its key since it ended.
    if (address && holder !== null && holder !== record.id) throw keyInUse(address, holder)
    const fitted = definition === 'current' ? currentOf({ record, flux }, state, work) : { record, flux }
    return { flux: fitted.flux, env: { ...env, retry: { record: fitted.record } } }
  } catch (error) {
    if (!(error instanceof FluxError)) throw error
    return { flux, env: { ...env, retry: { failure: error.failure } } }
  }
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

/**
 * The record as the definition that is loaded now continues it. @throws Lacking; FluxError when it can't be continued
 */
function currentOf({ record, flux: pinned }: Family, wanted: string | null, { atHand, env }: Work): Family {
  const { package: owner, fluxName } = record
  const flux = atHand.service(owner, fluxName)
  if (flux === undefined || flux === 'ambiguous' || flux.package !== owner) {
    const detail = `no service '${fluxName}' of the package '${owner}' is loaded`
    throw invalid(detail, [{ pointer: '/definition', detail }])
  }
  if (flux.hash === record.definition) return { record, flux: pinned }
  if (!atHand.isPinned(flux)) throw new Lacking({ kind: 'definition', flux })
  const fitted = repinned(dataBeforeEnd(record), pinned, flux, env.now)
  const errors = [...fitted.errors]
  const present = pinned.states[record.state]?.name ?? ''
  if (wanted === null && !flux.stateIndex.has(present))
    errors.push({ pointer: '/definition', detail: `has no state '${present}', in which the context is` })
  requireValid(errors)
  return { record: fitted.record, flux }
}

/** A child goes on only while its parent waits for it. @throws Lacking; FluxError when it does not */
function requireParent({ id, parent }: ContextRecord, work: Work): void {
  if (parent === null) return
  const { record } = work.find(parent.id) ?? {}
  if (record?.child !== id || record.position.epoch !== parent.epoch)
    throw conflict(`context ${id} can't be retried: its parent, context ${parent.id}, has gone on`)
}

/** The context that keeps a new one from having the key; null: there was none. @throws Lacking */
const holderOf = (address: KeyAddress, { keyReuse }: CompiledFlux, work: Work): ContextId | null =>
  holderWith(keyReuse === 'never' ? keptKey(address) : usingKey(address), address, work)

/** @throws Lacking; FluxError when the key is in use */
export function requireUnused(address: KeyAddress, flux: CompiledFlux, work: Work): void {
  const id = holderOf(address, flux, work)
  if (id !== null) throw keyInUse(address, id)
}

/** The newest context that has that index key of the address. @throws Lacking */
function holderWith(key: string, address: KeyAddress, { atHand, env }: Work): ContextId | null {
  const holder = atHand.holder(key)
  if (holder !== undefined) return holder
  throw new Lacking({ kind: 'holder', key, partition: partitionOfKey(address, env.partitions) })
}

/**
 * Ends the context that has the key, if that is asked for, and gives its id; null: none was ended. With `keyReuse:
 * never`, that doesn't free the key. Any other key is checked by the commit.
 * @throws Lacking; FluxError when the key is in use
 */
export function makeRoom(address: KeyAddress, { flux, existing }: StartRequest, work: Work): ContextId | null {
  if (flux.keyReuse === 'never') requireUnused(address, flux, work)
  if (typeof existing !== 'object') return null
  const id = holderOf(address, flux, work)
  if (id === null) return null
  const context = work.find(id)
  if (!context || context.flux.keyReuse === 'never') throw keyInUse(address, id)
  if (isFinished(context.record.status)) return null
  const applied = work.apply(context, { type: 'TERMINATE', caller: existing.caller })
  if (applied.kind === 'refused') throw new FluxError(applied.failure)
  return id
}
