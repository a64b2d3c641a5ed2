// actions: scripts of users, in processes of their own. The turn never waits for a script, and one that can't be interrupted ends with its process.
// Threads would not do: ending one in the midst of WebAssembly, or one that runs out of memory, may take the server with it (nodejs/node#56312, #47224).
import { spawn, type ChildProcess } from 'node:child_process'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isObject, toJson, type Json } from '../model/json.ts'
import type { ScriptCall } from '../ports/step-runner.ts'
import type { FromProcess, ToProcess } from './sandbox-process.ts'
import type { Outcome } from './sandbox.ts'
import { lineOf, ScriptError } from './script-error.ts'

/** Milliseconds that a script may compute at most, whatever its timeout: about what a timer of Node can wait. */
const MAX_TIME = 2 ** 30
/** Milliseconds after which a script counts as slow, this time and the next. */
const SLOW = 1000
/** Milliseconds for looking whether it can be understood. */
const CHECK_TIME = 1000
/** Milliseconds after which a process that doesn't answer is ended. Some built-in functions of QuickJS can't be interrupted. */
const GRACE = 500
/** Milliseconds that a script may wait for a process, and a process take to start. */
const LONGEST_WAIT = 60_000
/** Characters of JSON text. */
const MAX_NAMES = 16 * 1024 * 1024
/** Milliseconds for which a process stays without work, save for the last one: a new one takes a tenth of a second. */
const IDLE = 60_000
/** Processes for slow scripts, and as many for all others, which so don't wait behind endless ones. */
const PROCESSES = Math.max(2, Math.min(4, availableParallelism() - 1))
/** How many slow scripts are known; the one known longest is forgotten first. */
const MAX_SLOW = 1000

/** Flags of Node: kilobytes for the stack, which QuickJS needs more of than Node gives, and megabytes for what it holds beside QuickJS. */
const LIMITS = ['--stack-size=4000', '--max-old-space-size=128']

type Failed = Exclude<Outcome, { json: string }>

const BROKEN: Failed = { name: 'InternalError', message: 'the process of the script broke off' }
/** Nobody waits for it any more. */
const ABORTED: Failed = { name: 'AbortError', message: 'the script was broken off' }

interface Job {
  readonly script: ToProcess
  settle(outcome: Outcome): void
}

/** What comes out of the sandbox: a value, or what was thrown, which has a name. */
interface Answer {
  readonly value?: unknown
  readonly name?: string
  readonly message?: string
  readonly className?: string
  readonly stack?: string
  /** As JSON text. */
  readonly fields?: string
}

interface Place {
  readonly process: ChildProcess
  job: Job | null
  /** When it got its job, on `performance`'s clock. */
  since: number
  isReady: boolean
  timer?: NodeJS.Timeout
}

export class Scripts {
  readonly #places = new Set<Place>()
  readonly #waiting: Job[] = []
  /** Texts of scripts that took long the last time, or do so now. */
  readonly #slow = new Set<string>()

  /** @throws Error with the name and the message that the script threw; TimeoutError; whatever the signal was aborted with */
  async run({ script, names, signal, timeout }: ScriptCall): Promise<Json> {
    signal.throwIfAborted()
    const text = JSON.stringify(names)
    if (text.length > MAX_NAMES) throw new ScriptError({ name: 'RangeError', message: `what the script would see is longer than ${MAX_NAMES} characters` })
    return valueOf(await this.#do({ script, names: text, timeout: Math.min(timeout, MAX_TIME) }, signal))
  }

  /** Why it can't be parsed; null if it can. */
  async fault(script: string): Promise<string | null> {
    const outcome = await this.#do({ script, names: null, timeout: CHECK_TIME })
    return 'json' in outcome ? null : outcome.message
  }

  #do(script: ToProcess, signal?: AbortSignal): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        reject(signal?.reason)
        if (!this.#leave(job)) for (const place of this.#places) if (place.job === job) this.#end(place, ABORTED)
      }
      const giveUp = () => {
        if (this.#leave(job)) job.settle({ name: 'TimeoutError', message: `no process was free for the script within ${LONGEST_WAIT / 1000} s` })
      }
      const timer = setTimeout(giveUp, LONGEST_WAIT).unref()
      const job: Job = {
        script,
        settle: (outcome) => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', abort)
          resolve(outcome)
        },
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#waiting.push(job)
      this.#next()
    })
  }

  /** Gives what waits to processes that are free, and starts those that are missing: first come, first served, among the slow and among the others. */
  #next(): void {
    for (;;) {
      const free = [...this.#places].find((place) => place.job === null && place.isReady)
      if (free === undefined && this.#places.size >= 2 * PROCESSES) return
      const job = this.#take()
      if (job === undefined) return
      const place = free ?? this.#start()
      clearTimeout(place.timer)
      place.job = job
      place.process.ref()
      if (place.isReady) this.#send(place, job)
      else this.#after(place, LONGEST_WAIT, () => this.#end(place, BROKEN))
    }
  }

  /** No longer waits; false if it didn't. */
  #leave(job: Job): boolean {
    const place = this.#waiting.indexOf(job)
    if (place >= 0) this.#waiting.splice(place, 1)
    return place >= 0
  }

  #take(): Job | undefined {
    const busy = [...this.#places].filter(({ job }) => job !== null)
    const slow = busy.filter(({ job }) => job !== null && this.#isSlow(job)).length
    const next = this.#waiting.findIndex((job) => (this.#isSlow(job) ? slow : busy.length - slow) < PROCESSES)
    return next < 0 ? undefined : this.#waiting.splice(next, 1)[0]
  }

  #isSlow({ script: { script } }: Job): boolean {
    return this.#slow.has(script)
  }

  #send(place: Place, job: Job): void {
    place.process.send(job.script)
    place.since = performance.now()
    // In two steps, since the answer may already be there when this process was itself held up.
    const isEnd = () => this.#after(place, GRACE / 2, () => this.#end(place, lateOutcome(job)))
    const { timeout } = job.script
    if (timeout <= SLOW) this.#after(place, timeout + GRACE / 2, isEnd)
    else {
      this.#after(place, SLOW, () => {
        this.#remember(job, true)
        this.#after(place, timeout - SLOW + GRACE / 2, isEnd)
        this.#next()
      })
    }
  }

  #after(place: Place, milliseconds: number, then: () => void): void {
    clearTimeout(place.timer)
    place.timer = setTimeout(then, milliseconds)
  }

  #remember({ script: { script } }: Job, isSlow: boolean): void {
    this.#slow.delete(script)
    if (!isSlow) return
    this.#slow.add(script)
    const [oldest] = this.#slow
    if (oldest !== undefined && this.#slow.size > MAX_SLOW) this.#slow.delete(oldest)
  }

  #start(): Place {
    const place: Place = { process: startProcess(), job: null, since: 0, isReady: false }
    this.#places.add(place)
    const broken = () => this.#end(place, BROKEN)
    place.process.on('message', ({ outcome }: FromProcess) => {
      place.isReady = true
      const { job } = place
      if (outcome === undefined) {
        if (job) this.#send(place, job)
        return
      }
      // What a script itself throws is in the JSON, whatever its name.
      if (job) this.#remember(job, performance.now() - place.since > SLOW || (!('json' in outcome) && outcome.name === 'TimeoutError'))
      place.job = null
      place.process.unref()
      this.#after(place, IDLE, () => { if (this.#places.size > 1) this.#end(place, ABORTED) })
      place.timer?.unref()
      job?.settle(outcome)
      this.#next()
    }).on('error', broken).on('exit', broken)
    // Only its work keeps this process alive, see `ref`.
    place.process.channel?.unref()
    return place
  }

  #end(place: Place, outcome: Failed): void {
    if (!this.#places.delete(place)) return
    clearTimeout(place.timer)
    place.process.kill('SIGKILL')
    place.process.unref()
    if (place.job !== null && outcome.name === 'TimeoutError') this.#remember(place.job, true)
    place.job?.settle(outcome)
    this.#next()
  }
}

/** Without the environment, or a way to the server's output. */
function startProcess(): ChildProcess {
  const isBuilt = import.meta.url.endsWith('.js')
  const file = fileURLToPath(new URL(`./sandbox-process.${isBuilt ? 'js' : 'ts'}`, import.meta.url))
  // Unbuilt, Node can't read it by itself.
  const command = isBuilt ? [file] : [join(dirname(createRequire(import.meta.url).resolve('jiti')), 'jiti-cli.mjs'), file]
  return spawn(process.execPath, [...LIMITS, ...command, String(process.pid)], {
    cwd: dirname(file), env: { JITI_FS_CACHE: 'false' }, stdio: ['ignore', 'ignore', 'ignore', 'ipc'], serialization: 'advanced',
    detached: true,   // What a terminal sends to its whole group is the server's business, which may still want an answer.
  })
}

const lateOutcome = ({ script }: Job): Failed => ({ name: 'TimeoutError', message: `the script computed for longer than ${script.timeout / 1000} s` })

function valueOf(outcome: Outcome): Json {
  if (!('json' in outcome)) throw new ScriptError(outcome)
  const answer: Answer = JSON.parse(outcome.json)
  if (answer.name === undefined) return toJson(answer.value)   // Absent for what can't be data, like a function.
  const { name, message = '', className = name, stack = '', fields = '{}' } = answer
  const data: unknown = JSON.parse(fields)
  throw new ScriptError({ name, message, className, line: lineOf(stack, className), ...isObject(data) && { fields: data } })
}
