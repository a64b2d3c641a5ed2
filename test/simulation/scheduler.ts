// All time of a simulation: what is to happen, in the order that the seed gives. Nothing else makes anything happen,
// so the same seed gives the same run.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { newEventId } from '../../src/engine/contexts/ids.ts'

/** A generator of numbers (mulberry32): the same seed, the same numbers. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995
  }

  /** At least 0, below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** undefined: there is none to choose. */
  pick<T>(all: readonly T[]): T | undefined {
    return all[Math.floor(this.next() * all.length)]
  }
}

/** Who acts. What a crashed one had still to do is never done; what a frozen one had, when it thaws. */
export interface Actor {
  readonly name: string
  readonly isAlive: boolean
  /** Epoch milliseconds. */
  readonly frozenUntil: number
}

interface Event {
  at: number
  /** Decides among events of the same time. */
  readonly order: number
  readonly actor: Actor | null
  readonly run: () => void
  isCalledOff: boolean
}

export class Scheduler {
  readonly random: Random
  /** What has happened, a line each. */
  readonly trace: string[] = []
  now: number
  /** The latest last, so that the next one is taken off the end. */
  readonly #events: Event[] = []

  constructor(random: Random, now: number) {
    this.random = random
    this.now = now
  }

  /** Gives what calls it off. */
  after(milliseconds: number, actor: Actor | null, run: () => void): () => void {
    const event: Event = {
      // As clocks tell time: in whole milliseconds.
      at: this.now + Math.ceil(Math.max(0, milliseconds)),
      order: this.random.next(),
      actor,
      run,
      isCalledOff: false,
    }
    this.#insert(event)
    return () => {
      event.isCalledOff = true
    }
  }

  /** Resolves then. */
  sleep(milliseconds: number, actor: Actor | null = null): Promise<void> {
    return new Promise((resolve) => {
      this.after(milliseconds, actor, resolve)
    })
  }

  tell(who: Actor | null, what: string): void {
    this.trace.push(`${this.now} ${who?.name ?? '-'} ${what}`)
  }

  /** Lets everything happen until `isOver` says so, or nothing is left. */
  async run(isOver: () => boolean): Promise<void> {
    await drained()
    while (!isOver()) {
      const event = this.#events.pop()
      if (!event) return
      const { actor } = event
      if (event.isCalledOff || (actor && !actor.isAlive)) continue
      if (actor && actor.frozenUntil > event.at) {
        event.at = actor.frozenUntil
        this.#insert(event)
        continue
      }
      this.now = event.at
      event.run()
      await drained()
    }
  }

  #insert(event: Event): void {
    let [low, high] = [0, this.#events.length]
    while (low < high) {
      const middle = (low + high) >> 1
      const other = this.#events[middle]
      if (other && (other.at > event.at || (other.at === event.at && other.order > event.order))) low = middle + 1
      else high = middle
    }
    this.#events.splice(low, 0, event)
  }
}

/** Node calls back only when no promise has anything left to do. */
const drained = () =>
  new Promise<void>((resolve) => {
    process.nextTick(resolve)
  })

/** How often a decision finds that it has taken long. */
const SLOW_TURN = 0.02
/** Milliseconds: more than a turn may take. */
const LONG_MS = 25

/**
 * While `run` lasts, whatever in the process would tell time, give randomness or wait for the event loop goes by the
 * scheduler: the engine is given a clock, but asks the process for ids, for how long a turn took, and to be called
 * back soon.
 */
export async function withSeededProcess<T>(scheduler: Scheduler, run: () => Promise<T>): Promise<T> {
  const real = {
    random: Math.random,
    randomUUID: crypto.randomUUID,
    dateNow: Date.now,
    getRandomValues: globalThis.crypto.getRandomValues.bind(globalThis.crypto),
    now: performance.now,
    setImmediate: globalThis.setImmediate,
  }
  const random = new Random(scheduler.random.between(1, 2 ** 31))
  let spent = 0
  const hex = (digits: number) => Array.from({ length: digits }, () => random.between(0, 15).toString(16)).join('')
  replace(Math, { random: () => random.next() })
  replace(crypto, { randomUUID: () => [hex(8), hex(4), `4${hex(3)}`, `8${hex(3)}`, hex(12)].join('-') })
  replace(Date, { now: () => scheduler.now })
  seedEventIds(random)
  replace(performance, { now: () => scheduler.now + (random.chance(SLOW_TURN) ? (spent += LONG_MS) : spent) })
  // What counts turns of the event loop for the whole process is called back also when the run is over.
  const soon = new Set<() => void>()
  replace(globalThis, {
    setImmediate(callback: (...given: unknown[]) => void, ...given: unknown[]) {
      const call = () => {
        if (soon.delete(call)) callback(...given)
      }
      soon.add(call)
      return scheduler.after(0, null, call)
    },
  })
  try {
    return await run()
  } finally {
    replace(Math, { random: real.random })
    replace(crypto, { randomUUID: real.randomUUID })
    replace(Date, { now: real.dateNow })
    replace(globalThis.crypto, { getRandomValues: real.getRandomValues })
    replace(performance, { now: real.now })
    replace(globalThis, { setImmediate: real.setImmediate })
    for (const call of soon) call()
  }
}

/** Ids of events are made of random bytes that are drawn for many at once: those that are left are used up. */
function seedEventIds(random: Random): void {
  const drawn: number[] = []
  replace(globalThis.crypto, {
    getRandomValues: (bytes: Uint8Array) => {
      drawn.push(bytes.length)
      for (const at of bytes.keys()) bytes[at] = random.between(0, 255)
      return bytes
    },
  })
  while (drawn.length === 0) newEventId()
}

function replace(where: object, what: object): void {
  Object.assign(where, what)
  syncBuiltinESMExports()
}
