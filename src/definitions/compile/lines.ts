// definitions: compiles lists of lines. What a line writes is visible to those after it.
import { getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { DefinitionError } from '../definition-error.ts'
import { ExpressionError, type Scope } from '../expressions/expression.ts'
import type { Report } from '../report.ts'
import { LineError, writePath } from '../values/paths.ts'
import { coerce, type Property } from '../values/properties.ts'
import { WorkBudget } from '../work-budget.ts'
import { compileOrigin, type Origin } from './line-origin.ts'
import { compileTarget, type LineTarget } from './line-target.ts'
import { brokenLine, refuseLine, type Line, type LineOptions, type Lines } from './line.ts'

/** Compiles lines. What a line writes is visible to the lines after it. */
export function compileLines(
  list: readonly JsonObject[],
  { pointer, visible, seesSecrets = false, ...others }: LineOptions,
): Lines {
  const written = new Set<string>()
  const carriers = new Set<string>()
  const names = () => [...written, ...(visible?.names?.() ?? [])]
  const options = {
    ...others,
    carriers: seesSecrets ? carriers : null,
    visible: visible && Object.assign((name: string) => visible(name) || written.has(name), { names }),
  }
  const compile = (source: JsonObject, at: string): Line | null => {
    if (!isObject(source)) return refuseLine(options.report, at, 'a line must be an object')
    const target = compileTarget(source, at, options)
    const origin = compileOrigin(source, at, options)
    if (target !== null) written.add(target.name)
    if (target !== null && origin?.carries === true) carriers.add(target.name)
    // A whole value that is replaced by one without secrets has none any more.
    else if (target?.path.length === 1) carriers.delete(target.name)
    return target === null || origin === null ? null : compileLine(target, origin, at, options.report)
  }
  return list.map((source, index) => {
    const at = `${pointer}/${index}`
    const { value: line, fault } = options.report.part(() => compile(source, at))
    return line === null || fault !== null ? brokenLine(fault ?? `${at}: it can't be compiled`) : line
  })
}

/** Steps of a line, besides those for reading, computing and writing its value. */
const STEPS_A_LINE = 16

/** Types that can hold `$response`. */
const ANSWERING: ReadonlySet<string> = new Set(['object', 'model', 'any'])

function compileLine(
  { place, path, property: declared, lists, shown }: LineTarget,
  origin: Origin,
  pointer: string,
  report: Report,
): Line {
  // A property without a declared type is a string by default, but not if a line writes the whole `$response` to it.
  const property =
    origin.answers && declared !== null && !declared.array && getOwn(declared.source, 'type') === undefined
      ? null
      : declared
  if (origin.answers && property !== null && (property.array || !ANSWERING.has(property.type))) {
    report.warn(
      `${pointer}/to`,
      `${shown} can't hold $response, so the line will always fail: it should be of type object, and no list`,
    )
  }
  if (origin.literal !== undefined && property !== null) {
    const reason = misfit(property, origin.literal)
    const warning = `${shown}: the value ${reason}, so the line will always fail`
    if (reason !== null) report.warn(`${pointer}/expression`, warning)
  }
  const read = (scope: Scope): Json => {
    scope.budget.spend(STEPS_A_LINE)
    const value = readFrom(origin, scope, shown) ?? null
    if (property === null) return value
    const coerced = coerce(property, value, scope.turn.now, scope.budget)
    if (coerced.ok) return coerced.value
    throw new LineError(`${shown}: the value ${coerced.reason}`)
  }
  const { answers = false, source, secrets = [] } = origin
  return {
    place,
    path,
    answers,
    source,
    secrets,
    read,
    write: (root, value, budget) => writePath(root, path, value, lists, budget),
  }
}

/**
 * Why a literal can't be coerced to a property; null if it can, or if the property has a fault, which is already
 * reported.
 */
function misfit(property: Property, literal: Json): string | null {
  try {
    const coerced = coerce(property, literal, 0, new WorkBudget(Infinity))
    return coerced.ok ? null : coerced.reason
  } catch (error) {
    if (error instanceof DefinitionError) return null
    throw error
  }
}

function readFrom(origin: Origin, scope: Scope, shown: string): Json | undefined {
  try {
    return origin.read(scope)
  } catch (error) {
    throw error instanceof ExpressionError ? new LineError(`${shown}: ${error.message}`, { cause: error }) : error
  }
}
