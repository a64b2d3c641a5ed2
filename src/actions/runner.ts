// actions: calls functions, the built-in ones and those of the user's modules.
import { getOwn } from '../model/json.ts'
import type { Log } from '../ports/log.ts'
import type { FunctionName, StepRunner } from '../ports/step-runner.ts'
import { BUILT_IN, type Method } from './builtin.ts'
import { Modules } from './modules.ts'

/** A built-in class hides a module of the same name. */
export function stepRunner({ log }: { log: Log }): StepRunner {
  const modules = new Modules()

  return {
    mount(packages) {
      modules.mount(packages)
      log.debug('packages mounted', { packages: packages.map(({ name }) => name) })
    },
    async missing(name) {
      try {
        if (!builtInMethod(name)) await modules.method(name)
        return null
      } catch (error) {
        return error instanceof Error ? error.message : String(error)
      }
    },
    async run({ args, flux, ...name }) {
      const method = builtInMethod(name) ?? await modules.lastGood(name)
      return method(args, flux)
    },
  }
}

/** null: it is no built-in one. */
function builtInMethod({ className, methodName }: FunctionName): Method | null {
  const builtIn = getOwn(BUILT_IN, className)
  if (builtIn === undefined) return null
  const method = getOwn(builtIn, methodName)
  if (method === undefined) throw new Error(`the built-in class "${className}" has no method "${methodName}": it has ${Object.keys(builtIn).join(', ')}`)
  return method
}
