// recorded: tells when nothing is under way any more, by what the store was given: no step that runs, nothing due,
// nobody who waits for the end of a relative that has ended.
import { setTimeout as sleep } from 'node:timers/promises'
import type { ContextId } from '../../src/model/context.ts'
import type { Store, Write } from '../../src/ports/store.ts'
import type { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { STANDING } from './actions.ts'

/** Real time in which something must come to an end, milliseconds; and once something hasn't, for all that follows. */
const PATIENCE_MS = { first: 10_000, later: 1000 }
let patienceMs = PATIENCE_MS.first

function stuck(what: string): Error {
  patienceMs = PATIENCE_MS.later
  return new Error(what)
}

/** @throws Error when it takes longer than anything should: a server that is broken must not hold up the tests */
export async function within<T>(work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(stuck(`${what} takes too long`)), patienceMs)
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}

/** Turns of the event loop after the last commit, in which its replies go out and its timers are set. */
const TURNS_AFTER = 3

/** Looks before each further one is preceded by a pause. */
const LOOKS_AT_ONCE = 200

interface Open {
  readonly due: number | null
  readonly owner: string | null
}

/** A context in the store, and the relatives that it has told of its end and that haven't looked yet. */
export type Stored = Pick<Write, 'context' | 'notifies'>

export class Quiet {
  readonly #open = new Map<ContextId, Open>()
  readonly #notified = new Set<ContextId>()
  readonly #standing = new Set<ContextId>()
  #clock: SimulatedClock | null = null

  /** `stored`: what the store holds already. */
  constructor(stored: readonly Stored[]) {
    for (const each of stored) this.#keep({ ...each, answersNotification: false })
    Reflect.set(globalThis, STANDING, this.#standing)
  }

  /** The store, watched. */
  readonly wrap = (store: Store): Store => {
    const commit: Store['commit'] = async (request) => {
      const outcome = await store.commit(request)
      if (!outcome.ok) return outcome
      for (const write of request.writes) this.#keep(write)
      return outcome
    }
    return new Proxy(store, {
      get: (target, name) => {
        if (name === 'commit') return commit
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  watch(clock: SimulatedClock): void {
    this.#clock = clock
  }

  /** Resolves when nothing is under way, save for functions that stand still on purpose. */
  async settle(): Promise<void> {
    const clock = this.#theClock()
    const limit = Date.now() + patienceMs
    for (let turns = 0, looks = 0; turns < TURNS_AFTER; looks += 1) {
      await clock.advance(0)
      turns = this.#isBusy(clock.now()) ? 0 : turns + 1
      // A process that has to start needs this one's time.
      if (looks > LOOKS_AT_ONCE) await sleep(2)
      if (Date.now() > limit)
        throw stuck(
          `something is still under way: ${JSON.stringify({ open: [...this.#open], notified: [...this.#notified] })}`,
        )
    }
  }

  /** Moves the clock from one moment at which something happens to the next. */
  async advance(milliseconds: number): Promise<void> {
    const clock = this.#theClock()
    const end = clock.now() + milliseconds
    await this.settle()
    while (clock.now() < end) {
      const next = clock.pending.find((at) => at > clock.now()) ?? end
      await clock.advance(Math.min(next, end) - clock.now())
      await this.settle()
    }
  }

  #keep({
    context: { id, due, owner, endedAt },
    notifies,
    answersNotification,
  }: Stored & Pick<Write, 'answersNotification'>): void {
    if (answersNotification) this.#notified.delete(id)
    for (const parent of notifies) this.#notified.add(parent)
    if (endedAt === null) this.#open.set(id, { due, owner })
    else this.#open.delete(id)
  }

  #theClock(): SimulatedClock {
    if (this.#clock === null) throw new Error('no clock is watched yet')
    return this.#clock
  }

  #isBusy(now: number): boolean {
    if ([...this.#notified].some((id) => this.#open.has(id))) return true
    for (const [id, { due, owner }] of this.#open) {
      if (owner !== null && !this.#standing.has(id)) return true
      if (due !== null && due <= now) return true
    }
    return false
  }
}
