// steps: a process of a pool, with the one timer that limits what it does at present. It keeps the server's process
// alive only while it has work.
import type { ChildProcess } from 'node:child_process'
import { startProcess, type ProcessOptions } from './start.ts'

/**
 * The last part of each limit. When the server's process was itself held up, a message that has arrived by then is
 * still read before the limit takes effect.
 */
const REPLY_MS = 100

export interface ProcessEvents<Received> {
  onMessage(message: Received): void
  /** It could not be started, or has ended. May be called several times. */
  onEnd(how: string): void
}

export class PooledProcess<Sent extends object, Received> {
  readonly #process: ChildProcess
  #timer: NodeJS.Timeout | undefined

  /** @throws Error when the system refuses, unless it does so later */
  constructor(options: ProcessOptions, { onMessage, onEnd }: ProcessEvents<Received>) {
    this.#process = startProcess(options)
      .on('message', (message: Received) => onMessage(message))
      .on('error', () => onEnd('it could not be started'))
      .on('exit', (code, signal) => onEnd(signal ?? `code ${code}`))
    this.#process.channel?.unref()
  }

  /** A message to a process that is ending is discarded: its end is reported by `onEnd`. */
  send(message: Sent): void {
    if (this.#process.connected) this.#process.send(message, () => {})
  }

  /** From now on it has work. */
  use(): void {
    this.#process.ref()
  }

  /** From now on it has no work; after `milliseconds` of that, `then` is called. */
  rest(milliseconds: number, then: () => void): void {
    this.#process.unref()
    this.#after(milliseconds, then)
    this.#timer?.unref()
  }

  /** Calls `then` after a time, unless another limit is set before. */
  limit(milliseconds: number, then: () => void): void {
    this.#after(Math.max(0, milliseconds - REPLY_MS), () => this.#after(Math.min(REPLY_MS, milliseconds), then))
  }

  /** Removes the limit. */
  unlimit(): void {
    clearTimeout(this.#timer)
  }

  /** Ends it, whatever runs in it. */
  kill(): void {
    this.unlimit()
    this.#process.kill('SIGKILL')
    this.#process.unref()
  }

  #after(milliseconds: number, then: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(then, milliseconds)
  }
}
