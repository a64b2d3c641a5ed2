// inspector/routes: a form that is sent again gets the same outcome, while it is carried out and for a while afterwards.

export class UnderWay<Outcome> {
  readonly #runs = new Map<string, Promise<Outcome>>()
  readonly #kept: number

  /** `kept`: outcomes that are remembered once they are there; of more, the oldest is forgotten. */
  constructor({ kept = 0 }: { readonly kept?: number } = {}) {
    this.#kept = kept
  }

  /** Carries it out, or joins the one of that key. `key` undefined: it stands alone. */
  async join(key: string | undefined, run: () => Promise<Outcome>): Promise<Outcome> {
    if (key === undefined) return run()
    const known = this.#runs.get(key)
    if (known) return known
    const made = run()
    this.#runs.set(key, made)
    made.then(
      () => this.#settled(key),
      () => this.#runs.delete(key),
    )
    return made
  }

  #settled(key: string): void {
    if (this.#kept === 0) this.#runs.delete(key)
    const [oldest] = this.#runs.keys()
    if (this.#runs.size > this.#kept && this.#kept > 0 && oldest !== undefined) this.#runs.delete(oldest)
  }
}
