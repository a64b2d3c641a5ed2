// steps: a process of a pool, with one timer that limits its current activity. It keeps the server's process alive only
// while it has work.
import type { ChildProcess } from 'node:child_process'
import { startProcess, type ProcessOptions } from './start.ts'

/**
 * The last part of each limit. If the server's process was itself delayed, a message that has already arrived is read
 * before the limit takes effect.
 */
const REPLY_MS = 100

export interface ProcessEvents<Received> {
  onMessage(message: Received): void
  /** The process could not be started, or has ended. May be called several times. */
  onEnd(how: string): void
}

export class PooledProcess<Sent extends object, Received> {
  readonly #process: ChildProcess
  #timer: NodeJS.Timeout | undefined

  /** @throws Error if the system refuses at once; later errors are reported by `onEnd` */
  constructor(options: ProcessOptions, { onMessage, onEnd }: ProcessEvents<Received>) {
    this.#process = startProcess(options)
      .on('message', (message: Received) => onMessage(message))
      .on('error', () => onEnd('it could not be started'))
      .on('exit', (code, signal) => onEnd(signal ?? `code ${code}`))
    this.#process.channel?.unref()
  }

  /** Sends a message. A message to a process that is ending is discarded; `onEnd` reports the end. */
  send(message: Sent): void {
    if (this.#process.connected) this.#process.send(message, () => {})
  }

  /** Marks the process as working. */
  use(): void {
    this.#process.ref()
  }

  /** Marks the process as idle. Calls `then` after `milliseconds` without work. */
  rest(milliseconds: number, then: () => void): void {
    this.#process.unref()
    this.#after(milliseconds, then)
    this.#timer?.unref()
  }

  /** Calls `then` after `milliseconds`, unless another limit is set before. */
  limit(milliseconds: number, then: () => void): void {
    this.#after(Math.max(0, milliseconds - REPLY_MS), () => this.#after(Math.min(REPLY_MS, milliseconds), then))
  }

  /** Removes the limit. */
  unlimit(): void {
    clearTimeout(this.#timer)
  }

  /** Kills the process. */
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
