// steps: a Node process that runs code of a service, with one timer that limits its current activity. It keeps the
// server's process alive only while it has work.
import { spawn, type ChildProcess } from 'node:child_process'
import { Worker } from 'node:worker_threads'
import { programArguments } from '../../model/node-program.ts'

export interface ProcessOptions {
  /** URL of the module without its extension. */
  readonly module: URL
  /** Flags of Node. */
  readonly flags: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Its working directory; default: that of this process. */
  readonly cwd?: string
  /** Whether it may write to the stdout and stderr of the server. */
  readonly output: boolean
}

interface ProcessEvents<Received> {
  onMessage(message: Received): void
  /** The process could not be started, or has ended. May be called several times. */
  onEnd(how: string): void
}

/**
 * The last part of each limit. If the server's process was itself delayed, a message that has already arrived is read
 * before the limit takes effect.
 */
const REPLY_MS = 100

export class PooledProcess<Sent extends object, Received> {
  readonly #process: ChildProcess
  #timer: NodeJS.Timeout | undefined

  /** @throws Error if the system refuses at once; later errors are reported by `onEnd` */
  constructor({ module, flags, env, cwd, output }: ProcessOptions, { onMessage, onEnd }: ProcessEvents<Received>) {
    const own = output ? 'inherit' : 'ignore'
    this.#process = spawn(process.execPath, [...flags, ...programArguments(module), String(process.pid)], {
      cwd,
      env,
      stdio: ['ignore', own, own, 'ipc'],
      serialization: 'advanced',
      detached: true, // A signal of the terminal to its process group is for the server, which may still wait for a result.
    })
      .on('message', (message: Received) => onMessage(message))
      .on('error', () => onEnd('it could not be started'))
      .on('exit', (code, signal) => onEnd(signal ?? `code ${code}`))
    this.#process.channel?.unref()
  }

  /** Sends a message. A message to a process that is ending is discarded; `onEnd` reports the end. */
  send(message: Sent) {
    if (this.#process.connected) this.#process.send(message, () => {})
  }

  /** Marks the process as idle. Calls `then` after `milliseconds` without work. */
  rest(milliseconds: number, then: () => void) {
    this.#process.unref()
    this.#after(milliseconds, then)
    this.#timer?.unref()
  }

  /** Calls `then` after `milliseconds` of work, unless another limit is set before. */
  limit(milliseconds: number, then: () => void) {
    this.#process.ref()
    this.#after(Math.max(0, milliseconds - REPLY_MS), () => this.#after(Math.min(REPLY_MS, milliseconds), then))
  }

  /** Removes the limit. */
  unlimit() {
    clearTimeout(this.#timer)
  }

  /** Kills the process. */
  kill() {
    this.unlimit()
    this.#process.kill('SIGKILL')
    this.#process.unref()
  }

  #after(milliseconds: number, then: () => void) {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(then, milliseconds)
  }
}

/** Runs in a thread, because code of a service may block the main thread. */
const GUARD = `
  const { workerData: { server, maxMemory } } = require('node:worker_threads')
  setInterval(() => { if (process.ppid !== server || process.memoryUsage.rss() > maxMemory) process.kill(process.pid, 'SIGKILL') }, 250)
`

/**
 * Called in the started process: ends it when its server ends, or when it uses more than `maxMemory` bytes, even if its
 * main thread is blocked.
 */
export function guardProcess(maxMemory = Infinity): void {
  // A signal to all processes of a service, as systemd sends it, is for the server, which may still wait for a result.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('disconnect', () => process.exit())
  new Worker(GUARD, { eval: true, execArgv: [], workerData: { server: Number(process.argv[2]), maxMemory } }).unref()
}
