// steps: runs one step with its time limit and its abort signal, in this process or in another. It knows neither
// contexts nor definitions. Secrets are put into the arguments at each attempt; a missing one fails the attempt.
import { copyOf } from '../model/json/value.ts'
import { argumentsWithSecrets } from '../model/secret-reference.ts'
import type { Clock } from '../ports/clock.ts'
import type { ServiceSecrets } from '../ports/secrets.ts'
import type { StepDispatcher, StepRunner } from '../ports/steps.ts'

export const createDispatcher = ({
  runner,
  clock,
  secrets,
}: {
  readonly runner: Pick<StepRunner, 'run' | 'runIsolated' | 'runScript'>
  readonly clock: Clock
  /** Absent: there are none. */
  readonly secrets?: Pick<ServiceSecrets, 'get'>
}): StepDispatcher => ({
  async run({ timeoutMs, controller, ...step }) {
    const { signal } = controller
    // The sandbox and the pool enforce the time limit, which starts when the script or the function begins.
    if ('script' in step) return runner.runScript({ ...step, timeout: timeoutMs, signal })
    const { name, flux, args: stored, hasSecrets = false } = step
    // A copy of the arguments, with the present values of secrets.
    const args = hasSecrets ? argumentsWithSecrets(stored, (name) => secrets?.get(name) ?? null) : copyOf(stored)
    if (step.isolate) return runner.runIsolated({ ...name, args, flux, timeout: timeoutMs })
    const cancelTimer = clock.after(timeoutMs, () =>
      controller.abort(new DOMException(`no result within ${timeoutMs / 1000} s`, 'TimeoutError')),
    )
    // After the timeout or an abort, the function is no longer waited for, even if it ignores its signal.
    const aborted = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
    )
    try {
      return await Promise.race([runner.run({ ...name, args, flux }), aborted])
    } finally {
      cancelTimer()
    }
  },
})
