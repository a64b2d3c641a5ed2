// steps: runs scripts of users in a pool of processes. Input and output are data.
//
// - Some calls inside QuickJS never check its own time limit; then the process is ended.
// - A script that has run for a second is slow. Slow ones have as many processes as the others; one that finds none of
//   them free begins anew when there is one, so that quick scripts never wait for slow ones.
// - Steps that are scripts have slots of their own, so that waiting scripts do not delay functions.
import { availableParallelism } from 'node:os'
import { messageOf } from '../../model/error-message.ts'
import { toJson, type Json } from '../../model/json/value.ts'
import type { ScriptCall } from '../../ports/steps.ts'
import { ProcessPool, type Job, type Place } from '../processes/process-pool.ts'
import type { Script, ScriptOutcome } from './sandbox.ts'
import { scriptError, type ScriptThrown } from './script-error.ts'

/** Time after which a script is slow. */
const SLOW_MS = 1000
/** Time after the time limit at which the process is killed. */
const GRACE_MS = 500
/** Upper limit of the timeout of a script: about the longest delay of a timer in Node. */
const MAX_TIME_MS = 2 ** 30
/** Time limit for parsing a script without running it. */
const CHECK_TIME_MS = 1000
/** Maximum number of scripts that run at once, without slow ones; as many again may be slow. */
const MAX_PROCESSES = Math.max(2, Math.min(4, availableParallelism() - 1))
/** The last idle process is kept: starting one takes 100 ms. */
const KEPT_PROCESSES = 1
/** Maximum length of the JSON text of the names that a script sees. */
const MAX_NAMES_CHARACTERS = 16 * 1024 * 1024
/**
 * Flags of Node: the stack in kilobytes, of which QuickJS needs more than the default, and the JavaScript heap in
 * megabytes.
 */
const FLAGS = ['--stack-size=4000', '--max-old-space-size=128']

interface Scripted {
  /** Without names, the script is only parsed. */
  readonly call: Pick<ScriptCall, 'script' | 'timeout'> & { readonly names: ScriptCall['names'] | null }
  readonly sent: Script
  readonly received: ScriptOutcome
}

type ScriptPlace = Place<Scripted>
type ScriptJob = Job<Scripted>

export class Scripts extends ProcessPool<Scripted> {
  /** Maximum size of a result, in bytes of JSON. */
  readonly #maxResult: number

  constructor({ maxResult }: { readonly maxResult: number }) {
    super(MAX_PROCESSES, KEPT_PROCESSES)
    this.#maxResult = maxResult
  }

  /**
   * Runs a script. Its time limit starts when it gets a process.
   * @throws Error with the name and the message that the script threw; ResultTooLarge; TimeoutError; the abort reason
   * of the signal
   */
  async run(call: ScriptCall): Promise<Json> {
    const timeout = Math.min(call.timeout, MAX_TIME_MS)
    // `value` is absent if it cannot be data, like a function.
    const answer: ScriptThrown | { readonly name?: undefined; readonly value?: unknown } = JSON.parse(
      await this.enqueue({ ...call, timeout }, call.signal),
    )
    if (answer.name !== undefined) throw scriptError(answer)
    return toJson(answer.value)
  }

  /** The reason why the script cannot be parsed; null if it can. */
  fault(script: string) {
    return this.enqueue({ script, names: null, timeout: CHECK_TIME_MS }).then(() => null, messageOf)
  }

  /** A process without environment variables, except `TZ` for dates. It cannot write to the server's output. */
  protected override options() {
    return {
      module: new URL('./sandbox-process', import.meta.url),
      flags: FLAGS,
      env: { TZ: process.env['TZ'] },
      cwd: import.meta.dirname,
      output: false,
    }
  }

  protected override begin(place: ScriptPlace, job: ScriptJob) {
    // No limit applies while the names are fetched.
    place.unlimit()
    this.#send(place, job).catch((error: unknown) => {
      if (place.job === job) this.free(place)
      job.reject(error)
    })
  }

  async #send(place: ScriptPlace, job: ScriptJob) {
    const { script, names: given, timeout } = job.call
    const names = given && (await given())
    if (place.job !== job) return
    if (names !== null && names.length > MAX_NAMES_CHARACTERS)
      throw scriptError({
        name: 'RangeError',
        message: `what the script would see is longer than ${MAX_NAMES_CHARACTERS} characters`,
      })
    place.send({ script, names, timeout, maxResult: this.#maxResult })
    const limit = timeout + GRACE_MS
    place.limit(Math.min(SLOW_MS, limit), () => {
      if (!job.isSlow && this.isFull(true)) {
        job.isSlow = true
        return this.restart(place, job)
      }
      job.isSlow = true
      this.schedule()
      const message = `the script computed for longer than ${timeout / 1000} s`
      place.limit(limit - SLOW_MS, () => this.abort(job, scriptError({ name: 'TimeoutError', message })))
    })
  }

  protected override onMessage(place: ScriptPlace, outcome: ScriptOutcome) {
    const { job } = place
    this.free(place)
    if ('json' in outcome) job?.resolve(outcome.json)
    else job?.reject(scriptError(outcome))
  }

  protected override onAbort(place: ScriptPlace) {
    this.drop(place)
  }

  protected override brokenOff() {
    return scriptError({ name: 'InternalError', message: 'the process of the script broke off' })
  }
}
