// steps: runs functions (built-in ones and those of users' modules) and scripts.
import { messageOf } from '../model/error-message.ts'
import { toBoundedJson } from '../model/json/value.ts'
import type { Log } from '../ports/log.ts'
import type { StepRunner, StepWatch } from '../ports/steps.ts'
import { Functions } from './modules/functions.ts'
import { IsolatePool } from './modules/isolate-pool.ts'
import { Scripts } from './script/scripts.ts'

export interface StepRunnerOptions {
  readonly log: Log
  /**
   * Whether HTTP requests may connect to addresses that are not public, such as those of this machine and its networks.
   */
  readonly allowPrivate?: boolean
  /** Maximum size of the result of a function or script, in bytes of JSON. */
  readonly maxResult?: number
  /** Maximum number of processes for isolated functions. */
  readonly isolated?: number
  /** Tracks each function that runs in this process. */
  readonly watch?: StepWatch
}

export const MAX_RESULT_BYTES = 1024 * 1024
const ISOLATED = 8

/** Creates the runner. A built-in class shadows a module of the same name. */
export function stepRunner({
  log,
  allowPrivate = false,
  maxResult = MAX_RESULT_BYTES,
  isolated = ISOLATED,
  watch,
}: StepRunnerOptions): Required<StepRunner> {
  const functions = new Functions({ allowPrivate })
  const scripts = new Scripts({ maxResult })
  const isolates = new IsolatePool({ places: isolated, allowPrivate, maxResult })

  return {
    mount(packages) {
      for (const part of [functions, isolates, watch]) part?.mount(packages)
      log.debug('packages mounted', { packages: packages.map(({ name }) => name) })
    },
    missing: (name) => functions.newest(name).then(() => null, messageOf),
    async run({ args, flux, ...name }) {
      const method = await functions.lastGood(name)
      const call = () => method(args, flux)
      const { contextId, fluxName, stateName: state, stepKey, attempt } = flux
      const step = { ...name, contextId, fluxName, state, stepKey, attempt }
      return toBoundedJson(await (watch ? watch.run(step, call) : call()), maxResult)
    },
    stackOf(thrown, packageName) {
      try {
        return thrown instanceof Error ? functions.stackOf(thrown, packageName) : null
      } catch {
        // Reading a property of a thrown value may throw.
        return null
      }
    },
    runIsolated: (call) => isolates.run(call),
    scriptFault: (script) => scripts.fault(script),
    runScript: (call) => scripts.run(call),
    close() {
      scripts.close()
      isolates.close()
    },
  }
}
