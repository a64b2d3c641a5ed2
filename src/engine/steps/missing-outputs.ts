// engine/steps: what the outputs of an action read of its result, and the result does not have.
import { shortened } from '../../model/error-message.ts'
import type { Lines } from '../../definitions/lines/line.ts'
import { seenIn } from '../../definitions/lines/names.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { isObject, type Json } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/context.ts'
import { scopeOf } from '../interpreter/scope.ts'

/** Maximum length of a list of names in a message. */
const MAX_LIST_CHARACTERS = 600

/**
 * A message about names that the outputs of an action read, and that neither the result of its function nor the context
 * has; null if there are none. If the outputs read all that the result has, the names that it lacks are optional.
 */
export function missingOutputs(flux: CompiledFlux, record: ContextRecord, result: Json): string | null {
  const state = flux.states[record.state]
  if (!state?.action.code) return null
  const has = isObject(result) ? result : {}
  const read = readIn(state.action.outputs)
  if (read === null) return null
  const given = Object.keys(has)
  if (given.length > 0 && given.every((name) => read.has(name))) return null
  const inputs = seenIn([state.input, flux.input])
  const scope = scopeOf(flux, record)
  const missing = [...read].filter(
    (name) => !Object.hasOwn(has, name) && !inputs.has(name) && scope.get(name) === undefined,
  )
  if (missing.length === 0) return null
  const { className, methodName } = state.action.code
  return `${className}.${methodName} gave ${listOf(given) || 'no outputs'}; ${listOf(missing)} ${missing.length === 1 ? 'is' : 'are'} read`
}

/** The names that lines read, without those that lines before them wrote; null if a line reads the result as a whole. */
function readIn(lines: Lines): ReadonlySet<string> | null {
  const read = new Set<string>()
  const written = new Set<string | undefined>()
  for (const { reads, path } of lines) {
    for (const [first, part] of reads) {
      const name = first === '$result' ? part : first
      if (name === undefined) return null
      if (!written.has(name)) read.add(name)
    }
    written.add(path[0])
  }
  return read
}

const listOf = (names: readonly string[]): string =>
  shortened(names.map((name) => `\`${name}\``).join(', '), MAX_LIST_CHARACTERS)
