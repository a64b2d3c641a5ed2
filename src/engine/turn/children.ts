// engine/turn: children of contexts: the request that starts a child, and the message to its parent when it has ended.
import type { ActionError } from '../../model/action-error.ts'
import { getOwn, type JsonObject } from '../../model/json/value.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { Input } from '../interpreter/decision.ts'
import type { KnownContexts } from './known-contexts.ts'
import { secretTextsOf } from '../redact/redactor.ts'
import type { StartRequest } from './start-request.ts'

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
  if (depth > MAX_DEPTH) return errorOf('InvocationTooDeep', `services invoke one another more than ${MAX_DEPTH} deep`)
  const flux = atHand.service(own, name)
  if (flux === undefined) return errorOf('ServiceNotFound', `there is no service '${name}'`)
  if (flux === 'ambiguous') return errorOf('ServiceNotFound', `several packages have a service '${name}'`)
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
  errorOf('InvalidInput', `'${name}' can't be started: ${reason}`)

/**
 * The message to a parent that waits for the child; null: the child has not ended.
 * @param child null: the context no longer exists
 */
export function childResultOf({ child: id, position }: ContextRecord, child: Family | null): Input | null {
  const { epoch, attempt } = position
  const fail = (error: ActionError): Input => ({ type: 'FAIL', epoch, attempt, error })
  if (!child) return fail(errorOf('ServiceNotFound', `context ${id} is gone`))
  const { status, output, error, fluxName } = child.record
  switch (status) {
    case 'COMPLETED': {
      const names = [...child.flux.output.properties.keys()]
      const result = Object.fromEntries(names.map((name) => [name, getOwn(output, name) ?? null]))
      return { type: 'DONE', epoch, attempt, result }
    }
    case 'TERMINATED':
      return fail(errorOf('ServiceTerminated', `'${fluxName}' (context ${id}) was terminated`))
    case 'FAILED': {
      const realException = { contextId: id, ...error }
      return fail({ ...errorOf('ServiceFailed', error?.message ?? 'failed'), realException })
    }
    default:
      return null
  }
}

const errorOf = (type: string, message: string): ActionError => ({
  message,
  type,
  className: type,
  realException: null,
})
