// engine/webhooks: requests that are repeats of one that is being committed here wait for that. If it has no effect,
// the next one takes its turn, so each is looked at once, however many there are.

/** `done`: the one before had its effect. `turn`: it had none, and it is the turn of who waited. */
export type TurnCame = 'done' | 'turn'

export class KeyTurns {
  /** By key of whom has the turn: those who wait. */
  readonly #waiting = new Map<string, ((came: TurnCame) => void)[]>()

  /** null: nobody else has the turn. Whoever gets it must `leave`. */
  enter(key: string): Promise<TurnCame> | null {
    const waiting = this.#waiting.get(key)
    if (waiting === undefined) {
      this.#waiting.set(key, [])
      return null
    }
    return new Promise((resolve) => {
      waiting.push(resolve)
    })
  }

  /** `isDone`: there is an answer that those who wait can have. */
  leave(key: string, isDone: boolean): void {
    const waiting = this.#waiting.get(key) ?? []
    const next = isDone ? undefined : waiting.shift()
    if (next) return next('turn')
    this.#waiting.delete(key)
    for (const resolve of waiting) resolve('done')
  }
}
