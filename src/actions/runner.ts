// actions: calls functions, the built-in ones and those of the user's modules.
import { getOwn, toBoundedJson } from '../model/json.ts'
import type { Log } from '../ports/log.ts'
import type { Flux, FunctionName, StepRunner } from '../ports/step-runner.ts'
import type { RunningStep, StepWatch } from '../ports/step-watch.ts'
import { builtInClasses, type Classes, type Method } from './builtin.ts'
import { Modules } from './modules.ts'
import { Scripts } from './scripts.ts'

export interface StepRunnerOptions {
  readonly log: Log
  /** Whether requests over HTTP may go to addresses that aren't public, those of this machine and of its networks among them. */
  readonly allowPrivate?: boolean
  /** Bytes that the result of a function or script may have as JSON. */
  readonly maxResult?: number
  /** Told of each function that runs in this process. */
  readonly watch?: StepWatch
}

const MAX_RESULT_BYTES = 1024 * 1024

/** A built-in class hides a module of the same name. */
export function stepRunner({ log, allowPrivate = false, maxResult = MAX_RESULT_BYTES, watch }: StepRunnerOptions): StepRunner {
  const modules = new Modules()
  const scripts = new Scripts({ maxResult })
  const classes = builtInClasses({ allowPrivate })

  return {
    mount(packages) {
      modules.mount(packages)
      watch?.mount(packages)
      log.debug('packages mounted', { packages: packages.map(({ name }) => name) })
    },
    async missing(name) {
      try {
        if (!builtInMethod(classes, name)) await modules.method(name)
        return null
      } catch (error) {
        return error instanceof Error ? error.message : String(error)
      }
    },
    async run({ args, flux, ...name }) {
      const method = builtInMethod(classes, name) ?? await modules.lastGood(name)
      const call = () => method(args, flux)
      return toBoundedJson(await (watch ? watch.run(runningStep(name, flux), call) : call()), maxResult)
    },
    scriptFault: (script) => scripts.fault(script),
    runScript: (call) => scripts.run(call),
    close: () => scripts.close(),
  }
}

function runningStep(name: FunctionName, { contextId, fluxName, stateName, stepKey, attempt }: Flux): RunningStep {
  return { ...name, contextId, fluxName, state: stateName, stepKey, attempt }
}

/** null: it is no built-in one. */
function builtInMethod(classes: Classes, { className, methodName }: FunctionName): Method | null {
  const builtIn = getOwn(classes, className)
  if (builtIn === undefined) return null
  const method = getOwn(builtIn, methodName)
  if (method === undefined) throw new Error(`the built-in class "${className}" has no method "${methodName}": it has ${Object.keys(builtIn).join(', ')}`)
  return method
}
