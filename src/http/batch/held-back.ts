// http: what holds lines back: a line that was answered, and is still being carried out. It holds back nothing once no
// more lines come.

export class HeldBack {
  readonly #isNeeded: () => boolean
  #release: (() => void) | null = null

  /** @param isNeeded whether lines may come */
  constructor(isNeeded: () => boolean) {
    this.#isNeeded = isNeeded
  }

  /** Resolves when it is over, or no more lines come. */
  async until(isOver: Promise<void>): Promise<void> {
    const released = new Promise<void>((resolve) => {
      this.#release = resolve
    })
    this.check()
    await Promise.race([isOver, released])
  }

  /** To be called when no more lines may come. */
  check(): void {
    if (!this.#isNeeded()) this.#release?.()
  }
}
