// steps: runs one step with its time limit and its abort signal, in this process or in another. It knows neither
// contexts nor definitions.
//
// - `steps/dispatcher.ts` puts the values in at each attempt. A secret that is missing then fails the attempt.
import type { Json, JsonObject } from '../model/json/value.ts'
import { argumentsWithSecrets } from '../model/secret-reference.ts'
import type { Clock } from '../ports/clock.ts'
import type { ServiceSecrets } from '../ports/secrets.ts'
import type { FunctionStep, ScriptStep, StepDispatcher, StepRunner } from '../ports/steps.ts'

export function createDispatcher({
  runner,
  clock,
  secrets,
}: {
  readonly runner: Pick<StepRunner, 'run' | 'runIsolated' | 'runScript'>
  readonly clock: Clock
  /** Absent: there are none. */
  readonly secrets?: Pick<ServiceSecrets, 'get'>
}): StepDispatcher {
  return {
    run: (step) => ('script' in step ? runScript(step) : step.isolate ? runIsolated(step) : runHere(step)),
  }

  /** A copy of the arguments, with the present values of secrets. */
  function argsOf({ args, hasSecrets = false }: FunctionStep): JsonObject {
    return hasSecrets ? argumentsWithSecrets(args, (name) => secrets?.get(name) ?? null) : structuredClone(args)
  }

  /** The sandbox enforces the time limit, which starts when the script gets a process. */
  function runScript({ script, names, timeoutMs, controller, onSlow }: ScriptStep): Promise<Json> {
    return runner.runScript({ script, names, timeout: timeoutMs, signal: controller.signal, onSlow })
  }

  /** The pool enforces the time limit, which starts when the function is called. */
  async function runIsolated(step: FunctionStep): Promise<Json> {
    const { name, flux, timeoutMs } = step
    const args = step.hasSecrets === true ? argsOf(step) : step.args
    return runner.runIsolated({ ...name, args, flux, timeout: timeoutMs })
  }

  /** After the timeout or an abort, the function is no longer waited for, even if it ignores its signal. */
  async function runHere(step: FunctionStep): Promise<Json> {
    const { name, flux, timeoutMs, controller } = step
    const { signal } = controller
    const args = argsOf(step)
    const cancelTimer = clock.after(timeoutMs, () =>
      controller.abort(new DOMException(`no result within ${timeoutMs / 1000} s`, 'TimeoutError')),
    )
    const aborted = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
    )
    try {
      return await Promise.race([runner.run({ ...name, args, flux }), aborted])
    } finally {
      cancelTimer()
    }
  }
}
