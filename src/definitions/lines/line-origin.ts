// definitions: where the value of a line comes from: a path, an expression, or a literal.
import { getOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { suggestion } from '../../model/nearest.ts'
import { SECRETS, secretNameFault } from '../../model/secret-reference.ts'
import { compileExpression } from '../expressions/compile.ts'
import { secretUses, type SecretUses } from '../expressions/secret-uses.ts'
import type { Scope } from '../expressions/expression.ts'
import { notParsed, PLAIN_TEXT, strangePaths, unseenNames } from './visible.ts'
import { readPath } from '../values/paths.ts'
import { NO_SECRETS } from './secret-reference.ts'
import { loggedText, orAsItStands } from './logged-text.ts'
import { readSegments, refuseLine, type LineSource, type PartOptions } from './line.ts'

const NO_USES: SecretUses = { secrets: [], carries: false, fault: null }

export interface Origin {
  /** The value before it is coerced to its target's type; undefined where a path leads nowhere. */
  readonly read: (scope: Scope) => Json | undefined
  readonly source: LineSource
  readonly literal?: Json
  readonly answers?: boolean
  /** Names of the secrets in it. */
  readonly secrets?: readonly string[]
  /** Whether the value contains a secret. */
  readonly carries?: boolean
}

/** Compiles the source of a line's value; null after a fault, which is reported. */
export function compileOrigin(source: JsonObject, pointer: string, options: PartOptions): Origin | null {
  const type = getOwn(source, 'type') ?? 'map'
  if (type === 'map') return compileMap(source, pointer, options)
  if (type === 'set') return compileSet(source, pointer, options)
  return refuseLine(options.report, `${pointer}/type`, 'a line is of type "map" or "set"')
}

function compileMap(source: JsonObject, pointer: string, options: PartOptions): Origin | null {
  const { visible, report } = options
  const from = readSegments(source, 'from', pointer, report)
  if (from === null) return null
  const [name = '', ...path] = from
  const secrets = name === SECRETS ? path : null
  if (secrets !== null) {
    const at = `${pointer}/from`
    const fault = secrets.length === 1 ? secretNameFault(secrets[0] ?? '') : 'must be ["$secrets", "NAME"]'
    if (options.carriers === null || fault !== null)
      return refuseLine(report, at, options.carriers ? (fault ?? '') : NO_SECRETS)
    for (const secret of secrets) report.refer({ pointer: at, name: secret, faultOf: () => null })
  } else if (visible !== null && !visible(name))
    report.warn(
      `${pointer}/from`,
      `"${name}" is visible nowhere: the line will carry null${suggestion(name, visible.names?.() ?? [])}`,
    )
  for (const warning of strangePaths([from], visible)) report.warn(`${pointer}/from`, warning)
  return {
    source: { from },
    secrets: secrets ?? [],
    carries: secrets !== null || options.carriers?.has(name) === true,
    read: (scope) => readPath(scope.get(name), path, name, scope.budget),
    answers: name === '$response' && path.length === 0,
  }
}

function compileSet(source: JsonObject, pointer: string, options: PartOptions): Origin | null {
  const { visible, carriers, report, logs = false } = options
  const at = `${pointer}/expression`
  const expression = getOwn(source, 'expression')
  const given = getOwn(source, 'evaluate') ?? false
  if (typeof given !== 'boolean') return refuseLine(report, `${pointer}/evaluate`, 'evaluate must be true or false')
  if (expression === undefined && given) return refuseLine(report, at, 'there is no expression to evaluate')
  if (expression === undefined) report.warn(at, 'there is no expression: the line will set null')
  const text = { evaluate: given, carriers, visible, pointer: at, report }
  const template = logs && typeof expression === 'string' ? loggedText(expression, text) : null
  const [literal, evaluate] = [template ?? expression ?? null, given || template !== null]
  if (!evaluate && typeof literal === 'string' && literal.includes(`${SECRETS}.`))
    report.warn(at, 'the $secrets in it is plain text: set "evaluate" to true for what it stands for')
  if (!evaluate || typeof literal !== 'string') return { source: null, read: () => literal, literal }
  try {
    const compiled = compileExpression(literal)
    const written = template !== null && given ? compileExpression(String(expression)) : null
    const plain = (scope: Scope) => (written ? written.evaluate(scope) : (expression ?? null))
    if (compiled.quotesPlaceholder) report.warn(at, PLAIN_TEXT)
    for (const warning of strangePaths(compiled.paths, visible)) report.warn(at, warning)
    if (compiled.names.has(SECRETS) && carriers === null) return refuseLine(report, at, NO_SECRETS)
    const names = carriers === null ? compiled.names : [...compiled.names].filter((name) => name !== SECRETS)
    const unseen = unseenNames(names, visible, literal)
    if (unseen !== null) return refuseLine(report, at, unseen)
    const { secrets, carries, fault } = carriers === null ? NO_USES : secretUses(literal, carriers)
    if (fault !== null) return refuseLine(report, at, fault)
    for (const name of secrets) report.refer({ pointer: at, name, faultOf: () => null })
    return {
      secrets,
      carries,
      source: { expression: literal, names: compiled.names },
      read: template === null ? (scope) => compiled.evaluate(scope) : orAsItStands(compiled, plain),
      answers: literal.trim() === '$response',
    }
  } catch (error) {
    return refuseLine(report, at, notParsed(error, literal))
  }
}
