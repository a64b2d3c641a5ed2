// runtime: a mailbox for each context, drained by one turn at a time. What waits in it is decided and committed together; each letter fails alone.
import type { CompiledFlux } from '../definitions/flux.ts'
import { isFinished, type ContextId } from '../model/context.ts'
import { FluxError, notFound, unavailable, type Failure } from '../model/failure.ts'
import type { ContextRecord } from '../model/record.ts'
import type { AlarmClock } from '../ports/alarm-clock.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { StoredContext } from '../ports/store.ts'
import { logFailures } from './attempts.ts'
import type { Birth } from './birth.ts'
import { RecordTooLarge } from './codec.ts'
import { isStill, write, type CommitParts } from './commit.ts'
import type { Input } from './decision.ts'
import { machineContext, type Step } from './position.ts'
import { Work, type Entry, type Verdict, type WorkParts } from './work.ts'

/** Events that may wait for one context. */
const MAILBOX = 1000
/** Letters decided in one turn, and the milliseconds after which it takes no more: others want to be served too. */
const BATCH = 100
const TURN_TIME = 20
/** Milliseconds until a parent that couldn't be told of an end is told again. */
const WAKE_AGAIN = 1000

export interface Outcome {
  /** False: it was refused, or else it was stale or not addressed to the context. */
  readonly moved: boolean
  /** Why it was refused. */
  readonly failure: Failure | null
  /** As committed. */
  readonly record: ContextRecord
  readonly flux: CompiledFlux
}

interface Letter {
  readonly input: Input
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

/** One turn, over as many tries as it takes. */
interface Turn {
  readonly id: ContextId
  /** What it is told. */
  open: Letter[]
  /** How often another server was faster. */
  lost: number
  /** What it is told would make too much of it. */
  outgrown: RecordTooLarge | null
}

/** Hears of each commit to one context, after it. */
export type Watcher = (record: ContextRecord, flux: CompiledFlux) => void

export interface ContextsParts extends WorkParts, CommitParts {
  readonly alarm: AlarmClock
  readonly clock: Clock
  readonly log: Log
  /** Called after the commit, never before. `texts`: the context as it was committed. */
  readonly onStep: (step: Step, entry: Entry, texts: StoredContext['parts']) => void
  readonly onEnd: (id: ContextId) => void
  /** What a webhook's caller waits for has come, and he waits at another server, if he still does. */
  readonly onAnswer: (id: ContextId) => void
}

export class Contexts {
  readonly #parts: ContextsParts
  readonly #boxes = new Map<ContextId, Letter[]>()
  readonly #watchers = new Map<ContextId, Watcher>()
  #onIdle: (() => void) | null = null

  constructor(parts: ContextsParts) {
    this.#parts = parts
  }

  /**
   * Tells a context something; resolves after the commit.
   * @throws FluxError when it doesn't exist, or its mailbox is full
   */
  deliver(id: ContextId, input: Input): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const box = this.#boxes.get(id)
      // What comes from outside is bounded; answers of steps, wake-ups and the end of a context are not.
      if (box && box.length >= MAILBOX && (input.type === 'EVENT' || input.type === 'TAG')) {
        reject(new FluxError({ kind: 'busy', detail: `${MAILBOX} letters already wait for context ${id}`, retryAfter: 1 }))
        return
      }
      const letter = { input, resolve, reject }
      if (box) {
        box.push(letter)
      } else {
        const fresh = [letter]
        this.#boxes.set(id, fresh)
        void this.#drain(id, fresh)
      }
    })
  }

  /**
   * Starts a context; resolves after the commit. A watcher hears of that commit, too, and of all later ones of this server until it is let go.
   * @throws FluxError when its inputs, tags or start state are invalid
   */
  async start(birth: Birth, watcher?: Watcher): Promise<Outcome> {
    const work = new Work(this.#parts)
    const born = await work.create(birth)
    if ('failure' in born) throw new FluxError(born.failure)
    const { id } = born.entry.record
    if (watcher) this.#watchers.set(id, watcher)
    try {
      if (!await this.#commit(work, 0)) throw unavailable(`context ${id} exists already`)
    } catch (error) {
      this.#watchers.delete(id)
      if (error instanceof RecordTooLarge) throw new FluxError({ kind: 'tooLarge', detail: error.message })
      throw error
    } finally {
      work.release()
    }
    return { moved: true, failure: null, record: born.entry.record, flux: birth.flux }
  }

  /** Its watcher hears nothing more. */
  letGo(id: ContextId): void {
    this.#watchers.delete(id)
  }

  /** Whether anything waits for that context, or is under way in it. */
  isBusy(id: ContextId): boolean {
    return this.#boxes.has(id)
  }

  /** Resolves when no mailbox has anything left. */
  async idle(): Promise<void> {
    while (this.#boxes.size > 0) await new Promise<void>((resolve) => { this.#onIdle = resolve })
  }

  async #drain(id: ContextId, box: Letter[]): Promise<void> {
    while (box.length > 0) {
      const letters = box.splice(0, BATCH)
      try {
        box.unshift(...await this.#turn(id, letters))
      } catch (error) {
        for (const { reject } of letters) reject(error)
      }
    }
    this.#boxes.delete(id)
    if (this.#boxes.size === 0) this.#onIdle?.()
  }

  /** Decides until a commit isn't overtaken by another server's. Gives the letters that there was no time for. */
  async #turn(id: ContextId, letters: readonly Letter[]): Promise<readonly Letter[]> {
    const turn: Turn = { id, open: [...letters], lost: 0, outgrown: null }
    for (;;) {
      const work = new Work(this.#parts, { ends: turn.outgrown !== null })
      try {
        if (await this.#tryTurn(work, turn)) return turn.open
      } catch (error) {
        if (!(error instanceof RecordTooLarge) || turn.outgrown) throw error
        // Whoever is decided next may need the room that this one has.
        work.release()
        // One of them is too much, and the others are innocent.
        if (turn.open.length > 1) return [...await this.#turn(id, turn.open.slice(0, 1)), ...turn.open.slice(1)]
        turn.outgrown = error
      } finally {
        work.release()
      }
    }
  }

  /** True when what was decided is committed, and `open` is what is left. */
  async #tryTurn(work: Work, turn: Turn): Promise<boolean> {
    const { id, open, outgrown } = turn
    const began = performance.now()
    const entry = await work.find(id)
    if (!entry) throw notFound(`there is no context ${id}`)
    const { record: { due, status } } = entry
    if (due !== null && due <= work.now && !isFinished(status) && !outgrown) await work.tell(entry, { type: 'WAKE' })
    const verdicts: Verdict[] = []
    const heard = outgrown ? open.map((letter) => ({ ...letter, input: outgrownInput(outgrown) })) : open
    const broken = await this.#tellAll(work, entry, heard, (verdict) => {
      verdicts.push(verdict)
      return performance.now() - began < TURN_TIME
    })
    // Half of what a letter does must not become true: all others are decided again without it.
    if (broken) {
      broken.letter.reject(broken.error)
      turn.open = open.filter((letter) => letter.reject !== broken.letter.reject)
      return false
    }
    if (!await this.#commit(work, turn.lost)) {
      turn.lost += 1
      return false
    }
    verdicts.forEach((verdict, index) => {
      const failure = verdict.kind === 'refused' ? verdict.failure : null
      open[index]?.resolve({ moved: verdict.kind === 'next', failure, record: entry.record, flux: entry.flux })
    })
    turn.open = open.slice(verdicts.length)
    return true
  }

  /** Tells the letters one by one, as long as `heard` says to go on; stops at one that throws. */
  async #tellAll(
    work: Work, entry: Entry, letters: readonly Letter[], heard: (verdict: Verdict) => boolean,
  ): Promise<{ letter: Letter; error: unknown } | null> {
    for (const letter of letters) {
      try {
        if (!heard(await work.tell(entry, letter.input))) return null
      } catch (error) {
        return { letter, error }
      }
    }
    return null
  }

  /** False when another server was faster. After it the world may hear of what became true. */
  async #commit(work: Work, lost: number): Promise<boolean> {
    const { recent } = this.#parts
    const writes = work.writes()
    if (writes.length === 0) return isStill(this.#parts, work)
    if (!await write(this.#parts, work, writes, lost)) return false
    for (const { context } of writes) {
      const entry = work.entries.get(context.id)
      if (!entry) continue
      recent.keep(entry, context.parts, work.era)
      if (isFinished(entry.record.status)) this.#parts.onEnd(context.id)
      else if (entry.step && isUnderWay(entry.step, entry.record)) this.#parts.onStep(entry.step, entry, context.parts)
      logFailures(this.#parts.log, entry)
      if (context.due !== null) this.#parts.alarm.set(context.due)
      for (const parent of entry.pokes) this.wake(parent)
      const watcher = this.#watchers.get(context.id)
      if (watcher) watcher(entry.record, entry.flux)
      else if (answers(entry)) this.#parts.onAnswer(context.id)
    }
    return true
  }

  /** Tells a context that a relative has ended. A hint only: the store keeps the poke until it is answered. */
  wake(id: ContextId): void {
    const { alarm, clock, log } = this.#parts
    this.deliver(id, { type: 'WAKE' }).catch((error: unknown) => {
      log.warn('a parent could not be told of an end; it will be again', { contextId: id, error })
      alarm.set(clock.now() + WAKE_AGAIN)
    })
  }
}

/** Whether this commit is the first in which the context of a webhook has paused or ended. */
const answers = ({ before, record }: Entry): boolean =>
  record.request !== null && before?.status === 'RUNNING' && before.paused === undefined && (record.paused !== undefined || record.status !== 'RUNNING')

const outgrownInput = ({ message }: RecordTooLarge): Input =>
  ({ type: 'OUTGROWN', error: { message, type: 'RecordTooLarge', className: 'RecordTooLarge', realException: null } })

/** Where a context stands, as the answer to an event reports it. */
export const standOf = ({ record, flux }: Outcome) => ({ contextId: record.id, state: flux.states[record.state]?.name ?? '' })

/** A later letter of the same turn may have ended what an earlier one began. */
function isUnderWay({ epoch, attempt }: Step, record: ContextRecord): boolean {
  const present = machineContext(record)
  return record.lease !== null && present.epoch === epoch && present.attempt === attempt
}
