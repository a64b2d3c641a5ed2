// steps: runs one step with its time limit and its abort signal, in this process or in another. It knows neither
// contexts nor definitions.
//
// - `steps/dispatcher.ts` puts the values in at each attempt. A secret that is missing then fails the attempt.
import type { Json, JsonObject } from '../model/json/value.ts'
import { argumentsWithSecrets } from '../model/secret-reference.ts'
import type { Clock } from '../ports/clock.ts'
import type { ServiceSecrets } from '../ports/secrets.ts'
import type { FunctionStep, StepDispatcher, StepRunner } from '../ports/steps.ts'

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
    async run(step) {
      if ('script' in step) {
        // The sandbox enforces the time limit, which starts when the script gets a process.
        const { timeoutMs, controller, ...script } = step
        return runner.runScript({ ...script, timeout: timeoutMs, signal: controller.signal })
      }
      const { args: stored, hasSecrets = false } = step
      // A copy of the arguments, with the present values of secrets.
      const args = hasSecrets
        ? argumentsWithSecrets(stored, (name) => secrets?.get(name) ?? null)
        : structuredClone(stored)
      // The pool enforces the time limit, which starts when the function is called.
      if (step.isolate) return runner.runIsolated({ ...step.name, args, flux: step.flux, timeout: step.timeoutMs })
      return runHere(step, args)
    },
  }

  /** After the timeout or an abort, the function is no longer waited for, even if it ignores its signal. */
  async function runHere({ name, flux, timeoutMs, controller }: FunctionStep, args: JsonObject): Promise<Json> {
    const { signal } = controller
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
