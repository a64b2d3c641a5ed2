// actions: scripts of users, in threads of their own. The turn never waits for a script, and one that can't be interrupted ends with its thread.
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { isObject, toJson, type Json } from '../model/json.ts'
import type { ScriptCall } from '../ports/step-runner.ts'
import type { FromThread, ToThread } from './sandbox-thread.ts'
import type { Outcome } from './sandbox.ts'
import { lineOf, ScriptError } from './script-error.ts'

/** Milliseconds that a script may compute at most, whatever its timeout: all others may have to wait for its thread. */
const MAX_TIME = 60_000
/** Milliseconds for looking whether it can be understood. */
const CHECK_TIME = 1000
/** Milliseconds after which a thread that doesn't answer is ended. Some built-in functions of QuickJS can't be interrupted. */
const GRACE = 500
/** Milliseconds that a script may wait for a thread. */
const LONGEST_WAIT = 60_000
/** Characters of JSON text. */
const MAX_NAMES = 16 * 1024 * 1024
/** Two at least, so that one endless script doesn't hold up all others. */
const THREADS = Math.max(2, Math.min(4, availableParallelism() - 1))
/** Threads that scripts may have which took too long the last time: the others are kept for scripts that come to an end. */
const LATE_THREADS = Math.floor(THREADS / 2)
/** How many of them are known; the one known longest is forgotten first. */
const MAX_LATE = 1000

/** Nobody waits for it any more. */
const ABORTED: Outcome = { name: 'AbortError', message: 'the script was broken off' }

interface Job {
  readonly script: ToThread
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

interface Thread {
  readonly worker: Worker
  job: Job | null
  isReady: boolean
  timer?: NodeJS.Timeout
}

export class Scripts {
  readonly #threads = new Set<Thread>()
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

  #do(script: ToThread, signal?: AbortSignal): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        reject(signal?.reason)
        if (!this.#leave(job)) for (const thread of this.#threads) if (thread.job === job) this.#end(thread, ABORTED)
      }
      const giveUp = () => {
        if (this.#leave(job)) job.settle({ name: 'TimeoutError', message: `no thread was free for the script within ${LONGEST_WAIT / 1000} s` })
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
      const free = [...this.#threads].find((thread) => thread.job === null && thread.isReady)
      if (free === undefined && this.#threads.size >= THREADS) return
      const job = this.#take()
      if (job === undefined) return
      const thread = free ?? this.#start()
      thread.job = job
      thread.worker.ref()
      if (thread.isReady) this.#send(thread, job)
    }
  }

  /** No longer waits; false if it didn't. */
  #leave(job: Job): boolean {
    const place = this.#waiting.indexOf(job)
    if (place >= 0) this.#waiting.splice(place, 1)
    return place >= 0
  }

  #take(): Job | undefined {
    const late = [...this.#threads].filter(({ job }) => job !== null && this.#isLate(job)).length
    const place = late < LATE_THREADS ? 0 : this.#waiting.findIndex((job) => !this.#isLate(job))
    return place < 0 ? undefined : this.#waiting.splice(place, 1)[0]
  }

  #isLate({ script: { script } }: Job): boolean {
    return this.#late.has(script)
  }

  #send(thread: Thread, job: Job): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    thread.worker.postMessage(job.script)
    // Twice, since the answer may already be there when this process was itself held up.
    thread.timer = setTimeout(() => { thread.timer = setTimeout(() => this.#end(thread, lateOutcome(job)), GRACE / 2) }, job.script.timeout + GRACE / 2)
  }

  #remember(script: string, outcome: Outcome): void {
    this.#late.delete(script)
    // What a script itself throws is in the JSON, whatever its name.
    if ('json' in outcome || outcome.name !== 'TimeoutError') return
    this.#late.add(script)
    const [oldest] = this.#late
    if (oldest !== undefined && this.#late.size > MAX_LATE) this.#late.delete(oldest)
  }

  #start(): Thread {
    const thread: Thread = { worker: startWorker(), job: null, isReady: false }
    this.#threads.add(thread)
    const broken = () => this.#end(thread, { name: 'InternalError', message: 'the thread of the script broke off' })
    thread.worker.on('message', ({ outcome }: FromThread) => {
      thread.isReady = true
      const { job } = thread
      if (outcome === undefined) {
        if (job) this.#send(thread, job)
        return
      }
      clearTimeout(thread.timer)
      thread.job = null
      thread.worker.unref()
      job?.settle(outcome)
      this.#next()
    }).on('error', broken).on('exit', broken)
    return thread
  }

  #end(thread: Thread, outcome: Outcome): void {
    if (!this.#threads.delete(thread)) return
    clearTimeout(thread.timer)
    void thread.worker.terminate()
    thread.job?.settle(outcome)
    this.#next()
  }
}

/** Without arguments, environment, or a way to the process's output. */
function startWorker(): Worker {
  const options = { execArgv: [], env: {}, stdout: true, stderr: true, resourceLimits: { stackSizeMb: 8, maxOldGenerationSizeMb: 128 } }
  return import.meta.url.endsWith('.js') ? new Worker(new URL('./sandbox-thread.js', import.meta.url), options) : fromSource(options)
}

/** Unbuilt, Node can't read the thread's module by itself. */
function fromSource(options: object): Worker {
  const data = { jiti: createRequire(import.meta.url).resolve('jiti'), file: new URL('./sandbox-thread.ts', import.meta.url).href }
  return new Worker('const { jiti, file } = require("worker_threads").workerData; require(jiti).createJiti(file, { fsCache: false }).import(file)', {
    ...options, eval: true, workerData: data,
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
