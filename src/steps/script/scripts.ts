// steps: runs scripts of users in a pool of processes. Input and output are data.
//
// - Some calls inside QuickJS never check its own time limit; then the process is ended.
// - A script that takes more than a second, or did so the last time, is slow. Slow scripts have a lane of their own. When
//   its places are all taken, the script is ended and starts again there later: a script has no effects.
// - Steps that are scripts have slots of their own, so that waiting scripts do not delay functions.
import { availableParallelism } from 'node:os'
import { messageOf } from '../../model/error-message.ts'
import { toJson, type Json } from '../../model/json/value.ts'
import type { ScriptCall } from '../../ports/steps.ts'
import { ProcessPool, type Job, type Place } from '../processes/process-pool.ts'
import type { FromProcess } from './sandbox-process.ts'
import type { Script } from './sandbox.ts'
import { scriptError, type ScriptThrown } from './script-error.ts'

/** Time after which a script is classified as slow, for this run and the next. */
const SLOW_MS = 1000
/** Time after the time limit at which the process is killed. */
const GRACE_MS = 500
/** Upper limit of the timeout of a script: about the longest delay of a timer in Node. */
const MAX_TIME_MS = 2 ** 30
/** Time limit for parsing a script without running it. */
const CHECK_TIME_MS = 1000
/** Maximum number of processes for slow scripts, and the same number for all others. */
const MAX_PROCESSES = Math.max(2, Math.min(4, availableParallelism() - 1))
/** The last idle process is kept: starting one takes 100 ms. */
const KEPT_PROCESSES = 1
/** Maximum number of slow scripts that are remembered. The oldest is removed first. */
const MAX_SLOW_SCRIPTS = 1000
/** Maximum length of the JSON text of the names that a script sees. */
const MAX_NAMES_CHARACTERS = 16 * 1024 * 1024
/**
 * Flags of Node: the stack in kilobytes, of which QuickJS needs more than the default, and the JavaScript heap in
 * megabytes.
 */
const FLAGS = ['--stack-size=4000', '--max-old-space-size=128']

interface Scripted {
  /** Without names, the script is only parsed. */
  readonly call: Pick<ScriptCall, 'script' | 'timeout' | 'onSlow'> & { readonly names: ScriptCall['names'] | null }
  /** The JSON text that the sandbox returns: that of `{ value }`, or of what was thrown. */
  readonly result: string
  readonly sent: Script
  readonly received: FromProcess
}

type ScriptPlace = Place<Scripted>
type ScriptJob = Job<Scripted>

export class Scripts extends ProcessPool<Scripted> {
  /** Maximum size of a result, in bytes of JSON. */
  readonly #maxResult: number
  /** Texts of scripts whose last run was slow. */
  readonly #slow = new Set<string>()

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
    const isSlow = this.isSlow(call.script)
    if (isSlow) call.onSlow?.()
    const timeout = Math.min(call.timeout, MAX_TIME_MS)
    return valueOf(await this.enqueue({ ...call, timeout }, call.signal, isSlow))
  }

  /** Whether the last run of the script was slow. */
  isSlow(script: string) {
    return this.#slow.has(script)
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
    const names = typeof given === 'function' ? await given() : given && JSON.stringify(given)
    if (place.job !== job) return
    if (names !== null && names.length > MAX_NAMES_CHARACTERS)
      throw scriptError({
        name: 'RangeError',
        message: `what the script would see is longer than ${MAX_NAMES_CHARACTERS} characters`,
      })
    place.send({ script, names, timeout, maxResult: this.#maxResult })
    if (timeout > SLOW_MS) place.limit(SLOW_MS, () => this.#onSlow(place, job))
    else place.limit(timeout + GRACE_MS, () => this.#endLate(job))
  }

  protected override onMessage(place: ScriptPlace, { outcome, took }: FromProcess) {
    const { job } = place
    if (job === null) return
    // An error that the script itself throws is in the JSON, even if its name is `TimeoutError`.
    this.#remember(job, took > SLOW_MS || ('name' in outcome && outcome.name === 'TimeoutError'))
    this.free(place)
    if ('json' in outcome) job.resolve(outcome.json)
    else job.reject(scriptError(outcome))
  }

  protected override onAbort(place: ScriptPlace) {
    this.drop(place)
  }

  protected override brokenOff() {
    return scriptError({ name: 'InternalError', message: 'the process of the script broke off' })
  }

  /** Continues a script as a slow one if the lane of slow scripts has a place. */
  #onSlow(place: ScriptPlace, job: ScriptJob) {
    if (job.isSlow || this.busy(true) < MAX_PROCESSES)
      place.limit(job.call.timeout - SLOW_MS + GRACE_MS, () => this.#endLate(job))
    else {
      this.drop(place)
      this.add(job)
    }
    this.#remember(job, true)
    markSlow(job)
    this.schedule()
  }

  #endLate(job: ScriptJob) {
    this.#remember(job, true)
    const message = `the script computed for longer than ${job.call.timeout / 1000} s`
    this.abort(job, scriptError({ name: 'TimeoutError', message }))
  }

  /** Records whether the script was slow, also for those that wait. A script that was only parsed is not recorded. */
  #remember({ call: { script, names } }: ScriptJob, isSlow: boolean) {
    if (names === null) return
    this.#slow.delete(script)
    if (!isSlow) return
    this.#slow.add(script)
    const [oldest] = this.#slow
    if (oldest !== undefined && this.#slow.size > MAX_SLOW_SCRIPTS) this.#slow.delete(oldest)
    for (const job of this.waiting) if (job.call.script === script && job.call.names !== null) markSlow(job)
  }
}

/** Moves a job to the lane of slow scripts. */
function markSlow(job: ScriptJob) {
  if (job.isSlow) return
  job.isSlow = true
  job.call.onSlow?.()
}

function valueOf(json: string): Json {
  const answer: ScriptThrown | { readonly name?: undefined; readonly value?: unknown } = JSON.parse(json)
  if (answer.name !== undefined) throw scriptError(answer)
  return toJson(answer.value) // `value` is absent if it cannot be data, like a function.
}
