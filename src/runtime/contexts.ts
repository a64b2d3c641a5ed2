// runtime: a mailbox for each context, drained by one turn at a time. What waits in it is decided and committed together; each letter fails alone.
import type { CompiledFlux } from '../definitions/flux.ts'
import { isFinished, type ContextId } from '../model/context.ts'
import { FluxError, notFound, unavailable, type Failure } from '../model/failure.ts'
import type { ContextRecord } from '../model/record.ts'
import type { AlarmClock } from '../ports/alarm-clock.ts'
import type { Log } from '../ports/log.ts'
import type { Birth } from './birth.ts'
import { machineContext, type Input, type Step } from './decide.ts'
import { Work, type Entry, type Verdict, type WorkParts } from './work.ts'

/** Events that may wait for one context. */
const MAILBOX = 1000
/** Letters decided in one turn. */
const BATCH = 100

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

export interface ContextsParts extends WorkParts {
  readonly alarm: AlarmClock
  readonly log: Log
  /** Called after the commit, never before. */
  readonly onStep: (step: Step, entry: Entry) => void
  readonly onEnd: (id: ContextId) => void
}

export class Contexts {
  readonly #parts: ContextsParts
  readonly #boxes = new Map<ContextId, Letter[]>()
  readonly #drains = new Set<Promise<void>>()

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
      if (box && box.length >= MAILBOX && input.type === 'EVENT' && input.tags === null) {
        reject(new FluxError({ kind: 'busy', detail: `${MAILBOX} events already wait for context ${id}`, retryAfter: 1 }))
        return
      }
      const letter = { input, resolve, reject }
      if (box) {
        box.push(letter)
      } else {
        const fresh = [letter]
        this.#boxes.set(id, fresh)
        const drain = this.#drain(id, fresh).finally(() => this.#drains.delete(drain))
        this.#drains.add(drain)
      }
    })
  }

  /**
   * Starts a context; resolves after the commit.
   * @throws FluxError when its inputs, tags or start state are invalid
   */
  async start(birth: Birth): Promise<Outcome> {
    const work = new Work(this.#parts)
    const born = await work.create(birth)
    if ('failure' in born) throw new FluxError(born.failure)
    const outcome = await this.#commit(work)
    if (!outcome) throw unavailable(`context ${born.entry.record.id} exists already`)
    return { moved: true, failure: null, record: born.entry.record, flux: birth.flux }
  }

  /** Resolves when no mailbox has anything left. */
  async idle(): Promise<void> {
    while (this.#drains.size > 0) await Promise.all(this.#drains)
  }

  async #drain(id: ContextId, box: Letter[]): Promise<void> {
    while (box.length > 0) {
      const letters = box.splice(0, BATCH)
      try {
        await this.#turn(id, letters)
      } catch (error) {
        for (const { reject } of letters) reject(error)
      }
    }
    this.#boxes.delete(id)
  }

  /** Decides until a commit isn't overtaken by another server's. */
  async #turn(id: ContextId, letters: readonly Letter[]): Promise<void> {
    for (;;) {
      const work = new Work(this.#parts)
      const entry = await this.#find(work, id)
      if (entry.record.due !== null && entry.record.due <= work.now && !isFinished(entry.record.status)) await work.tell(entry, { type: 'WAKE' })
      const verdicts: (Verdict | { kind: 'error'; error: unknown })[] = []
      for (const { input } of letters) verdicts.push(await this.#tell(work, entry, input))
      if (!await this.#commit(work)) continue
      letters.forEach(({ resolve, reject }, index) => {
        const verdict = verdicts[index]
        if (verdict?.kind === 'error') reject(verdict.error)
        else resolve({ moved: verdict?.kind === 'next', failure: verdict?.kind === 'refused' ? verdict.failure : null, record: entry.record, flux: entry.flux })
      })
      return
    }
  }

  async #find(work: Work, id: ContextId): Promise<Entry> {
    const entry = await work.find(id)
    if (!entry) throw notFound(`there is no context ${id}`)
    return entry
  }

  async #tell(work: Work, entry: Entry, input: Input): Promise<Verdict | { kind: 'error'; error: unknown }> {
    try {
      return await work.tell(entry, input)
    } catch (error) {
      return { kind: 'error', error }
    }
  }

  /** False when another server was faster. After it the world may hear of what became true. */
  async #commit(work: Work): Promise<boolean> {
    const writes = work.writes()
    if (writes.length === 0) return true
    const outcome = await this.#parts.store.commit({ writes })
    if (!outcome.ok) return false
    for (const { context } of writes) {
      const entry = work.entries.get(context.id)
      if (!entry) continue
      if (isFinished(entry.record.status)) this.#parts.onEnd(context.id)
      else if (entry.step && isUnderWay(entry.step, entry.record)) this.#parts.onStep(entry.step, entry)
      if (context.due !== null) this.#parts.alarm.set(context.due)
      for (const parent of entry.pokes) this.#wake(parent)
    }
    return true
  }

  /** A hint only: the store keeps the poke until it is answered. */
  #wake(id: ContextId): void {
    this.deliver(id, { type: 'WAKE' }).catch((error: unknown) => this.#parts.log.warn('a parent could not be told of an end; it will be again', { contextId: id, error }))
  }
}


/** Where a context stands, as the answer to an event reports it. */
export const standOf = ({ record, flux }: Outcome) => ({ contextId: record.id, state: flux.states[record.state]?.name ?? '' })

/** A later letter of the same turn may have ended what an earlier one began. */
function isUnderWay({ epoch, attempt }: Step, record: ContextRecord): boolean {
  const present = machineContext(record)
  return record.lease !== null && present.epoch === epoch && present.attempt === attempt
}
