// engine/turn: the key of a context that is to be started, and what is answered when another one has it.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { Scope, Template } from '../../definitions/expressions/expression.ts'
import { spendOn } from '../../definitions/work-budget.ts'
import type { ContextId } from '../../model/context.ts'
import { messageOf } from '../../model/error-message.ts'
import { FluxError, type Failure } from '../../model/failure.ts'
import { keyFault } from '../../model/key.ts'
import { describeInputErrors } from '../interpreter/describe.ts'
import { waitTextOf } from '../interpreter/choose.ts'
import type { KeyAddress } from '../record/context-key.ts'

interface KeyRequest {
  readonly flux: CompiledFlux
  readonly key?: string | Template | null | undefined
  readonly parent: unknown
}

/**
 * The key that is given, else that of the service, null where that comes out empty. A child has none: it lies in the
 * partition of its parent.
 */
export function startKeyOf(
  { flux, key: given, parent }: KeyRequest,
  scope: Scope,
): { key: string | null } | { failure: Failure } {
  if (given === null || parent !== null) return { key: null }
  if (typeof given === 'string') return { key: given }
  const template = given ?? flux.key
  if (template === null) return { key: null }
  let key
  try {
    const value = template.evaluate(scope)
    spendOn(value, scope.budget)
    key = waitTextOf(value) ?? ''
  } catch (error) {
    return refuse(`can't be worked out: ${messageOf(error)}`)
  }
  if (key === '') return given === undefined ? { key: null } : refuse('comes out empty')
  const fault = keyFault(key)
  return fault === null ? { key } : refuse(fault)
}

function refuse(detail: string): { failure: Failure } {
  const errors = [{ pointer: '/key', detail }]
  return { failure: { kind: 'invalid', detail: describeInputErrors(errors), errors } }
}

/** Another context has the key. */
export const keyInUse = ({ fluxName, key }: Pick<KeyAddress, 'fluxName' | 'key'>, by: ContextId): Failure => ({
  kind: 'conflict',
  detail: `context ${by} of '${fluxName}' has the key '${key}'`,
  contextId: by,
})

/** The context that has the key, if it was refused for that; else null. */
export const holderIn = (error: unknown): ContextId | null =>
  (error instanceof FluxError && error.failure.kind === 'conflict' && error.failure.contextId) || null
