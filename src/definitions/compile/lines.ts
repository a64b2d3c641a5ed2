// definitions: compiles lines. A line takes a visible value, coerces it to the type of its target, and writes it there.
import { getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { suggestion } from '../../model/nearest.ts'
import { DefinitionError } from '../definition-error.ts'
import { compileExpression } from '../expressions/compile.ts'
import { ExpressionError, type Scope } from '../expressions/expression.ts'
import { isIndex, LineError, readPath, formatPath, writePath } from '../values/paths.ts'
import { descend, coerce, type Property } from '../values/properties.ts'
import type { Report } from '../report.ts'
import { notParsed, PLAIN_TEXT, unseenNames, type Visible } from '../lint/visible.ts'
import { WorkBudget } from '../work-budget.ts'

export { LineError } from '../values/paths.ts'

/** Where a line writes. */
export type Place = 'stateInput' | 'stateOutput' | 'serviceOutput' | 'fluxEvent' | 'response' | 'args'

export interface Target {
  readonly place: Place
  /** null: nothing is declared, so any value may be written. */
  readonly property: Property | null
}

/** Source of a line's value, as written in the file: a path, an expression, or null for a constant. */
export type LineSource = { readonly from: readonly string[] } | { readonly expression: string } | null

export interface Line {
  readonly place: Place
  /**
   * Path of the target. For fluxEvent it is empty; for response it has the segments below `$response`; otherwise it
   * begins with the property's name.
   */
  readonly path: readonly string[]
  /** Whether the value is `$response` as a whole. An output that the line writes is then the answer of a webhook. */
  readonly answers: boolean
  readonly source: LineSource
  /**
   * Returns the value to write, coerced to the target's type.
   * @throws TooMuchWork; LineError when the value can't be coerced or the expression fails; DefinitionError when the
   * line can't be run any more
   */
  read(scope: Scope): Json
  /**
   * Returns a copy of the place's data with the value at `path`. Unlike `writePath` alone, it creates declared lists as
   * lists.
   * @throws TooMuchWork; LineError when the path leads into a value that has no parts
   */
  write(root: JsonObject, value: Json, budget?: WorkBudget): JsonObject
}

/**
 * Lines in order. The caller writes each value before it reads the next, so that a line sees what the lines before it
 * wrote.
 */
export type Lines = readonly Line[]

export interface LineOptions {
  /** Returns the target of a name; null if there is none. */
  readonly resolve: (name: string) => Target | null
  /** The visible names; null: any name may be visible. */
  readonly visible: Visible
  /** JSON pointer of the list in its file. */
  readonly pointer: string
  readonly report: Report
}

/** Creates the replacement of a line that can't be compiled: it fails when it is reached. */
export function brokenLine(fault: string): Line {
  const fail = (): never => {
    throw new DefinitionError(fault)
  }
  return { place: 'args', path: [], answers: false, source: null, read: fail, write: fail }
}

/** Compiles lines. What a line writes is visible to the lines after it. */
export function compileLines(list: readonly JsonObject[], { pointer, visible, ...others }: LineOptions): Lines {
  const written = new Set<string>()
  const names = () => [...written, ...(visible?.names?.() ?? [])]
  const options = {
    ...others,
    visible: visible && Object.assign((name: string) => visible(name) || written.has(name), { names }),
  }
  const compile = (source: JsonObject, at: string): Line | null => {
    if (!isObject(source)) return broken(options.report, at, 'a line must be an object')
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

/** Steps of a line, besides those for reading, computing and writing its value. */
const STEPS_A_LINE = 16

/** Types that can hold `$response`. */
const ANSWERING: ReadonlySet<string> = new Set(['object', 'model', 'any'])

interface LineTarget {
  readonly name: string
  readonly place: Place
  readonly path: readonly string[]
  /** What is declared at the end of the path; null if nothing is. */
  readonly property: Property | null
  /** Positions in the path that are indices of declared lists. */
  readonly lists: ReadonlySet<number>
  /** For messages. */
  readonly shown: string
}

type Options = Omit<LineOptions, 'pointer'>

/** The source of a value, before it is coerced. `read` returns undefined if a path leads nowhere. */
interface Origin {
  readonly read: (scope: Scope) => Json | undefined
  readonly source: LineSource
  readonly literal?: Json
  readonly answers?: boolean
}

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
    const doubt = `${shown}: the value ${reason}, so the line will always fail`
    if (reason !== null) report.warn(`${pointer}/expression`, doubt)
  }
  const read = (scope: Scope): Json => {
    scope.budget.spend(STEPS_A_LINE)
    const value = readFrom(origin, scope, shown) ?? null
    if (property === null) return value
    const coerced = coerce(property, value, scope.turn.now, scope.budget)
    if (coerced.ok) return coerced.value
    throw new LineError(`${shown}: the value ${coerced.reason}`)
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

function compileTarget(source: JsonObject, pointer: string, { resolve, report }: Options): LineTarget | null {
  const to = readSegments(source, 'to', pointer, report)
  if (to === null) return null
  const [name = '', ...below] = to
  const target = resolve(name)
  if (target === null) return broken(report, `${pointer}/to`, `there is no "${name}" to write to`)
  const { place, property } = target
  if (place === 'fluxEvent' && below.length > 0)
    return broken(report, `${pointer}/to`, `"${name}" is a single value: it has no parts to write to`)
  const path = place === 'fluxEvent' || place === 'response' ? below : to
  const shown = formatPath(to)
  if (property === null)
    return { name, place, path, property, lists: place === 'response' ? listsOfResponse(below) : new Set(), shown }
  const found = descend(property, below)
  if (!found.ok) return broken(report, `${pointer}/to`, found.reason)
  const shift = path.length - below.length
  return {
    name,
    place,
    path,
    property: found.property,
    lists: new Set([...found.lists].map((position) => position + shift)),
    shown,
  }
}

/** `cookies` and `headers` of `$response` can be written as lists, by index. */
const listsOfResponse = ([part = '', index = '']: readonly string[]): ReadonlySet<number> =>
  new Set((part === 'cookies' || part === 'headers') && isIndex(index) ? [1] : [])

function compileOrigin(source: JsonObject, pointer: string, options: Options): Origin | null {
  const type = getOwn(source, 'type') ?? 'map'
  if (type === 'map') return compileMap(source, pointer, options)
  if (type === 'set') return compileSet(source, pointer, options)
  return broken(options.report, `${pointer}/type`, 'a line is of type "map" or "set"')
}

function compileMap(source: JsonObject, pointer: string, { visible, report }: Options): Origin | null {
  const from = readSegments(source, 'from', pointer, report)
  if (from === null) return null
  const [name = '', ...path] = from
  if (visible !== null && !visible(name))
    report.warn(
      `${pointer}/from`,
      `"${name}" is visible nowhere: the line will carry null${suggestion(name, visible.names?.() ?? [])}`,
    )
  return {
    source: { from },
    read: (scope) => readPath(scope.get(name), path, name, scope.budget),
    answers: name === '$response' && path.length === 0,
  }
}

function compileSet(source: JsonObject, pointer: string, { visible, report }: Options): Origin | null {
  const at = `${pointer}/expression`
  const expression = getOwn(source, 'expression')
  const evaluate = getOwn(source, 'evaluate') ?? false
  if (typeof evaluate !== 'boolean') return broken(report, `${pointer}/evaluate`, 'evaluate must be true or false')
  if (expression === undefined && evaluate) return broken(report, at, 'there is no expression to evaluate')
  if (expression === undefined) report.warn(at, 'there is no expression: the line will set null')
  const literal = expression ?? null
  if (!evaluate || typeof literal !== 'string') return { source: null, read: () => literal, literal }
  try {
    const compiled = compileExpression(literal, { pinned: report.pinned })
    if (compiled.quotesPlaceholder) report.warn(at, PLAIN_TEXT)
    const unseen = unseenNames(compiled.names, visible, literal)
    if (unseen !== null) return broken(report, at, unseen)
    return {
      source: { expression: literal },
      read: (scope) => compiled.evaluate(scope),
      answers: literal.trim() === '$response',
    }
  } catch (error) {
    return broken(report, at, notParsed(error, literal))
  }
}

/** Reads a path of the file: a list of texts that is not empty. Numbers are converted to text. */
function readSegments(
  source: JsonObject,
  key: 'from' | 'to',
  pointer: string,
  report: Report,
): readonly string[] | null {
  const path = getOwn(source, key)
  const segments = Array.isArray(path)
    ? path.flatMap((segment) => (typeof segment === 'string' || typeof segment === 'number' ? [String(segment)] : []))
    : []
  if (Array.isArray(path) && path.length > 0 && segments.length === path.length) return segments
  return broken(report, `${pointer}/${key}`, `${key} must be a path: a list of names that is not empty`)
}

function broken(report: Report, pointer: string, reason: string): null {
  report.fault(pointer, reason)
  return null
}
