// engine/turn: what a retry of a context that has ended depends on besides its record: whether its parent still waits for it,
// whether its key is free, and the definition that it is to go on with.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { denial } from '../../model/caller.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import type { Failure } from '../../model/failure.ts'
import type { ContextRecord } from '../../model/record.ts'
import { describeInputErrors } from '../interpreter/describe.ts'
import { dataBeforeEnd } from '../interpreter/transit.ts'
import type { DecisionEnv, Input, RetryFacts } from '../interpreter/decision.ts'
import { Lacking, type KnownContexts } from './known-contexts.ts'
import { addressOf, partitionOfKey, usingKey } from '../record/context-key.ts'
import { repinned } from '../record/repin.ts'
import { keyInUse } from './start-key.ts'
import type { TrackedContext } from './tracked-context.ts'

interface Family {
  readonly record: ContextRecord
  readonly flux: CompiledFlux
}

interface RetryWork {
  find(id: ContextId): TrackedContext | null
}

interface RetryParts {
  readonly work: RetryWork
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
  const known = retryFactsOf({ record, flux }, message, { work, atHand, now: env.now })
  return known ? { flux: known.flux, env: { ...env, retry: known.facts } } : { flux, env }
}

/**
 * A context is retried. Its parent, if it has one, waits for it anew: the parent is written in the same commit, which
 * fails if the parent has gone on meanwhile.
 */
export function goOnWith(context: TrackedContext, flux: CompiledFlux, work: RetryWork): void {
  const { parent, status } = context.record
  if (flux !== context.flux) context.fluxBefore = context.flux
  context.flux = flux
  const waiting = parent && isFinished(status) ? work.find(parent.id) : null
  if (!waiting) return
  waiting.record = { ...waiting.record }
  waiting.isNotified = true
}

/** `flux`: the definition to go on with. undefined: that is not asked, since it can't be retried. @throws Lacking */
function retryFactsOf(
  { record, flux: pinned }: Family,
  { definition, caller }: Retry,
  { work, atHand, now }: { readonly work: RetryWork; readonly atHand: KnownContexts; readonly now: number },
): { readonly flux: CompiledFlux; readonly facts: RetryFacts } | undefined {
  if (!isFinished(record.status) || record.status === 'COMPLETED') return undefined
  if (pinned.secured && denial(caller, 'admin')) return undefined
  const failure = goneOn(record, work) ?? keyTaken(record, atHand)
  if (failure) return { flux: pinned, facts: { failure } }
  if (definition !== 'current') return { flux: pinned, facts: { failure: null, record } }
  const flux = atHand.service(record.package, record.fluxName)
  if (flux === undefined || flux === 'ambiguous' || flux.package !== record.package)
    return { flux: pinned, facts: { failure: notLoaded(record) } }
  if (flux.hash === record.definition) return { flux: pinned, facts: { failure: null, record } }
  if (!atHand.isPinned(flux)) throw new Lacking({ kind: 'definition', flux })
  const fitted = repinned(dataBeforeEnd(record), pinned, flux, now)
  if (!('errors' in fitted)) return { flux, facts: { failure: null, record: fitted.record } }
  const { errors } = fitted
  return { flux: pinned, facts: { failure: { kind: 'invalid', detail: describeInputErrors(errors), errors } } }
}

/** A child goes on only while its parent waits for it. */
function goneOn({ id, parent }: ContextRecord, work: RetryWork): Failure | null {
  if (parent === null) return null
  const { record } = work.find(parent.id) ?? {}
  if (record?.child === id && record.position.epoch === parent.epoch) return null
  return { kind: 'conflict', detail: `context ${id} can't be retried: its parent, context ${parent.id}, has gone on` }
}

/** Another context may have got its key since it ended. @throws Lacking */
function keyTaken(record: ContextRecord, atHand: KnownContexts): Failure | null {
  const address = addressOf(record)
  if (address === null) return null
  const key = usingKey(address)
  const holder = atHand.holder(key)
  if (holder === undefined)
    throw new Lacking({ kind: 'holder', key, partition: partitionOfKey(address, atHand.partitions) })
  return holder === null || holder === record.id ? null : keyInUse(address, holder)
}

function notLoaded({ package: owner, fluxName }: ContextRecord): Failure {
  const detail = `no service '${fluxName}' of the package '${owner}' is loaded`
  return { kind: 'invalid', detail, errors: [{ pointer: '/definition', detail }] }
}
