// ports: time. Tests use an implementation that they advance.

export interface Clock {
  /** Epoch milliseconds. */
  now(): number
  /**
   * Calls `callback` once after that many milliseconds, without an upper limit. Returns a function that cancels the
   * call.
   */
  after(milliseconds: number, callback: () => void): () => void
}
