// engine/idempotency: calls under a key have their effect once. What was answered is written in the commit of the
// effect, in the partition of what the call is addressed to, under a guard, so the first call needs no read; a repeat is
// noticed by the guard, or before it is refused.
//
// Such calls are those with an `Idempotency-Key`, events with an `eventId`, and calls in process with `idempotencyKey`.
//
// - The answer is a row in the commit of the effect, under the hash of the caller, the call, and the key. The
//   commit's guard says that there is none yet, so the first call reads nothing. A message or a start that has rows
//   names them by a pure function (`RowsOf` in `engine/turn/message.ts`), called once the turn has decided all its
//   messages; when a guard fails, only the message whose row it is is taken out (`turn.ts`, `mailboxes.ts`).
// - A repeat is found by the guard, or, where it would be refused, by reading the row before the refusal is told. Who
//   may not make the call is refused all the same.
// - The row has the hash of the content; another content under the key is a mismatch. Calls under way in this server
//   are remembered, so a twin is told to wait.
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
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { RowTaken } from '../turn/message.ts'
import {
  contentHashOf,
  countRepeat,
  inProgress,
  mismatch,
  placeOf,
  readKept,
  rowKeyOf,
  type Addressee,
  type KeptPlace,
  type KeptRow,
  type ScopedKey,
} from './kept-answer.ts'

export interface IdempotencyParts {
  readonly store: Store
  readonly clock: Clock
  /** Milliseconds for which answers are kept. */
  readonly kept: number
  /** Answers kept at once, and contexts moved by events under a key. */
  readonly max: number
}

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

/** One try of a call under a key: the row that is written with its effect, or the row that is there instead. */
export interface KeyTry extends Keeping {
  /**
   * What the effect comes to, or else what `earlier` makes of the row that is there instead. `isOwn`: this try has written
   * it: the reply to the commit was lost, and the commit was tried again.
   * @throws whatever the effect throws, if nothing was answered before
   */
  readonly run: <A>(effect: () => Promise<A>, earlier: (row: KeptRow, isOwn: boolean) => A | Promise<A>) => Promise<A>
}

/** What a call is known by. */
interface Tried {
  readonly place: KeptPlace
  /** Of the content. */
  readonly hash: string
  /** Milliseconds for which the answer is kept. */
  readonly kept: number
}

/** Milliseconds for which the number of rows is remembered. */
const COUNT_MS = 1000

/** A caller that may not make the call does not learn what it once led to. */
const DENIALS: ReadonlySet<string> = new Set(['unauthorized', 'forbidden'])

export class Idempotency {
  readonly #parts: IdempotencyParts
  /** Calls under way here: the hash of each one's content, by the key of its row. */
  readonly #underWay = new Map<string, string>()
  #counted = { rows: 0, at: -Infinity }
  /** Rows that may have been written since they were counted. */
  #added = 0

  constructor(parts: IdempotencyParts) {
    this.#parts = parts
  }

  /**
   * Runs the call, unless it was answered before: then gives that answer.
   * @param run must write the row in the commit of the effect, and let `RowTaken` through
   * @throws FluxError `idempotencyMismatch` when the key was used for another content, `idempotencyInProgress` while the
   * first call is under way here, `overloaded` when as many keys are kept as may be; whatever `run` throws, if there is
   * no earlier answer
   */
  async once<A extends object>(call: KeyedCall<A>, run: (keeping: Keeping) => Promise<A>): Promise<Told<A>> {
    const { of, addressee, event, content } = call
    const { store, kept } = this.#parts
    const [rowKey, hash] = [rowKeyOf(call), contentHashOf(content)]
    // A receipt lists what became of an event for all contexts to which it was sent under its key.
    const space = event !== undefined && addressee !== null ? 'items' : 'idempotency'
    const place: KeptPlace = { ...placeOf(rowKey, addressee, store.partitions), space }
    const release = this.hold(place.key, hash)
    const tried = this.tryOf({ place, hash, kept }, { event })
    try {
      return await tried.run(
        async (): Promise<Told<A>> => {
          this.requireRoom()
          try {
            return { answer: await run(tried) }
          } catch (error) {
            this.#added -= 1
            throw error
          }
        },
        async ({ value }, isOwn) => {
          const earlier = readKept(value)
          if (earlier.hash !== hash) throw mismatch()
          // The first is a broadcast under way: the content distinguishes them.
          if (earlier.answer === null) throw inProgress()
          const answer = of.answer.parse(earlier.answer)
          if (isOwn) return { answer }
          if (event !== undefined) await this.noteRepeat(rowKey, earlier.at)
          return { answer, replayed: true }
        },
      )
    } finally {
      release()
    }
  }

  /**
   * Notes that a call is under way here, until the returned function is called. @throws FluxError `idempotencyMismatch`,
   * `idempotencyInProgress`
   */
  hold(key: string, hash: string): () => void {
    const running = this.#underWay.get(key)
    if (running !== undefined) throw running === hash ? inProgress() : mismatch()
    this.#underWay.set(key, hash)
    return () => void this.#underWay.delete(key)
  }

  /** Of the event of that row key. A repeat is answered also where it can't be counted. */
  async noteRepeat(rowKey: string, at: number): Promise<void> {
    const { store, kept } = this.#parts
    await countRepeat(store, rowKey, at + kept).catch(() => {})
  }

  /** Whether that call is under way here. */
  isHeld(key: string): boolean {
    return this.#underWay.has(key)
  }

  /** `more`: what its row has besides. */
  tryOf({ place, hash, kept }: Tried, more: object = {}): KeyTry {
    const { clock } = this.#parts
    let written = ''
    return {
      partition: place.partition,
      rowOf(answer) {
        const at = clock.now()
        // Told apart from the row of another server, which may have answered the same in the same millisecond.
        written = JSON.stringify({ hash, at, by: randomUUID(), ...more, answer })
        return { ...place, expects: null, value: written, expiresAt: at + kept }
      },
      run: async (effect, earlier) => {
        try {
          return await effect()
        } catch (error) {
          const row = await this.#keptInstead(place, error)
          if (row === null) throw error
          return earlier(row, row.value === written)
        }
      },
    }
  }

  /** What was answered before, if that may be returned instead of the error; null: nothing was. */
  async #keptInstead(place: KeptPlace, error: unknown): Promise<KeptRow | null> {
    if (error instanceof RowTaken) {
      const { space, key, value } = error
      return space === place.space && key === place.key && value !== null ? { ...place, value } : null
    }
    if (!(error instanceof FluxError) || DENIALS.has(error.failure.kind)) return null
    try {
      return await this.#parts.store.readRow(place)
    } catch {
      // The error itself says more.
      return null
    }
  }

  /**
   * Counts another key. Awaits nothing, so that calls keep their order: the number of rows is that of the last second.
   * @throws FluxError `overloaded` when as many keys are kept as may be
   */
  requireRoom(): void {
    const { clock, max } = this.#parts
    const now = clock.now()
    if (Math.abs(now - this.#counted.at) >= COUNT_MS) {
      this.#counted.at = now
      void this.#count()
    }
    if (this.#counted.rows + this.#added >= max) throw overloaded('as many idempotency keys are kept as may be')
    this.#added += 1
  }

  async #count(): Promise<void> {
    const { store } = this.#parts
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
