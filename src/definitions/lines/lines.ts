// definitions: compiles lists of lines. What a line writes is visible to those after it.
import { getOwn, type Json } from '../../model/json/value.ts'
import { suggestion } from '../../model/nearest.ts'
import { SECRETS, secretNameFault } from '../../model/secret-reference.ts'
import { compileExpression } from '../expressions/compile.ts'
import { ExpressionError, type Scope } from '../expressions/expression.ts'
import type { LineSource } from '../source/schema.ts'
import { formatPath, isIndex, LineError, readPath, writePath } from '../values/paths.ts'
import { coerce, descend } from '../values/properties.ts'
import { startOf, toldOf } from '../values/told.ts'
import { WorkBudget } from '../work-budget.ts'
import { brokenLine, type Line, type Lines, type Target } from './line.ts'
import { loggedText } from './logged-text.ts'
import { compileSeen, NO_SECRETS, RESERVED, strangePaths, type SeenAt } from './names.ts'

/** `pointer`: that of the list. */
export interface LineOptions extends SeenAt {
  /** Returns the target of a name; null if there is none. */
  readonly resolve: (name: string) => Target | null
  /** Whether texts with `${…}` are templates. */
  readonly logs?: boolean
  /** What the lines are part of, in messages. */
  readonly of: string
}

/** Compiles lines. One with a fault fails when it is run. */
export function compileLines(list: readonly (LineSource | undefined)[], options: LineOptions): Lines {
  const visible = options.visible && new Map(options.visible)
  return list.map((source, index) => {
    const pointer = `${options.pointer}/${index}`
    const own = { ...options, visible, pointer }
    const target = source && compileTarget(source.to, own)
    const origin = source && (source.type === 'set' ? compileSet(source, own) : compileMap(source.from, own))
    // What a line wrote may be of another shape than what is declared.
    if (target) visible?.set(target.name, [])
    return target && origin
      ? compileLine(target, origin, `line ${index + 1} of ${options.of}`, own)
      : brokenLine(`${pointer} has a fault`)
  })
}

/** Where a line writes; null after a fault. */
function compileTarget(to: readonly string[], { resolve, pointer, report }: LineOptions) {
  const refuse = (reason: string) => report.fault(`${pointer}/to`, reason)
  const [name = '', ...below] = to
  if (name === SECRETS) return refuse(RESERVED)
  const target = resolve(name)
  if (target === null) return refuse(`there is no "${name}" to write to`)
  const { place, property } = target
  if (place === 'fluxEvent' && below.length > 0)
    return refuse(`"${name}" is a single value: it has no parts to write to`)
  const path = place === 'fluxEvent' || place === 'response' ? below : to
  const found = descend(property, below)
  if (!found.ok) return refuse(found.reason)
  const lists = new Set([...found.lists].map((position) => position + path.length - below.length))
  // The lists of `$response` may be written by index.
  const [part = '', index = ''] = below
  if (place === 'response' && (part === 'cookies' || part === 'headers') && isIndex(index)) lists.add(1)
  return { name, place, path, property: found.property, lists, shown: formatPath(to) }
}

type LineTarget = NonNullable<ReturnType<typeof compileTarget>>

/** Where the value of a line comes from. */
interface Origin {
  /** The value before it is coerced to its target's type; undefined where a path leads nowhere. */
  readonly read: (scope: Scope) => Json | undefined
  readonly reads: Line['reads']
  /** As messages show it. */
  readonly shown: string
  readonly literal?: Json
  readonly answers?: boolean
  readonly secrets?: readonly string[]
}

/** null after a fault. */
function compileMap(from: readonly string[], { visible, seesSecrets, pointer, report }: LineOptions): Origin | null {
  const at = `${pointer}/from`
  const [name = '', ...path] = from
  const isSecret = name === SECRETS
  if (isSecret) {
    const [secret = '', ...more] = path
    const misnamed = secret === '' || more.length > 0 ? 'must be ["$secrets", "NAME"]' : secretNameFault(secret)
    const fault = seesSecrets ? misnamed : NO_SECRETS
    if (fault !== null) return report.fault(at, fault)
    report.secrets.push({ pointer: at, name: secret })
  } else if (visible?.has(name) === false)
    report.warn(at, `"${name}" is visible nowhere: the line will carry null${suggestion(name, visible.keys())}`)
  for (const warning of strangePaths([from], visible)) report.warn(at, warning)
  return {
    reads: [from],
    shown: formatPath(from),
    secrets: isSecret ? path : [],
    read: (scope) => readPath(scope.get(name), path, name, scope.budget),
    answers: name === '$response' && path.length === 0,
  }
}

/** null after a fault. */
function compileSet(
  { expression, evaluate }: LineSource & { readonly type: 'set' },
  { logs, pointer, report, ...seen }: LineOptions,
): Origin | null {
  const at = `${pointer}/expression`
  if (expression === undefined && evaluate) return report.fault(at, 'there is no expression to evaluate')
  if (expression === undefined) report.warn(at, 'there is no expression: the line will set null')
  const written = expression ?? null
  if (typeof written === 'string') {
    const place = { ...seen, pointer: at, report }
    const logged = logs ? loggedText(written, evaluate, place) : null
    if (evaluate || logged) {
      const compiled = compileSeen(logged ? () => logged : compileExpression, written, place)
      if (compiled === null) return null
      const secrets = [...compiled.secrets]
      for (const name of secrets) report.secrets.push({ pointer: at, name })
      return {
        secrets,
        reads: [...compiled.names].map((name) => [name]),
        shown: compiled.source,
        read: (scope) => compiled.evaluate(scope),
        answers: written.trim() === '$response',
      }
    }
    if (written.includes(`${SECRETS}.`))
      report.warn(at, 'the $secrets in it is plain text: set "evaluate" to true for what it stands for')
  }
  return { reads: [], shown: JSON.stringify(written), read: () => written, literal: written }
}

/** Steps of a line, besides those for reading, computing and writing its value. */
const STEPS_A_LINE = 16

/** Types that can hold `$response`. */
const ANSWERING = new Set<string>(['object', 'model', 'any'])

function compileLine(
  { place, path, property: declared, lists, shown }: LineTarget,
  { answers = false, literal, reads, secrets = [], ...origin }: Origin,
  told: string,
  { pointer, report }: LineOptions,
): Line {
  // A property without a declared type is a string by default, but not if a line writes the whole `$response` to it.
  const property =
    answers && declared !== null && !declared.array && getOwn(declared.source, 'type') === undefined ? null : declared
  if (answers && property !== null && (property.array || !ANSWERING.has(property.type)))
    report.warn(
      `${pointer}/to`,
      `${shown} can't hold $response, so the line will always fail: it should be of type object, and no list`,
    )
  const fitted = literal !== undefined && property && coerce(property, literal, 0, new WorkBudget(Infinity))
  if (fitted && !fitted.ok)
    report.warn(`${pointer}/expression`, `${shown}: the value ${fitted.reason}, so the line will always fail`)
  const name = `${told} (${startOf(`${shown} = ${origin.shown}`)})`
  const read = (scope: Scope): Json => {
    scope.budget.spend(STEPS_A_LINE)
    try {
      const value = origin.read(scope) ?? null
      if (property === null) return value
      const coerced = coerce(property, value, scope.turn.now, scope.budget)
      if (coerced.ok) return coerced.value
      throw new LineError(`${name}: the value ${coerced.reason}${value === null ? '' : `, and is ${toldOf(value)}`}`)
    } catch (error) {
      throw error instanceof ExpressionError ? new LineError(`${name}: ${error.message}`, { cause: error }) : error
    }
  }
  const write: Line['write'] = (root, value, budget) => {
    try {
      return writePath(root, path, value, lists, budget)
    } catch (error) {
      throw error instanceof LineError ? new LineError(`${name}: ${error.message}`) : error
    }
  }
  return { place, path, answers, reads, secrets, read, write }
}
