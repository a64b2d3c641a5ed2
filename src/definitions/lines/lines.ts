// definitions: compiles lists of lines. What a line writes is visible to those after it.
import { getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { ExpressionError, type Scope } from '../expressions/expression.ts'
import type { Report } from '../report.ts'
import { formatPath, LineError, writePath } from '../values/paths.ts'
import { coerce, type Property } from '../values/properties.ts'
import { startOf, toldOf } from '../values/told.ts'
import { WorkBudget } from '../work-budget.ts'
import { compileOrigin, type Origin } from './line-origin.ts'
import { compileTarget, type LineTarget } from './line-target.ts'
import { refuseLine, type Line, type LineOptions, type Lines } from './line.ts'

/** Compiles lines. What a line writes is visible to the lines after it. Those with a fault are left out. */
export function compileLines(
  list: readonly JsonObject[],
  { pointer, visible, seesSecrets = false, of, ...others }: LineOptions,
): Lines {
  const written = new Set<string>()
  const carriers = new Set<string>()
  const names = () => [...written, ...(visible?.names?.() ?? [])]
  const declared = (name: string) => (written.has(name) ? [] : (visible?.declared?.(name) ?? []))
  const options = {
    ...others,
    carriers: seesSecrets ? carriers : null,
    visible: visible && Object.assign((name: string) => visible(name) || written.has(name), { names, declared }),
  }
  const compile = (source: JsonObject, at: string, told: string): Line | null => {
    if (!isObject(source)) return refuseLine(options.report, at, 'a line must be an object')
    const target = compileTarget(source, at, options)
    const origin = compileOrigin(source, at, options)
    if (target !== null) written.add(target.name)
    if (target !== null && origin?.carries === true) carriers.add(target.name)
    // A whole value that is replaced by one without secrets has none any more.
    else if (target?.path.length === 1) carriers.delete(target.name)
    return target === null || origin === null
      ? null
      : compileLine(target, origin, { pointer: at, told, report: options.report })
  }
  return list.flatMap((source, index) => compile(source, `${pointer}/${index}`, `line ${index + 1} of ${of}`) ?? [])
}

/** Steps of a line, besides those for reading, computing and writing its value. */
const STEPS_A_LINE = 16

/** Types that can hold `$response`. */
const ANSWERING: ReadonlySet<string> = new Set(['object', 'model', 'any'])

function compileLine(
  { place, path, property: declared, lists, shown }: LineTarget,
  origin: Origin,
  { pointer, told, report }: { readonly pointer: string; readonly told: string; readonly report: Report },
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
  const name = `${told} (${startOf(`${shown} = ${textOf(origin)}`)})`
  const read = (scope: Scope): Json => {
    scope.budget.spend(STEPS_A_LINE)
    const value = readFrom(origin, scope, name) ?? null
    if (property === null) return value
    const coerced = coerce(property, value, scope.turn.now, scope.budget)
    if (coerced.ok) return coerced.value
    throw new LineError(`${name}: the value ${coerced.reason}${value === null ? '' : `, and is ${toldOf(value)}`}`)
  }
  const write: Line['write'] = (root, value, budget) => {
    try {
      return writePath(root, path, value, lists, budget)
    } catch (error) {
      throw error instanceof LineError ? new LineError(`${name}: ${error.message}`) : error
    }
  }
  const { answers = false, source, secrets = [] } = origin
  return {
    place,
    path,
    answers,
    source,
    secrets,
    read,
    write,
  }
}

/** Where the value of a line comes from, as the file has it. */
function textOf({ source, literal }: Origin): string {
  if (source === null) return JSON.stringify(literal ?? null)
  return 'from' in source ? formatPath(source.from) : source.expression
}

/** Why a literal can't be coerced to a property; null if it can. */
function misfit(property: Property, literal: Json): string | null {
  const coerced = coerce(property, literal, 0, new WorkBudget(Infinity))
  return coerced.ok ? null : coerced.reason
}

function readFrom(origin: Origin, scope: Scope, name: string): Json | undefined {
  try {
    return origin.read(scope)
  } catch (error) {
    throw error instanceof ExpressionError ? new LineError(`${name}: ${error.message}`, { cause: error }) : error
  }
}
