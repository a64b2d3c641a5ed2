// engine/calls: whether this server was started paused. Until it is resumed, it serves what only reads, and does nothing of its
// own: it takes no lease, wakes nobody, and sends, purges and claims nothing.
import { serverPaused } from '../../model/failure.ts'

export class Gate {
  #isClosed = false

  get isClosed(): boolean {
    return this.#isClosed
  }

  close(): void {
    this.#isClosed = true
  }

  open(): void {
    this.#isClosed = false
  }

  /** Makes the call, unless the gate is closed: then the result is rejected with the failure `paused`. */
  readonly guard =
    <R, A>(call: (request: R) => Promise<A>) =>
    (request: R): Promise<A> =>
      this.#isClosed ? Promise.reject(serverPaused()) : call(request)
}
