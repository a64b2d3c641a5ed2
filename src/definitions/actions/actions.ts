// definitions/actions: compiles the actions of states, and checks that what they refer to exists.
import { alternatives, suggestion } from '../../model/nearest.ts'
import type { StepRunner } from '../../ports/steps.ts'
import { scriptHint } from '../expressions/foreign.ts'
import type { CompiledAction, CompiledFlux, Retry } from '../flux.ts'
import type { Lines } from '../lines/line.ts'
import { compileLines, type LineOptions } from '../lines/lines.ts'
import { ARGUMENTS, NO_SECRETS } from '../lines/names.ts'
import type { Report } from '../report.ts'
import type { ActionSource, RetrySource } from '../source/schema.ts'
import { descend } from '../values/properties.ts'

/** `visible`: the names in the state. `resolve`: those that outputs write to. */
type ActionOptions = Omit<LineOptions, 'of'>

/** An action that does nothing. */
export const PLAIN: CompiledAction = {
  type: 'map',
  effect: null,
  inputs: [],
  secrets: [],
  outputs: [],
  retry: { maxAttempts: 1, delay: 0, factor: 1, maxDelay: 0 },
  timeoutMs: null,
  code: null,
  script: null,
  child: null,
}

const LOGGERS = new Set(['Logger', 'io.toro.martini.LoggerMethods'])

const SECRETS_WORD = /(?<![\w$])\$secrets(?![\w$])/

export function compileAction(source: ActionSource, options: ActionOptions): CompiledAction {
  const { pointer, report } = options
  if (!source) return PLAIN
  // The keys of a result are known only when it arrives.
  const outputsOf = (lines: Parameters<typeof compileLines>[0]) =>
    compileLines(lines, { ...options, visible: null, pointer: `${pointer}/outputs`, of: 'the outputs' })
  const inputs = { ...options, resolve: ARGUMENTS, pointer: `${pointer}/inputs`, of: 'the inputs' }
  switch (source.type) {
    case 'invokeCode': {
      const { className, methodName, isolate, timeout } = source
      const lines = compileLines(source.inputs, { ...inputs, seesSecrets: true, logs: LOGGERS.has(className) })
      const isDelivery = className === 'Webhooks' && methodName === 'send' && !source.retry
      return {
        ...PLAIN,
        type: 'invokeCode',
        effect: 'step',
        inputs: lines,
        secrets: [...new Set(lines.flatMap(({ secrets }) => secrets))],
        outputs: outputsOf(source.outputs),
        retry: isDelivery ? DELIVERY_RETRY : compileRetry(source.retry, options),
        timeoutMs: timeout,
        code: { className, methodName, isolate },
      }
    }
    case 'invokeFlux':
      return {
        ...PLAIN,
        type: 'invokeFlux',
        effect: 'child',
        child: source.name,
        inputs: compileLines(source.inputs, inputs),
        outputs: outputsOf(source.outputs),
        timeoutMs: source.timeout ?? null,
      }
    case 'script':
      if (SECRETS_WORD.test(source.script)) report.fault(`${pointer}/script`, NO_SECRETS)
      // A script has no stored arguments: it reads the data of the context, since a copy would double the size of what a
      // client sent.
      return {
        ...PLAIN,
        type: 'script',
        effect: 'step',
        outputs: outputsOf(source.outputs),
        retry: compileRetry(source.retry, options),
        timeoutMs: source.timeout,
        script: source.script,
      }
    default:
      return {
        ...PLAIN,
        outputs: compileLines(source.lines, { ...options, pointer: `${pointer}/lines`, of: 'the action' }),
      }
  }
}

const HOUR_S = 3600

/** The schedule that Standard Webhooks recommends (spec 1.0, "Retry schedule and deliverability"). */
const DELIVERY_DELAYS_MS = [
  5,
  5 * 60,
  30 * 60,
  2 * HOUR_S,
  5 * HOUR_S,
  10 * HOUR_S,
  14 * HOUR_S,
  20 * HOUR_S,
  24 * HOUR_S,
].map((delay) => delay * 1000)

/** What `Webhooks.send` does without a `retry` of its own, and the webhook at the end of a context. */
export const DELIVERY_RETRY: Retry = {
  ...PLAIN.retry,
  maxAttempts: DELIVERY_DELAYS_MS.length + 1,
  schedule: DELIVERY_DELAYS_MS,
  jitter: 0.1,
}

/** Defaults: one attempt, no delay, factor 1, and a maximum delay of an hour or of `delay` if that is longer. */
function compileRetry(source: RetrySource, { pointer, report }: ActionOptions) {
  if (source && source.maxAttempts == null) report.warn(`${pointer}/retry`, 'without maxAttempts there is one attempt')
  const delay = source?.delay ?? 0
  return {
    maxAttempts: source?.maxAttempts ?? 1,
    delay,
    factor: source?.factor ?? 1,
    maxDelay: source?.maxDelay ?? Math.max(delay, HOUR_S * 1000),
  }
}

/** A service, as others refer to it. */
export interface Unit {
  readonly package: string
  readonly fluxName: string
  /** null: nothing of its file can be used. It may have faults. */
  readonly flux: CompiledFlux | null
  readonly report: Report
}

/**
 * Checks that the functions, scripts and services that the actions of a service name are usable, so that what is missing
 * is reported when the server starts. The service may have other faults.
 */
export async function checkActions(unit: Unit, units: readonly Unit[], runner: StepRunner): Promise<void> {
  const { package: owner, report } = unit
  for (const { index, action } of unit.flux?.states ?? []) {
    const pointer = `/states/${index}/action`
    const { code, script } = action
    const missing = code && (await runner.missing({ package: owner, ...code }))
    if (missing !== null) report.fault(pointer, missing)
    const reason = script && (await runner.scriptFault(script))
    if (script && reason) report.fault(`${pointer}/script`, `can't be parsed: ${reason}${scriptHint(script)}`)
    if (action.child !== null) checkChild(action.child, action.inputs, pointer, unit, units)
  }
}

/**
 * Warns if the service does not exist or is ambiguous. It is not a fault: the service may be added before the action
 * runs. Inputs that the service would refuse are faults.
 */
function checkChild(
  name: string,
  inputs: Lines,
  pointer: string,
  { package: owner, report }: Unit,
  units: readonly Unit[],
) {
  const warn = (reason: string) => report.warn(`${pointer}/name`, reason)
  const found = units.filter(({ fluxName }) => fluxName === name)
  const target = found.find((unit) => unit.package === owner) ?? (found.length === 1 ? found[0] : undefined)
  if (target?.flux?.key) warn(`"${name}" has no key here: a child is kept with its parent`)
  if (target?.flux && !target.report.broken) checkInputs(inputs, target.flux, `${pointer}/inputs`, report)
  if (found.length === 0) {
    const names = units.map(({ fluxName }) => fluxName)
    warn(`there is no service "${name}" now${suggestion(name, names)}`)
  } else if (target === undefined)
    warn(`"${name}" could be that of ${found.map((unit) => `"${unit.package}"`).join(' or ')}`)
}

/** Reports inputs that the child does not declare, and required ones that no line sets. */
function checkInputs(lines: Lines, child: CompiledFlux, pointer: string, report: Report) {
  const { fluxName, input } = child
  // A line with a fault may set any of them.
  if (lines.some(({ path }) => path.length === 0)) return
  for (const [index, line] of lines.entries()) {
    const at = `${pointer}/${index}/to`
    const [name = '', ...below] = line.path
    const property = input.properties.get(name)
    const found = property && descend(property, below)
    if (found?.ok === false) report.fault(at, `"${fluxName}": ${found.reason}`)
    if (!property && !input.extra)
      report.fault(at, `"${fluxName}" has no input "${name}"${alternatives(name, input.properties.keys())}`)
  }
  const given = new Set(lines.map(({ path: [name] }) => name))
  for (const { name, required, defaultValue } of input.properties.values())
    if (required && defaultValue === undefined && !given.has(name))
      report.fault(pointer, `"${fluxName}" requires the input "${name}", which no line sets`)
}
