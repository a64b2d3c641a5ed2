// engine/fanout: the outcome of an event to all: for one receiver, and counted: how many it moved, started and could
// not move, and who. All of them are kept if they are to be answered, else the newest. Refused events and
// webhooks are logged; the number of lines per second is bounded.
import type { EventAnswer, Receipt } from '../../api/events.ts'
import type { Failure } from '../../model/failure.ts'
import type { Signals } from '../../ports/signals.ts'
import type { Deps } from '../contexts/deps.ts'
import { standOf, type MessageOutcome } from '../turn/message.ts'

/** Entries that a receipt has of each list. */
const MAX_LISTED = 1000
/**
 * Characters of JSON that are stored about contexts that ignored an event: they have no rows of their own that would
 * count towards a bound.
 */
const MAX_IGNORED_CHARACTERS = 16_384

/** What an event did to one context. */
export type Item = (
  | { readonly answer: 'pending'; readonly kept: EventAnswer['pending'][number] }
  | { readonly answer: 'transitions' | 'executions'; readonly stand: EventAnswer['transitions'][number] }
) & {
  /** Epoch milliseconds. */
  readonly at: number
}

export interface Ignored {
  readonly answer: 'ignored'
  readonly entry: EventAnswer['ignored'][number]
  readonly failure: Failure | null
  /** The context had ended. */
  readonly hasEnded: boolean
}

/** That the context was moved, or started. */
export const itemOf = (
  answer: 'transitions' | 'executions',
  outcome: Pick<MessageOutcome, 'record' | 'flux'>,
): Item => ({
  answer,
  stand: standOf(outcome),
  at: outcome.record.updatedAt,
})

export const contextOf = (item: Item) => (item.answer === 'pending' ? item.kept : item.stand).contextId ?? 0

/** The outcome for one receiver; null: there is nothing to report. */
export type Found = Item | Ignored | null

type List = 'moved' | 'started' | 'ignored' | 'pending'

/** As a receipt shows it. `pending`: the contexts for which it was kept; some may have taken it since. */
export interface Outcomes extends Pick<Receipt, List> {
  readonly counts: Pick<Receipt['counts'], List>
}

const NO_OUTCOMES: Outcomes = {
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
  let stored = newest(list)
  while (JSON.stringify(stored).length > MAX_IGNORED_CHARACTERS) stored = stored.slice(stored.length / 2 + 1)
  return stored
}

const withoutTimes = (list: Receipt['moved']) => list.map(({ contextId, state }) => ({ contextId, state }))

/** Counts the outcomes of an event. */
const COUNTED = { transitions: 'moved', executions: 'started', ignored: 'ignored', pending: 'pending' } as const

export class BroadcastTally {
  /** Whether it has all entries; else it has the newest. */
  isWhole: boolean
  readonly #all: Outcomes
  readonly #refused: { [kind: string]: number } = {}
  #firstRefused: EventAnswer['ignored'][number] | null = null
  #outOfReach: (Failure & { kind: 'unavailable' }) | null = null

  constructor(isWhole: boolean, before = NO_OUTCOMES) {
    this.isWhole = isWhole
    this.#all = structuredClone(before)
  }

  /** Whether it moved a context, or one keeps it. */
  get hasMoved(): boolean {
    const { moved, pending } = this.#all.counts
    return moved + pending > 0
  }

  /**
   * The failure of the store, if it was away for some contexts and no context was reached; a failure that leaves it
   * unknown whether contexts moved takes precedence.
   */
  get failure(): Failure | null {
    return this.hasMoved || this.#all.counts.started > 0 ? null : this.#outOfReach
  }

  add(one: Found): void {
    if (one === null) return
    const name = COUNTED[one.answer]
    const { [name]: list, counts, moved, started, ignored, pending } = this.#all
    counts[name] += 1
    if (one.answer === 'pending') pending.push(one.kept)
    else if (one.answer !== 'ignored') (name === 'moved' ? moved : started).push({ ...one.stand, at: one.at })
    else {
      ignored.push(one.entry)
      this.#noteRefusal(one)
    }
    if (!this.isWhole && list.length > 2 * MAX_LISTED) list.splice(0, list.length - MAX_LISTED)
  }

  /** The newest of each. `pending`: of the answer, where it is held for the first that waits for it. */
  outcomes({ pending: told }: Pick<EventAnswer, 'pending'> = this.#all): Outcomes {
    const { counts, moved, started, ignored } = this.#all
    return {
      counts: { ...counts, pending: Math.max(counts.pending, told.length) },
      moved: newest(moved),
      started: newest(started),
      ignored: storedIgnored(ignored),
      pending: newest(told),
    }
  }

  /** The answer to the sender, which has all if all are kept. */
  answer({ event, eventId }: { readonly event: string; readonly eventId: string }): EventAnswer {
    const { counts, moved, started, ignored, pending } = this.#all
    const kept = counts.pending > 0 ? `, kept for ${counts.pending}` : ''
    return {
      message: `'${event}': moved ${counts.moved}, started ${counts.started}, ignored by ${counts.ignored}${kept}`,
      transitions: withoutTimes(moved),
      executions: withoutTimes(started),
      ignored: [...ignored],
      eventId,
      pending: [...pending],
    }
  }

  /** Logs one line for all contexts and services that refused the event. */
  logRefusals(refusals: Pick<RefusalLog, 'log'>, event: string): void {
    const [refused, { moved, started }] = [this.#refused, this.#all.counts]
    const kinds = Object.keys(refused).sort().join(' ')
    const fields = () => ({ event, moved, started, refused, ...this.#firstRefused })
    if (kinds !== '') void refusals.log('a broadcast was refused by some', kinds, fields)
  }

  #noteRefusal({ entry, failure }: Ignored) {
    this.#firstRefused ??= entry
    if (failure === null) return
    this.#refused[failure.kind] = (this.#refused[failure.kind] ?? 0) + 1
    if (failure.kind === 'unavailable' && (this.#outOfReach === null || failure.inDoubt === true))
      this.#outOfReach = failure
  }
}

/** An event that no context waited for is ignored once. */
export function countAll(signals: Signals, { counts }: Outcomes): void {
  const { moved, started, pending } = counts
  const ignored = moved + started + pending > 0 ? counts.ignored : Math.max(1, counts.ignored)
  for (const name of ['moved', 'started', 'pending'] as const) if (counts[name] > 0) signals.event(name, counts[name])
  if (ignored > 0) signals.event('ignored', ignored)
}

/** Maximum number of lines for one reason, and the milliseconds to which it applies. */
const MOST_LINES = 10
const WINDOW_MS = 1000

/** Statuses 409, 422 and 429: refusals of events by id whose cause an operator may have to find. */
const LOGGED: ReadonlySet<Failure['kind']> = new Set(['conflict', 'invalid', 'busy'])

/** Whether the refusal of an event by id with this failure is logged. */
export const isLogged = ({ kind }: Failure): boolean => LOGGED.has(kind)

export class RefusalLog {
  readonly #deps: Deps
  /** Lines of the second that is under way, by message and reason. */
  readonly #lines = new Map<string, number>()

  constructor(deps: Deps) {
    this.#deps = deps
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
    const { log, clock } = this.#deps
    const key = `${message}: ${kind}`
    const lines = (this.#lines.get(key) ?? 0) + 1
    this.#lines.set(key, lines)
    if (lines === 1)
      clock.after(WINDOW_MS, () => {
        const leftOut = (this.#lines.get(key) ?? 0) - MOST_LINES
        this.#lines.delete(key)
        if (leftOut > 0) log[level](`${message}, and others like it`, { reason: kind, leftOut })
      })
    if (lines > MOST_LINES) return
    try {
      log[level](message, await fields())
    } catch (error) {
      log[level](message, { reason: kind, error })
    }
  }
}
