// watchdog: the part in the server's own thread. It tracks which functions run, and sends a heartbeat while the event
// loop turns.
//
// - `watchdog/watchdog.ts` sends a heartbeat from a timer and tracks the running functions, with the step of the
//   current one in an `AsyncLocalStorage` (only while functions run: on Node 20 each promise costs more while it is in
//   use). The thread (`thread.ts`) notices that the heartbeat is missing. Time in which the thread itself was delayed
//   hardly counts, so a process that was stopped is not regarded as blocked. The thread stops the server's thread for
//   a moment over the inspector protocol (`examine.ts`) and decides by the frames of users' modules (`judge.ts`). If
//   the thread cannot be stopped, it decides by the contents of shared memory (`shared.ts`): the function that was
//   called and has not returned, or the only one that runs.
import { AsyncLocalStorage } from 'node:async_hooks'
import { url as inspectorUrl } from 'node:inspector'
import { createRequire } from 'node:module'
import { getHeapStatistics } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { formatHere } from '../observe/log.ts'
import type { PackageFolder, RunningStep, StepWatch } from '../ports/steps.ts'
import { HOOK, Shared, type Facts } from './shared.ts'
import type { ThreadOptions, WatchdogOptions } from './thread.ts'

/** The server's thread is examined after this share of the time until the cause is logged. */
const NOTED_SHARE = 0.6
/** Maximum time between two heartbeats. */
const BEAT_MS = 250

export class Watchdog implements StepWatch {
  readonly #shared = new Shared()
  readonly #storage = new AsyncLocalStorage<RunningStep>()
  readonly #running = new Set<RunningStep>()
  #packages: readonly PackageFolder[] = []
  #owner = ''
  #thread: Worker | null = null
  #beating: NodeJS.Timeout | undefined

  mount(packages: readonly PackageFolder[]) {
    this.#packages = packages
  }

  async run(step: RunningStep, call: () => unknown) {
    this.#running.add(step)
    try {
      return await this.#storage.run(step, () => {
        this.#shared.suspect = { step, isCalled: true }
        try {
          return call()
        } finally {
          this.#suspectTheOnlyOne()
        }
      })
    } finally {
      this.#running.delete(step)
      this.#suspectTheOnlyOne()
      // On Node 20 every promise of the process costs more while the storage is in use.
      if (this.#running.size === 0) this.#storage.disable()
    }
  }

  /** Sets the boot id of this server, under which the note about a blocked event loop is stored. */
  set owner(owner: string) {
    this.#owner = owner
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#thread?.postMessage(owner)
  }

  /** Starts the thread. Does nothing when `after` and `kill` are both 0, or if it is running. */
  start(given: WatchdogOptions) {
    const { after, kill, silence } = given
    if ((after === 0 && kill === 0) || this.#thread !== null) return
    const named = Math.min(after || Infinity, kill || Infinity)
    // Examining takes some time, and the note must be stored before other servers take over.
    const noted = Math.min(named * NOTED_SHARE, silence === null ? Infinity : silence / 3)
    const options: ThreadOptions = {
      ...given,
      named,
      noted,
      logFormat: formatHere(given.logFormat),
      owner: this.#owner,
      buffer: this.#shared.buffer,
    }
    Object.defineProperty(globalThis, Symbol.for(HOOK), {
      value: () => JSON.stringify(this.#facts()),
      configurable: true,
    })
    this.#beat()
    this.#beating = setInterval(() => this.#beat(), Math.min(BEAT_MS, noted / 4)).unref()
    this.#thread = startThread(options)
    this.#thread.unref()
  }

  close() {
    clearInterval(this.#beating)
    void this.#thread?.terminate()
    this.#thread = null
  }

  #suspectTheOnlyOne() {
    const [step] = this.#running
    this.#shared.suspect = step && this.#running.size === 1 ? { step, isCalled: false } : null
  }

  #beat() {
    this.#shared.beat(inspectorUrl() !== undefined)
  }

  #facts(): Facts {
    const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics()
    return {
      step: this.#storage.getStore() ?? null,
      running: [...this.#running],
      packages: this.#packages,
      isDebugged: inspectorUrl() !== undefined,
      heap: used / limit,
    }
  }
}

function startThread(options: ThreadOptions) {
  const common = { execArgv: [], stdout: false, stderr: false }
  if (import.meta.url.endsWith('.js'))
    return new Worker(new URL('./thread.js', import.meta.url), { ...common, workerData: options })
  // Running from the TypeScript sources: Node can't load the thread's module by itself.
  const [jiti, file] = [
    createRequire(import.meta.url).resolve('jiti'),
    new URL('./thread.ts', import.meta.url).href,
  ].map((text) => JSON.stringify(text))
  return new Worker(`require(${jiti}).createJiti(${file}).import(${file})`, {
    ...common,
    eval: true,
    workerData: options,
  })
}
