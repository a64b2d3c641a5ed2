// ports: what rings when contexts are due. The store knows the truth; a ring is only a hint to look.

export interface AlarmClock {
  /**
   * Begins to ring. `ring` looks for due contexts and resolves with the time at which the next one will be due, epoch
   * milliseconds, or null. It is never called twice at once; a rejected ring is tried again a little later.
   */
  start(ring: () => Promise<number | null>): void
  /** A context will be due then, epoch milliseconds: ring at that time at the latest. */
  set(due: number): void
  /** Stops ringing, and waits for a ring under way. */
  close(): Promise<void>
}
