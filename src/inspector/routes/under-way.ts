// inspector/routes: a form that is sent again while it is carried out gets the same outcome.

export class UnderWay<Outcome> {
  readonly #runs = new Map<string, Promise<Outcome>>()

  /** Carries it out, or joins the one of that key. `key` undefined: it stands alone. */
  async join(key: string | undefined, run: () => Promise<Outcome>): Promise<Outcome> {
    if (key === undefined) return run()
    const known = this.#runs.get(key)
    if (known) return known
    const made = run().finally(() => this.#runs.delete(key))
    this.#runs.set(key, made)
    return made
  }
}
