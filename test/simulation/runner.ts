// The step runner of the simulation: functions that take their time, fail, never return, as the seed says. What was
// called with what is written down.
import { isObject, type Json } from '../../src/model/json/value.ts'
import type { FunctionName, Flux, IsolatedCall, ScriptCall, StepRunner } from '../../src/ports/steps.ts'
import type { Actor, Scheduler } from './scheduler.ts'

export interface Call {
  readonly server: string
  readonly contextId: number
  readonly stepKey: string
  readonly attempt: number
  /** JSON. */
  readonly args: string
  /** Epoch milliseconds. */
  readonly at: number
  /** undefined: it hasn't, or failed. */
  returned?: string
}

export interface Calls {
  readonly all: Call[]
  /** Looks at a call that begins. */
  readonly begins: (call: Call) => void
  /** How often functions fail, take long, and never return. */
  failing: number
  readonly long: number
  hanging: number
  /** Functions at once in each server. */
  readonly slots: { readonly code: number; readonly isolated: number }
  /** Called with what must not happen. */
  readonly wrong: (what: string) => void
}

/** Milliseconds that a function takes, and a long one. */
const TIME_MS = { usual: 200, long: 12_000 }

export class SimulatedRunner implements StepRunner {
  readonly #server: Actor
  readonly #scheduler: Scheduler
  readonly #calls: Calls
  readonly #running = { code: new Set<Call>(), isolated: new Set<Call>() }

  constructor(server: Actor, scheduler: Scheduler, calls: Calls) {
    this.#server = server
    this.#scheduler = scheduler
    this.#calls = calls
  }

  mount = () => {}
  close = () => {}
  missing = async () => null
  scriptFault = async () => null
  stackOf = () => null
  run = ({ args, flux }: FunctionName & { readonly args: Json; readonly flux: Flux }): Promise<Json> =>
    this.#call('code', args, flux)

  runIsolated({ args, flux, timeout }: IsolatedCall): Promise<Json> {
    const { signal } = flux
    return Promise.race([
      this.#call('isolated', args, flux),
      new Promise<never>((_, reject) => {
        this.#scheduler.after(timeout, this.#server, () =>
          reject(new DOMException('no result in time', 'TimeoutError')),
        )
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      }),
    ])
  }

  runScript(_call: ScriptCall): Promise<Json> {
    return Promise.reject(new Error('the services of the simulation have no scripts'))
  }

  async #call(kind: 'code' | 'isolated', args: Json, { contextId, stepKey, attempt, signal }: Flux): Promise<Json> {
    const { random } = this.#scheduler
    const { all, begins, failing, long, hanging, slots, wrong } = this.#calls
    const call: Call = {
      server: this.#server.name,
      contextId,
      stepKey,
      attempt,
      args: JSON.stringify(args),
      at: this.#scheduler.now,
    }
    all.push(call)
    const running = this.#running[kind]
    running.add(call)
    const ends = () => running.delete(call)
    signal.addEventListener('abort', ends, { once: true })
    if (running.size > slots[kind]) wrong(`${this.#server.name} runs ${running.size} functions at once`)
    this.#scheduler.tell(this.#server, `step ${stepKey} begins, attempt ${attempt}, with ${call.args}`)
    begins(call)
    if (random.chance(hanging)) return new Promise<never>(() => {})
    await this.#scheduler.sleep(random.between(0, random.chance(long) ? TIME_MS.long : TIME_MS.usual), this.#server)
    ends()
    const fails = random.chance(failing)
    this.#scheduler.tell(this.#server, `step ${stepKey} ${fails ? 'fails' : 'ends'}, attempt ${attempt}`)
    if (fails) throw new Error('it failed')
    call.returned = `${stepKey}/${all.indexOf(call)}/${isObject(args) ? args['round'] : ''}`
    return { result: call.returned }
  }
}
