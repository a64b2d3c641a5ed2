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

/** Milliseconds that a script may compute at most, whatever its timeout: all others may have to wait for its process. */
const MAX_TIME = 60_000
/** Milliseconds for looking whether it can be understood. */
const CHECK_TIME = 1000
/** Milliseconds after which a process that doesn't answer is ended. Some built-in functions of QuickJS can't be interrupted. */
const GRACE = 500
/** Milliseconds that a script may wait for a process. */
const LONGEST_WAIT = 60_000
/** Characters of JSON text. */
const MAX_NAMES = 16 * 1024 * 1024
/** Milliseconds for which a process stays without work, save for the last one: a new one takes a tenth of a second. */
const IDLE = 60_000
/** Two at least, so that one endless script doesn't hold up all others. */
const PROCESSES = Math.max(2, Math.min(4, availableParallelism() - 1))
/** Processes that scripts may have which took too long the last time: the others are kept for scripts that come to an end. */
const LATE_PROCESSES = Math.floor(PROCESSES / 2)
/** How many of them are known; the one known longest is forgotten first. */
const MAX_LATE = 1000

/** Flags of Node: kilobytes for the stack, which QuickJS needs more of than Node gives, and megabytes for what it holds beside QuickJS. */
const LIMITS = ['--stack-size=4000', '--max-old-space-size=128']

/** Nobody waits for it any more. */
const ABORTED: Outcome = { name: 'AbortError', message: 'the script was broken off' }

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
  isReady: boolean
  timer?: NodeJS.Timeout
}

export class Scripts {
  readonly #places = new Set<Place>()
  readonly #waiting: Job[] = []
  /** Texts of scripts that took too long the last time. */
  readonly #late = new Set<string>()

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
          this.#remember(script.script, outcome)
          resolve(outcome)
        },
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#waiting.push(job)
      this.#next()
    })
  }

  /** Gives what waits to threads that are free, and starts those that are missing: first come, first served, save for scripts known to take too long. */
  #next(): void {
    for (;;) {
      const free = [...this.#places].find((place) => place.job === null && place.isReady)
      if (free === undefined && this.#places.size >= PROCESSES) return
      const job = this.#take()
      if (job === undefined) return
      const place = free ?? this.#start()
      clearTimeout(place.timer)
      place.job = job
      place.process.ref()
      if (place.isReady) this.#send(place, job)
    }
  }

  /** No longer waits; false if it didn't. */
  #leave(job: Job): boolean {
    const place = this.#waiting.indexOf(job)
    if (place >= 0) this.#waiting.splice(place, 1)
    return place >= 0
  }

  #take(): Job | undefined {
    const late = [...this.#places].filter(({ job }) => job !== null && this.#isLate(job)).length
    const next = late < LATE_PROCESSES ? 0 : this.#waiting.findIndex((job) => !this.#isLate(job))
    return next < 0 ? undefined : this.#waiting.splice(next, 1)[0]
  }

  #isLate({ script: { script } }: Job): boolean {
    return this.#late.has(script)
  }

  #send(place: Place, job: Job): void {
    place.process.send(job.script)
    // Twice, since the answer may already be there when this process was itself held up.
    place.timer = setTimeout(() => { place.timer = setTimeout(() => this.#end(place, lateOutcome(job)), GRACE / 2) }, job.script.timeout + GRACE / 2)
  }

  #remember(script: string, outcome: Outcome): void {
    this.#late.delete(script)
    // What a script itself throws is in the JSON, whatever its name.
    if ('json' in outcome || outcome.name !== 'TimeoutError') return
    this.#late.add(script)
    const [oldest] = this.#late
    if (oldest !== undefined && this.#late.size > MAX_LATE) this.#late.delete(oldest)
  }

  #start(): Place {
    const place: Place = { process: startProcess(), job: null, isReady: false }
    this.#places.add(place)
    const broken = () => this.#end(place, { name: 'InternalError', message: 'the process of the script broke off' })
    place.process.on('message', ({ outcome }: FromProcess) => {
      place.isReady = true
      const { job } = place
      if (outcome === undefined) {
        if (job) this.#send(place, job)
        return
      }
      clearTimeout(place.timer)
      place.timer = setTimeout(() => { if (this.#places.size > 1) this.#end(place, ABORTED) }, IDLE).unref()
      place.job = null
      place.process.unref()
      job?.settle(outcome)
      this.#next()
    }).on('error', broken).on('exit', broken)
    // Only its work keeps this process alive, see `ref`.
    place.process.channel?.unref()
    return place
  }

  #end(place: Place, outcome: Outcome): void {
    if (!this.#places.delete(place)) return
    clearTimeout(place.timer)
    place.process.kill('SIGKILL')
    place.process.unref()
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
  })
}

const lateOutcome = ({ script }: Job): Outcome => ({ name: 'TimeoutError', message: `the script computed for longer than ${script.timeout / 1000} s` })

function valueOf(outcome: Outcome): Json {
  if (!('json' in outcome)) throw new ScriptError(outcome)
  const answer: Answer = JSON.parse(outcome.json)
  if (answer.name === undefined) return toJson(answer.value)   // Absent for what can't be data, like a function.
  const { name, message = '', className = name, stack = '', fields = '{}' } = answer
  const data: unknown = JSON.parse(fields)
  throw new ScriptError({ name, message, className, line: lineOf(stack, className), ...isObject(data) && { fields: data } })
}
