// ports: time: the clock (tests use one that they advance), and the alarm clock, which rings when contexts may be
// due. A ring is only a hint to query the store.

export interface Clock {
  /** Epoch milliseconds. */
  now(): number
  /**
   * Calls `callback` once after that many milliseconds, without an upper limit. Returns a function that cancels the
   * call.
   */
  after(milliseconds: number, callback: () => void): () => void
}

export interface AlarmClock {
  /**
   * Starts the alarm clock. `ring` wakes due contexts, and resolves with the time at which to ring again, epoch
   * milliseconds, or null. Calls never overlap; after a rejection, `ring` is called again a little later.
   */
  start(ring: () => Promise<number | null>): void
  /** Sets an alarm: ring at `due` (epoch milliseconds) at the latest. */
  set(due: number): void
  /** Stops ringing, and waits for a ring in progress. */
  close(): Promise<void>
}
