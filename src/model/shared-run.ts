// model: work whose result many callers share: it runs once at a time, and callers that ask while it runs share the
// next run, which begins after they have asked.

export class SharedRun<T> {
  readonly #work: () => Promise<T>
  #running: Promise<T> | null = null
  #next: Promise<T> | null = null

  constructor(work: () => Promise<T>) {
    this.#work = work
  }

  /** The result of a run that has not begun yet. @throws what the work throws */
  get(): Promise<T> {
    if (this.#running === null) return this.#run()
    this.#next ??= this.#running.catch(() => {}).then(() => this.#run())
    return this.#next
  }

  #run(): Promise<T> {
    this.#next = null
    this.#running = this.#work().finally(() => {
      this.#running = null
    })
    return this.#running
  }
}
