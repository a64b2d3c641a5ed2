// actions: calls functions, the built-in ones and those of the user's modules.
import { getOwn } from '../model/json.ts'
import { suggestion } from '../model/nearest.ts'
import type { Log } from '../ports/log.ts'
import type { FunctionName, StepRunner } from '../ports/step-runner.ts'
import { builtInClasses, type Classes, type Method } from './builtin.ts'
import { Modules, NoModule } from './modules.ts'
import { Scripts } from './scripts.ts'
import type { Thrown } from './user-stack.ts'

/**
 * A built-in class hides a module of the same name.
 * `allowPrivate`: requests over HTTP may go to addresses that aren't public, those of this machine and of its networks among them.
 */
export function stepRunner({ log, allowPrivate = false }: { log: Log; allowPrivate?: boolean }): StepRunner {
  const modules = new Modules()
  const scripts = new Scripts()
  const classes = builtInClasses({ allowPrivate })

  return {
    mount(packages) {
      modules.mount(packages)
      log.debug('packages mounted', { packages: packages.map(({ name }) => name) })
    },
    async missing(name) {
      try {
        if (!builtInMethod(classes, name)) await modules.method(name)
        return null
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        if (!(error instanceof NoModule)) return reason
        return reason + suggestion(name.className, [...Object.keys(classes), ...await modules.names(name.package)])
      }
    },
    async run({ args, flux, ...name }) {
      const method = builtInMethod(classes, name) ?? await modules.lastGood(name)
      return method(args, flux)
    },
    stackOf(thrown, packageName) {
      const read = thrownOf(thrown)
      return read && modules.stackOf(read, packageName)
    },
    scriptFault: (script) => scripts.fault(script),
    runScript: (call) => scripts.run(call),
    close: () => scripts.close(),
  }
}

/** Whatever was thrown may break when it is read. */
function thrownOf(thrown: unknown): Thrown | null {
  try {
    if (!(thrown instanceof Error) || typeof thrown.stack !== 'string') return null
    return { name: String(thrown.name), message: String(thrown.message), stack: thrown.stack }
  } catch {
    return null
  }
}

/** null: it is no built-in one. */
function builtInMethod(classes: Classes, { className, methodName }: FunctionName): Method | null {
  const builtIn = getOwn(classes, className)
  if (builtIn === undefined) return null
  const method = getOwn(builtIn, methodName)
  if (method === undefined) {
    const names = Object.keys(builtIn)
    throw new Error(`the built-in class "${className}" has no method "${methodName}"${suggestion(methodName, names)}: it has ${names.join(', ')}`)
  }
  return method
}
