// testing: the step runner of a test, which stands in front of the real one. It calls fakes, keeps built-in classes from
// the network, and notes every call of a function.
//
// - What is not faked runs as it is: functions in this process, also those that a server would isolate, since the start
//   of a process takes longer than a whole test; scripts in their sandbox, because they see another JavaScript there.
// - A fake is not waited for: while its promise is pending, its step is under way, and the clock can be moved to the
//   timeout of the step, or the runtime can crash. The simulated clock waits for the functions that are not faked.
import type { CompiledFlux } from '../definitions/flux.ts'
import { copyOf, getOwn, toBoundedJson } from '../model/json/value.ts'
import { alternatives } from '../model/nearest.ts'
import type { Clock } from '../ports/clock.ts'
import type { Flux, FunctionCall, StepRunner } from '../ports/steps.ts'
import { builtInClasses } from '../steps/builtin/builtin.ts'
import type { HttpOptions } from '../steps/builtin/http/request.ts'
import { MAX_RESULT_BYTES } from '../steps/runner.ts'
import type { UnderWay } from './idle.ts'
import type { FakeFunction, FunctionCallSeen } from './types.ts'

export interface TestRunnerParts {
  readonly services: readonly CompiledFlux[]
  /** The real one. */
  readonly runner: StepRunner
  readonly clock: Clock
  readonly http: HttpOptions
}

export function testRunner({ services, runner, clock, http }: TestRunnerParts) {
  const running = runningSteps()
  const fakes = new Map<string, FakeFunction>()
  const calls: { readonly names: readonly string[]; readonly call: FunctionCallSeen }[] = []
  const builtIns = builtInClasses(http)
  const known = functionsOf(services)

  function check(name: string) {
    if (!known.has(name)) throw new Error(`no service calls a function "${name}"${alternatives(name, known)}`)
  }

  async function run({ args, flux, ...name }: FunctionCall) {
    const { attempt, stepKey, contextId } = flux
    const names = namesOf(name)
    calls.push({ names, call: { arguments: copyOf(args), attempt, stepKey, contextId, at: clock.now() } })
    const [fake] = names.flatMap((each) => fakes.get(each) ?? [])
    const instead = fake ?? getOwn(getOwn(builtIns, name.className) ?? {}, name.methodName)
    if (instead) return toBoundedJson(await instead(args, flux), MAX_RESULT_BYTES)
    const waitFor: Flux['waitFor'] = (...given) => running.counted(-1, () => flux.waitFor(...given))
    return running.counted(1, () => runner.run({ ...name, args, flux: { ...flux, waitFor } }))
  }

  const steps: StepRunner = {
    mount() {},
    missing: runner.missing,
    scriptFault: runner.scriptFault,
    stackOf: runner.stackOf,
    run,
    runScript: (call) => running.counted(1, () => runner.runScript(call)),
    close() {},
  }

  return {
    steps,
    /** What the clock waits for. */
    underWay: running.underWay,
    /** See `TestRuntime`. @throws Error when no service calls such a function */
    fake(name: string, given: FakeFunction | readonly unknown[]) {
      check(name)
      fakes.set(name, typeof given === 'function' ? given : inTurn(given, `the fake of ${name}`))
    },
    /** The calls of that function so far. @throws Error when no service calls such a function */
    calls(name: string) {
      check(name)
      return calls.filter(({ names }) => names.includes(name)).map(({ call }) => call)
    },
  }
}

/** The names of the functions that services call. */
const functionsOf = (services: readonly CompiledFlux[]): ReadonlySet<string> =>
  new Set(
    services.flatMap(({ package: owner, states }) =>
      states.flatMap(({ action: { code } }) => (code ? namesOf({ package: owner, ...code }) : [])),
    ),
  )

/** A function is named with its package or without. */
const namesOf = ({ package: owner, className, methodName }: Omit<FunctionCall, 'args' | 'flux'>) => {
  const path = `${className}.${methodName}`
  return [`${owner}/${path}`, path]
}

/**
 * Gives the next result at each call: what a function returns, throws what is an Error. `what`: that which has them, for
 * the error when there are no more.
 */
export function inTurn<Given extends unknown[]>(
  results: readonly unknown[],
  what: string,
): (...given: Given) => unknown {
  let count = 0
  return (...given) => {
    if (count === results.length) throw new Error(`${what} has ${count} results, and none for another call`)
    const result = results[count]
    count += 1
    if (result instanceof Error) throw result
    return typeof result === 'function' ? Reflect.apply(result, null, given) : result
  }
}

/** Real time after which a test does not wait any longer for a function, milliseconds. */
const MAX_RUN_MS = 30_000

/** Counts functions and scripts that run as they are: the simulated clock stands still until they have ended. */
function runningSteps() {
  let count = 0
  const listeners = new Set<() => void>()
  const add = (number: number) => {
    count += number
    for (const listener of listeners) listener()
    listeners.clear()
  }
  /** The next change; null: none runs. It rejects when there is none for too long. */
  const underWay: UnderWay = () => {
    if (count === 0) return null
    return new Promise<void>((resolve, reject) => {
      const late = new Error(`a function has no result within ${MAX_RUN_MS / 1000} s of real time: fake it`)
      const timer = setTimeout(reject, MAX_RUN_MS, late)
      listeners.add(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
  /** `number`: those that run more meanwhile; -1: one lets the clock move on. */
  async function counted<T>(number: number, run: () => Promise<T>) {
    add(number)
    try {
      return await run()
    } finally {
      add(-number)
    }
  }
  return { underWay, counted }
}
