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

/** Compiles lines. What a line writes is visible to those after it. */
export function compileLines(list: readonly JsonObject[], { pointer, visible, ...others }: LineOptions): Lines {
  const written = new Set<string>()
  const names = () => [...written, ...(visible?.names?.() ?? [])]
  const options = {
    ...others,
    visible: visible && Object.assign((name: string) => visible(name) || written.has(name), { names }),
  }
  const compile = (source: JsonObject, at: string): Line | null => {
    if (!isObject(source)) return refuseLine(options.report, at, 'a line must be an object')
    const target = compileTarget(source, at, options)
    const origin = compileOrigin(source, at, options)
    if (target !== null) written.add(target.name)
    return target === null || origin === null ? null : compileLine(target, origin, at, options.report)
  }
  return list.map((source, index) => {
    const at = `${pointer}/${index}`
    const { value: line, fault } = options.report.part(() => compile(source, at))
    return line === null || fault !== null ? brokenLine(fault ?? `${at}: it can't be compiled`) : line
  })
}

/** Steps that a line takes besides what it reads, computes and writes. */
const STEPS_A_LINE = 16

/** Types that can hold `$response`. */
const ANSWERING: ReadonlySet<string> = new Set(['object', 'model', 'any'])

function compileLine(
  { place, path, property: declared, lists, shown }: LineTarget,
  origin: Origin,
  pointer: string,
  report: Report,
): Line {
  // A property without a type is not meant to be a text if the whole answer of a webhook is written to it.
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
    const doubt = `${shown}: the value ${reason}, so the line will always fail`
    if (reason !== null) report.warn(`${pointer}/expression`, doubt)
  }
  const read = (scope: Scope): Json => {
    scope.budget.spend(STEPS_A_LINE)
    const value = carried(origin, scope, shown) ?? null
    if (property === null) return value
    const held = coerce(property, value, scope.turn.now, scope.budget)
    if (held.ok) return held.value
    throw new LineError(`${shown}: the value ${held.reason}`)
  }
  const { answers = false, source } = origin
  return {
    place,
    path,
    answers,
    source,
    read,
    write: (root, value, budget) => writePath(root, path, value, lists, budget),
  }
}

/** Why a literal doesn't fit; null: it does, or a property with a fault is in the way, which is reported already. */
function misfit(property: Property, literal: Json): string | null {
  try {
    const held = coerce(property, literal, 0, new WorkBudget(Infinity))
    return held.ok ? null : held.reason
  } catch (error) {
    if (error instanceof DefinitionError) return null
    throw error
  }
}

function carried(origin: Origin, scope: Scope, shown: string): Json | undefined {
  try {
    return origin.read(scope)
  } catch (error) {
    throw error instanceof ExpressionError ? new LineError(`${shown}: ${error.message}`, { cause: error }) : error
  }
}
