// engine/fanout: what an event to all came to: for one receiver, and counted: how many it moved, started and met in vain,
// and who. A tally has all of them where they are to be answered, else the newest. Refused events and webhooks are logged;
// the number of lines per second is bounded.
import type { EventAnswer } from '../../api/events.ts'
import type { ContextId } from '../../model/context.ts'
import type { Failure } from '../../model/failure.ts'
import type { Signals } from '../../ports/signals.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'

/** Entries that a receipt has of each list. */
const MAX_LISTED = 1000
/**
 * Characters of JSON that are stored of those who ignored an event: they have no rows of their own that would count
 * towards a bound.
 */
const MAX_IGNORED_CHARACTERS = 16_384

type Stand = EventAnswer['transitions'][number] & {
  /** Epoch milliseconds. */
  readonly at: number
}

/** What an event did to one context. */
export type Item = (
  | { readonly answer: 'pending'; readonly kept: EventAnswer['pending'][number] }
  | { readonly answer: 'transitions' | 'executions'; readonly stand: EventAnswer['transitions'][number] }
) & {
  /** Epoch milliseconds. */
  readonly at: number
}

/** What it came to for one receiver; null: nothing, and there is nothing to report. */
export type Found =
  | Item
  | {
      readonly answer: 'ignored'
      readonly entry: EventAnswer['ignored'][number]
      readonly failure: Failure | null
      /** The context had ended. */
      readonly hasEnded: boolean
    }
  | null

/** Whether the store could not be reached for it. */
export const isOutOfReach = (one: Found): boolean => one?.answer === 'ignored' && one.failure?.kind === 'unavailable'

/** As a receipt shows it. */
export interface Outcomes {
  readonly counts: { readonly [list in 'moved' | 'started' | 'ignored' | 'pending']: number }
  readonly moved: readonly Stand[]
  readonly started: readonly Stand[]
  readonly ignored: EventAnswer['ignored']
  /** For whom it was kept; some of them may have taken it since. */
  readonly pending: EventAnswer['pending']
}

export const NO_OUTCOMES: Outcomes = {
  counts: { moved: 0, started: 0, ignored: 0, pending: 0 },
  moved: [],
  started: [],
  ignored: [],
  pending: [],
}

/** The last entries of a list. */
export const newest = <T>(list: readonly T[]): T[] => list.slice(-MAX_LISTED)

/** As many of the newest as are stored: the number is counted apart. */
export function storedIgnored(list: EventAnswer['ignored']): EventAnswer['ignored'] {
  let [from, characters] = [list.length, 0]
  while (from > 0 && list.length - from < MAX_LISTED) {
    characters += JSON.stringify(list[from - 1]).length
    if (characters > MAX_IGNORED_CHARACTERS) break
    from -= 1
  }
  return from === 0 ? list : list.slice(from)
}

const withoutTimes = (list: readonly Stand[]) => list.map(({ contextId, state }) => ({ contextId, state }))

/** Where it is counted what an event came to. */
const COUNTED = { transitions: 'moved', executions: 'started', ignored: 'ignored', pending: 'pending' } as const

export class BroadcastTally {
  readonly #moved: Stand[]
  readonly #started: Stand[]
  readonly #ignored: EventAnswer['ignored']
  readonly #pending: EventAnswer['pending']
  readonly #counts: { moved: number; started: number; ignored: number; pending: number }
  readonly #refused: { [kind: string]: number } = {}
  #firstRefused: EventAnswer['ignored'][number] | null = null
  #outOfReach: (Failure & { kind: 'unavailable' }) | null = null
  #isWhole: boolean

  /** @param whole whether all are kept. `before`: what it came to earlier, which is not reported again */
  constructor({ whole, before = NO_OUTCOMES }: { readonly whole: boolean; readonly before?: Outcomes }) {
    this.#isWhole = whole
    this.#counts = { ...before.counts }
    this.#moved = [...before.moved]
    this.#started = [...before.started]
    this.#ignored = [...before.ignored]
    this.#pending = [...before.pending]
  }

  get counts(): Outcomes['counts'] {
    return this.#counts
  }

  /** Whether it moved a context, or one keeps it. */
  get hasMoved(): boolean {
    return this.#counts.moved + this.#counts.pending > 0
  }

  /** Whether it has all who were moved and started. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /**
   * The store's, if it could not be reached for some, and nobody was reached; one that leaves in doubt whether they moved
   * goes first.
   */
  get failure(): Failure | null {
    const { moved, started, pending } = this.#counts
    return moved + started + pending === 0 ? this.#outOfReach : null
  }

  /** Whether that context is among those that it has. */
  has(id: ContextId): boolean {
    return [this.#moved, this.#started, this.#ignored, this.#pending].some((list) =>
      list.some(({ contextId }) => contextId === id),
    )
  }

  add(found: readonly Found[]): void {
    for (const one of found) if (one !== null) this.#add(one)
    if (!this.#isWhole) this.#trim()
  }

  /** Keeps the newest only from now on. */
  forget(): void {
    this.#isWhole = false
    this.#trim()
  }

  /** The newest of each. */
  outcomes(): Outcomes {
    return {
      counts: { ...this.#counts },
      moved: newest(this.#moved),
      started: newest(this.#started),
      ignored: [...storedIgnored(this.#ignored)],
      pending: newest(this.#pending),
    }
  }

  /** The answer to the sender, which has all if all are kept. */
  answer({ event, eventId }: { readonly event: string; readonly eventId: string }): EventAnswer {
    const { moved, started, ignored, pending } = this.#counts
    const kept = pending > 0 ? `, kept for ${pending}` : ''
    return {
      message: `'${event}': moved ${moved}, started ${started}, ignored by ${ignored}${kept}`,
      transitions: withoutTimes(this.#moved),
      executions: withoutTimes(this.#started),
      ignored: [...this.#ignored],
      eventId,
      pending: [...this.#pending],
    }
  }

  /** Logs one line for all contexts and services that refused the event. */
  logRefusals(refusals: Pick<RefusalLog, 'log'>, event: string): void {
    const kinds = Object.keys(this.#refused)
    if (kinds.length === 0) return
    const [{ moved, started }, refused, first] = [this.#counts, this.#refused, this.#firstRefused]
    void refusals.log('a broadcast was refused by some', kinds.sort().join(' '), () => ({
      event,
      moved,
      started,
      refused,
      contextId: first?.contextId,
      fluxName: first?.fluxName,
      state: first?.state,
      reason: first?.reason,
    }))
  }

  #add(one: Found & object): void {
    this.#counts[COUNTED[one.answer]] += 1
    if (one.answer === 'ignored') this.#addIgnored(one)
    else if (one.answer === 'pending') this.#pending.push(one.kept)
    else (one.answer === 'transitions' ? this.#moved : this.#started).push({ ...one.stand, at: one.at })
  }

  #addIgnored({ entry, failure }: Found & { readonly answer: 'ignored' }): void {
    this.#ignored.push(entry)
    this.#firstRefused ??= entry
    if (failure === null) return
    this.#refused[failure.kind] = (this.#refused[failure.kind] ?? 0) + 1
    if (failure.kind !== 'unavailable') return
    if (this.#outOfReach === null || failure.inDoubt === true) this.#outOfReach = failure
  }

  #trim(): void {
    for (const list of [this.#moved, this.#started, this.#ignored, this.#pending])
      if (list.length > 2 * MAX_LISTED) list.splice(0, list.length - MAX_LISTED)
  }
}

export const countsOf = ({ transitions, executions, ignored, pending }: EventAnswer): Outcomes['counts'] => ({
  moved: transitions.length,
  started: executions.length,
  ignored: ignored.length,
  pending: pending.length,
})

/** An event that met nobody is ignored once. */
export function countAll(signals: Signals, { moved, started, ignored, pending }: Outcomes['counts']): void {
  if (moved > 0) signals.event('moved', moved)
  if (started > 0) signals.event('started', started)
  if (pending > 0) signals.event('pending', pending)
  if (ignored > 0 || moved + started + pending === 0) signals.event('ignored', Math.max(1, ignored))
}

/** Maximum number of lines for one reason, and the milliseconds to which it applies. */
const MOST_LINES = 10
const WINDOW_MS = 1000

/** Statuses 409, 422 and 429: refusals of events by id whose cause an operator may have to find. */
const LOGGED: ReadonlySet<Failure['kind']> = new Set(['conflict', 'invalid', 'busy'])

/** Whether the refusal of an event by id with this failure is logged. */
export const isLogged = ({ kind }: Failure): boolean => LOGGED.has(kind)

interface Window {
  lines: number
  leftOut: number
}

export class RefusalLog {
  readonly #log: Log
  readonly #clock: Clock
  /** Open windows, by message and reason. */
  readonly #windows = new Map<string, Window>()

  constructor({ log, clock }: { readonly log: Log; readonly clock: Clock }) {
    this.#log = log
    this.#clock = clock
  }

  /**
   * Logs at most 10 lines a second for each reason. At the end of the second, the number of omitted lines is logged.
   * @param kind the reason, one of a small set
   * @param fields computes the fields; called only for a line that is written
   */
  async log(
    message: string,
    kind: string,
    fields: () => object | Promise<object>,
    level: 'info' | 'error' = 'info',
  ): Promise<void> {
    const key = `${message}: ${kind}`
    const window = this.#windows.get(key) ?? this.#open(key, { message, kind, level })
    if (window.lines >= MOST_LINES) {
      window.leftOut += 1
      return
    }
    window.lines += 1
    try {
      this.#log[level](message, await fields())
    } catch (error) {
      this.#log[level](message, { reason: kind, error })
    }
  }

  #open(key: string, { message, kind, level }: { message: string; kind: string; level: 'info' | 'error' }): Window {
    const window: Window = { lines: 0, leftOut: 0 }
    this.#windows.set(key, window)
    this.#clock.after(WINDOW_MS, () => {
      this.#windows.delete(key)
      if (window.leftOut > 0)
        this.#log[level](`${message}, and others like it`, { reason: kind, leftOut: window.leftOut })
    })
    return window
  }
}
