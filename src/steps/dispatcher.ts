// steps: runs one step with its time limit and its abort signal, in this process or in another. It knows neither
// contexts nor definitions.
import type { Json } from '../model/json/value.ts'
import type { Clock } from '../ports/clock.ts'
import type { FunctionStep, ScriptStep, StepDispatcher, StepRunner } from '../ports/step-runner.ts'

export function createDispatcher({
  runner,
  clock,
}: {
  readonly runner: Pick<StepRunner, 'run' | 'runIsolated' | 'runScript'>
  readonly clock: Clock
}): StepDispatcher {
  return {
    run: (step) => ('script' in step ? runScript(step) : step.isolate ? runIsolated(step) : runHere(step)),
  }

  /** The sandbox enforces the time limit, which starts when the script gets a process. */
  function runScript({ script, names, timeoutMs, controller, onSlow }: ScriptStep): Promise<Json> {
    return runner.runScript({ script, names, timeout: timeoutMs, signal: controller.signal, onSlow })
  }

  /** The pool enforces the time limit, which starts when the function is called. */
  function runIsolated({ name, args, flux, timeoutMs }: FunctionStep): Promise<Json> {
    return runner.runIsolated({ ...name, args, flux, timeout: timeoutMs })
  }

  /** After the timeout or an abort, the function is no longer waited for, even if it ignores its signal. */
  async function runHere({ name, args, flux, timeoutMs, controller }: FunctionStep): Promise<Json> {
    const { signal } = controller
    const cancelTimer = clock.after(timeoutMs, () =>
      controller.abort(new DOMException(`no result within ${timeoutMs / 1000} s`, 'TimeoutError')),
    )
    const aborted = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
    )
    try {
      return await Promise.race([runner.run({ ...name, args: structuredClone(args), flux }), aborted])
    } finally {
      cancelTimer()
    }
  }
}
