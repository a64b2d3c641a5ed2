// model: a request that reads. What was read for it is held until its answer is charged, and it ends with its client.

export class ReadScope {
  /** Aborted when no caller waits for the answer any more. */
  readonly signal: AbortSignal | undefined
  readonly #releases: (() => void)[] = []

  constructor(signal: AbortSignal | undefined) {
    this.signal = signal
  }

  /** `release` is called at the end. */
  add(release: () => void): void {
    this.#releases.push(release)
  }

  end(): void {
    for (const release of this.#releases.splice(0)) release()
  }
}
