// engine/idempotency: calls under a key have their effect once. What was answered is written in the commit of the
// effect, in the partition of what the call is addressed to, under a guard, so the first call needs no read; a repeat
// is noticed by the guard, or before it is refused.
//
// Such calls are those with an `Idempotency-Key`, events with an `eventId`, and calls in process with `idempotencyKey`.
//
// - The answer is a row in the commit of the effect, under the hash of the caller, the call, and the key. The
//   commit's guard says that there is none yet, so the first call reads nothing. A message or a start that has rows
//   names them by a pure function (`RowsOf` in `engine/turn/message.ts`), called once the turn has decided all its
//   messages; when a guard fails, only the message whose row it is is taken out (`turn.ts`, `mailboxes.ts`).
// - A repeat is found by the guard, or, where it would be refused, by reading the row before it is refused. A caller
//   that may not make the call is refused in any case.
// - The row has the hash of the content; another content under the key is a mismatch. Calls under way in this server
//   are remembered, so a twin is asked to wait.
// - A key lies with what its call is addressed to (`kept-answer.ts`): the row is in the partition of the context, or
//   of the key of the service that is named, so it is in the commit of the effect, however many partitions there are.
//   The addressee is part of the key of the row. A start without a key gets its id in the partition of its idempotency
//   key, and an event to all has its rows there. Where a service gives the key, it is worked out beforehand
//   (`drawnFrom`): what it draws by chance depends on the idempotency key alone, so each repeat comes to the same
//   partition.
import { randomUUID } from 'node:crypto'
import type { AnswerKind } from '../../api/call.ts'
import type { Told } from '../../api/calls.ts'
import { FluxError, overloaded } from '../../model/failure.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { EngineParts } from '../contexts/deps.ts'
import { RowTaken } from '../turn/message.ts'
import { isAway } from '../tasks/task.ts'
import { pause } from '../../ports/periodic.ts'
import {
  contentHashOf,
  countRepeat,
  inProgress,
  mismatch,
  placeOf,
  readKept,
  rowKeyOf,
  type Addressee,
  type KeptAnswer,
  type KeptPlace,
  type ScopedKey,
} from './kept-answer.ts'

/** A call under a key, whose effect is in the partition of its addressee. */
export interface KeyedCall<A> extends ScopedKey {
  readonly of: AnswerKind<A>
  readonly addressee: Addressee
  /** What is asked for, without the key. */
  readonly content: object
  /** The name of the event, if it is one: its receipt has it, and how often it was repeated. */
  readonly event?: string
}

/** What the commit of the effect must write, with the answer that it leads to. */
export interface Keeping {
  /** That of the effect. */
  readonly partition: number
  readonly rowOf: (answer: object) => RowWrite
}

/** What is done once under a key. `T`: its outcome. `A`: what is kept of it. */
export interface KeyedEffect<T, A> {
  readonly place: KeptPlace
  /** Hash of the content: a repeat must have the same. */
  readonly hash: string
  /** Milliseconds for which the answer is kept. */
  readonly keepMs: number
  /** What its row has besides. */
  readonly noted: object
  /**
   * Where the first is under way, on this server or elsewhere, a repeat waits for it for a while; else it is refused.
   */
  readonly waits: boolean
  /** Must write the row in the commit of the effect, and let `RowTaken` through. */
  readonly run: (keeping: Keeping) => Promise<T>
  /**
   * The outcome of an earlier request under the key. `isOwn`: it is this one, whose commit was done although the reply
   * to it was lost.
   */
  readonly earlier: (kept: KeptAnswer<A> & { readonly answer: A }, isOwn: boolean) => T | Promise<T>
}

interface UnderWay {
  /** Hash of the content. */
  readonly hash: string
  /** Resolves when it has ended: whether there may be an answer, or the store is away. */
  readonly done: Promise<boolean>
}

/** Milliseconds between looks for a first request that another server has under way, and for how many it is looked. */
const LOOK_AGAIN_MS = 250
const PATIENCE_MS = 10_000
/** Milliseconds for which the number of rows is remembered. */
const COUNT_MS = 1000

/** A caller that may not make the call does not learn its earlier answer. */
const DENIALS: ReadonlySet<string> = new Set(['unauthorized', 'forbidden'])

export class Idempotency {
  readonly #given: EngineParts
  /** What is under way here, by the key of its row. */
  readonly #underWay = new Map<string, UnderWay>()
  #counted = { rows: 0, at: -Infinity }
  /** Rows that may have been written since they were counted. */
  #added = 0

  constructor(given: EngineParts) {
    this.#given = given
  }

  /**
   * Runs the call, unless it was answered before: then gives that answer. While the first is under way, a repeat is
   * refused.
   * @param run as that of a `KeyedEffect`
   * @throws FluxError as `onceUnder`
   */
  once<A extends object>(call: KeyedCall<A>, run: (keeping: Keeping) => Promise<A>): Promise<Told<A>> {
    const { of, addressee, event, content } = call
    const { store, idempotency } = this.#given
    const rowKey = rowKeyOf(call)
    // A receipt lists what became of an event for all contexts to which it was sent under its key.
    const space = event !== undefined && addressee !== null ? 'items' : 'idempotency'
    return this.onceUnder<Told<A>, unknown>({
      place: { ...placeOf(rowKey, addressee, store.partitions), space },
      hash: contentHashOf(content),
      keepMs: idempotency.kept,
      noted: { event },
      waits: false,
      run: async (keeping) => ({ answer: await run(keeping) }),
      earlier: async (earlier, isOwn) => {
        const answer = of.answer.parse(earlier.answer)
        if (isOwn) return { answer }
        if (event !== undefined) await countRepeat(store, rowKey, earlier.at + idempotency.kept)
        return { answer, replayed: true }
      },
    })
  }

  /**
   * Runs the effect, unless an earlier request under the key had it: then returns that outcome.
   * @throws FluxError `idempotencyMismatch` when the key was used for another content, `idempotencyInProgress` while
   * the first is under way, `overloaded` when as many keys are kept as may be; whatever the effect throws, if there is
   * no earlier answer
   */
  async onceUnder<T, A>(keyed: KeyedEffect<T, A>): Promise<T> {
    const { store, clock } = this.#given
    const { place, waits } = keyed
    const running = () => (waits ? this.#underWay.get(place.key) : undefined)
    for (const until = clock.now() + PATIENCE_MS; ;) {
      try {
        for (let other; (other = running());) {
          const row = (await other.done) ? await store.readRow(place) : null
          if (row) return await this.#earlier(keyed, row.value)
        }
        return await this.alone(place.key, keyed.hash, () => this.#attempt(keyed))
      } catch (error) {
        const isRunning = error instanceof FluxError && error.failure.kind === 'idempotencyInProgress'
        if (!waits || !isRunning || clock.now() >= until) throw error
        await pause(clock, LOOK_AGAIN_MS)
      }
    }
  }

  /**
   * Runs it, unless something is under way here under the key of that row. @throws FluxError `idempotencyMismatch`,
   * `idempotencyInProgress`
   */
  alone<T>(key: string, hash: string, run: () => Promise<T>): Promise<T> {
    const running = this.#underWay.get(key)
    if (running) return Promise.reject(running.hash === hash ? inProgress() : mismatch())
    const own = run().finally(() => this.#underWay.delete(key))
    // If the store is away, the waiting calls need not find that out one after the other.
    this.#underWay.set(key, { hash, done: own.then(() => true, isAway) })
    return own
  }

  async #attempt<T, A>(keyed: KeyedEffect<T, A>): Promise<T> {
    const { place, hash, keepMs, noted, run } = keyed
    const { clock } = this.#given
    let written = ''
    const rowOf = (answer: object): RowWrite => {
      const at = clock.now()
      // Distinguishes it from the row of another server that answered the same in the same millisecond.
      written = JSON.stringify({ hash, at, by: randomUUID(), ...noted, answer })
      return { ...place, expects: null, value: written, expiresAt: at + keepMs }
    }
    try {
      this.requireRoom()
      return await run({ partition: place.partition, rowOf }).catch((error: unknown) => {
        this.#added -= 1
        throw error
      })
    } catch (error) {
      const text = await this.#keptInstead(place, error)
      if (text === null) throw error
      return this.#earlier(keyed, text, text === written)
    }
  }

  /** By the row of the key. */
  async #earlier<T, A>({ hash, earlier }: KeyedEffect<T, A>, text: string, isOwn = false): Promise<T> {
    const kept = readKept<A>(text)
    const { answer } = kept
    if (kept.hash !== hash) throw mismatch()
    // A broadcast is under way: the content distinguishes them.
    if (answer === null) throw inProgress()
    return earlier({ ...kept, answer }, isOwn)
  }

  /** The row that was written before, if its answer may replace the error; null: there is none. */
  async #keptInstead(place: KeptPlace, error: unknown) {
    if (error instanceof RowTaken) return error.space === place.space && error.key === place.key ? error.value : null
    if (!(error instanceof FluxError) || DENIALS.has(error.failure.kind)) return null
    // If it can't be read, the error itself says more.
    const row = await this.#given.store.readRow(place).catch(() => null)
    return row && row.value
  }

  /**
   * Counts another key. Awaits nothing, so that calls keep their order: the number of rows is that of the last second.
   * @throws FluxError `overloaded` when as many keys are kept as may be
   */
  requireRoom(): void {
    const { clock, idempotency } = this.#given
    const now = clock.now()
    if (Math.abs(now - this.#counted.at) >= COUNT_MS) {
      this.#counted.at = now
      void this.#count()
    }
    if (this.#counted.rows + this.#added >= idempotency.max)
      throw overloaded('as many idempotency keys are kept as may be')
    this.#added += 1
  }

  async #count() {
    const { store } = this.#given
    const before = this.#added
    try {
      const counts = await Promise.all([store.countRows({ space: 'idempotency' }), store.countRows({ space: 'items' })])
      this.#counted.rows = counts[0] + counts[1]
      this.#added -= before
    } catch {
      // The store is out of reach, which the call itself finds out.
    }
  }
}
