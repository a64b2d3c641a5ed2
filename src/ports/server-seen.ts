// ports: what a store tells of the servers that share it.
export interface ServerSeen {
  /** Boot id. */
  readonly runId: string
  /** Milliseconds since its last heartbeat, by the clock of the store. */
  readonly silentMs: number
}
