// definitions: what a state does.
import { getOwn, type Json, type JsonObject } from '../model/json.ts'
import { alternatives } from '../model/nearest.ts'
import { actionHint } from './foreign.ts'
import { ARGUMENTS } from './compile-names.ts'
import type { CompiledAction, Retry } from './flux.ts'
import { compileLines, type LineOptions, type Lines } from './lines.ts'
import type { Report } from './report.ts'
import type { Visible } from './visible.ts'
import { CodeAction, FluxAction, MapAction, Retry as RetrySchema, ScriptAction, take } from './schema.ts'

interface ActionOptions {
  /** What the state sees. */
  readonly visible: Visible
  /** Where outputs are written. */
  readonly resolve: LineOptions['resolve']
  readonly pointer: string
  readonly report: Report
}

type Sources = readonly JsonObject[] | null | undefined

const NOTHING: CompiledAction = { kind: 'map', lines: [] }

/** Milliseconds. */
const DEFAULT_TIMEOUT = 60_000
const DEFAULT_MAX_DELAY = 3_600_000

/** One that has a fault comes out as one that does nothing. */
export function compileAction(source: JsonObject, options: ActionOptions): CompiledAction {
  const type = getOwn(source, 'type') ?? ''
  switch (type) {
    case '': case 'map': return compileMap(source, options)
    case 'invokeCode': return compileCode(source, options)
    case 'invokeFlux': return compileChild(source, options)
    case 'script': return compileScript(source, options)
    default:
      options.report.fault(`${options.pointer}/type`, `unknown action type ${JSON.stringify(type)}${instead(type)}`)
      return NOTHING
  }
}

const TYPES = ['map', 'invokeCode', 'invokeFlux', 'script']

function instead(type: Json): string {
  if (typeof type !== 'string') return alternatives('', TYPES)
  const hint = actionHint(type)
  return hint === null ? alternatives(type, TYPES) : `: ${hint}`
}

function compileMap(source: JsonObject, { visible, resolve, pointer, report }: ActionOptions): CompiledAction {
  const action = take(MapAction, source, pointer, report)
  return { kind: 'map', lines: compileLines(action?.lines ?? [], { visible, resolve, pointer: `${pointer}/lines`, report }) }
}

function compileCode(source: JsonObject, options: ActionOptions): CompiledAction {
  const action = take(CodeAction, source, options.pointer, options.report)
  if (action === null) return NOTHING
  const { className, methodName } = action
  return {
    kind: 'code', className, methodName, inputs: argumentLines(action.inputs, options), outputs: resultLines(action.outputs, options),
    retry: compileRetry(action.retry, options), timeout: milliseconds(action.timeout) ?? DEFAULT_TIMEOUT, isolate: action.isolate ?? false,
  }
}

function compileChild(source: JsonObject, options: ActionOptions): CompiledAction {
  const action = take(FluxAction, source, options.pointer, options.report)
  if (action === null) return NOTHING
  return {
    kind: 'flux', name: action.name, inputs: argumentLines(action.inputs, options), outputs: resultLines(action.outputs, options),
    timeout: milliseconds(action.timeout),
  }
}

function compileScript(source: JsonObject, options: ActionOptions): CompiledAction {
  const action = take(ScriptAction, source, options.pointer, options.report)
  if (action === null) return NOTHING
  return {
    kind: 'script', script: action.script, outputs: resultLines(action.outputs, options),
    retry: compileRetry(action.retry, options), timeout: milliseconds(action.timeout) ?? DEFAULT_TIMEOUT,
  }
}

const argumentLines = (list: Sources, { visible, pointer, report }: ActionOptions): Lines =>
  compileLines(list ?? [], { visible, resolve: ARGUMENTS, pointer: `${pointer}/inputs`, report })

/** The keys of a result are known when it comes. */
const resultLines = (list: Sources, { resolve, pointer, report }: ActionOptions): Lines =>
  compileLines(list ?? [], { visible: null, resolve, pointer: `${pointer}/outputs`, report })

/** One attempt unless more are asked for; these follow at once, or after a constant `delay`, and never later than an hour or that delay. */
function compileRetry(source: JsonObject | null | undefined, { pointer, report }: ActionOptions): Retry {
  const given = take(RetrySchema, source ?? {}, `${pointer}/retry`, report)
  if (source && given?.maxAttempts == null) report.warn(`${pointer}/retry`, 'without maxAttempts there is one attempt')
  const delay = milliseconds(given?.delay) ?? 0
  return {
    maxAttempts: given?.maxAttempts ?? 1, delay, factor: given?.factor ?? 1,
    maxDelay: milliseconds(given?.maxDelay) ?? Math.max(delay, DEFAULT_MAX_DELAY),
  }
}

/** Files have seconds. */
const milliseconds = (seconds: number | null | undefined): number | null => seconds == null ? null : Math.ceil(seconds * 1000)
