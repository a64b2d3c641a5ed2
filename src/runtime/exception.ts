// runtime: errors as data: what `$fluxException` and a failed context show.
import type { CompiledFlux } from '../definitions/flux.ts'
import type { ActionError } from '../definitions/machine.ts'
import type { FluxException, StackEntry } from '../model/context.ts'
import { isObject, toJson, type Json, type JsonObject } from '../model/json.ts'
import type { Move } from '../model/record.ts'

/** Makes data of whatever was thrown. Stacks stay out: they hold paths. */
export function errorOf(thrown: unknown): ActionError {
  if (!(thrown instanceof Error)) {
    const realException = safeJson(thrown)
    return { message: typeof realException === 'string' ? realException : JSON.stringify(realException), type: 'Error', className: typeof thrown, realException }
  }
  const { name, message } = thrown
  const own = safeJson({ ...thrown })
  const realException: JsonObject = { ...isObject(own) ? own : {}, name, message, ...thrown.cause instanceof Error && { cause: String(thrown.cause) } }
  return { message, type: name, className: thrown.constructor.name, realException }
}

function safeJson(value: unknown): Json {
  try {
    return toJson(value)
  } catch {
    return String(value)
  }
}

/** The exception with its trace, from the start to the failing state. */
export function exceptionOf(error: Partial<ActionError>, flux: CompiledFlux, trail: readonly Move[]): FluxException {
  const { message = 'failed', type = 'Error', className = type, realException = null } = error
  const fluxStackTrace = trail.map((move, position): StackEntry => ({
    fluxName: flux.fluxName,
    stateName: flux.states[move.to]?.name ?? '',
    transition: trail[position + 1]?.event ?? null,
    stateIndex: move.to,
  }))
  return { message, type, className, realException, fluxStackTrace }
}
