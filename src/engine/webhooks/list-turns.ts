// engine/webhooks: lists of deliveries take turns. Each goes on in a turn of the event loop of its own, because those
// that go on in the same one would together keep other requests waiting.
import { setImmediate as nextTurn } from 'node:timers/promises'

export class ListTurns {
  #last: Promise<void> = Promise.resolve()

  /** Resolves in a turn of the event loop that no other caller gets, in the order of the calls. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => nextTurn())
    return this.#last
  }
}
