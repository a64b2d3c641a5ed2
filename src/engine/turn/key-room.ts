// engine/turn: whether a new context can have its key, and the end of the context that stands in its way, where that is asked
// for.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import type { Failure } from '../../model/failure.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { Input } from '../interpreter/decision.ts'
import type { Applied } from './tracked-context.ts'
import { Lacking, type KnownContexts } from './known-contexts.ts'
import { keptKey, partitionOfKey, usingKey, type KeyAddress } from '../record/context-key.ts'
import { keyInUse } from './start-key.ts'
import type { StartRequest } from './start-request.ts'

/** The unit of work in which the context is started. */
interface Work<C> {
  find(id: ContextId): C | null
  apply(context: C, input: Input): Applied
}

/** The context because of which a new one can't have the key; null: there was none. @throws Lacking */
export function holderOf(address: KeyAddress, { keyReuse }: CompiledFlux, atHand: KnownContexts): ContextId | null {
  const key = keyReuse === 'never' ? keptKey(address) : usingKey(address)
  const holder = atHand.holder(key)
  if (holder !== undefined) return holder
  throw new Lacking({ kind: 'holder', key, partition: partitionOfKey(address, atHand.partitions) })
}

/**
 * Ends the context that has the key, if that is asked for. A key that isn't free while an ended context of it is kept
 * can't be had by that. Whether any other key is in use, the commit finds out. @throws Lacking
 */
export function makeRoom<C extends { readonly record: ContextRecord; readonly flux: CompiledFlux }>(
  address: KeyAddress,
  { flux, existing }: StartRequest,
  work: Work<C>,
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
