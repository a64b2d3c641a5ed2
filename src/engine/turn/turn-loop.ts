// engine: runs a turn, repeatedly if necessary, until no data is lacking, no message throws, and the commit is
// accepted. Messages of one turn are decided and committed together; each message fails alone.
import type { ContextId } from '../../model/context.ts'
import { FluxError, notFound } from '../../model/failure.ts'
import type { Commits } from './commit.ts'
import type { Input } from '../interpreter/decision.ts'
import { nextPending } from '../interpreter/early.ts'
import type { Traces, TurnSpan } from '../../ports/traces.ts'
import { RowTaken, traceparentsOf, type Message } from './message.ts'
import { beforeRows, hasRows, rowsOfTurn, type MessageRow } from './message-rows.ts'
import type { Pace } from './pace.ts'
import { runTurn, type TurnResult } from './turn.ts'
import { TurnData, type TurnDataParts } from './turn-data.ts'
import type { TurnEnv } from './unit-of-work.ts'

export interface TurnLoopParts extends TurnDataParts {
  readonly commits: Commits
  readonly env: () => TurnEnv
  /** Left out: nobody traces turns. */
  readonly traces?: Traces | null | undefined
}

/** The mailboxes from which the messages of a turn are taken. */
interface Source {
  /** Puts messages back in front of those that wait for that context. */
  readonly putBack: (id: ContextId, messages: readonly Message[]) => void
  /**
   * Called when the turn is over. `yields`: the turn wrote nothing, so the event loop should be served before the next
   * turn.
   */
  readonly onEnd: (id: ContextId, options: { readonly yields: boolean }) => void
}

/** One turn, with all its tries. */
interface Turn {
  readonly id: ContextId
  messages: Message[]
  readonly data: TurnData
  /** How many times another server was faster. */
  lost: number
  /** The input that ends a context that has become too large. It replaces the messages; null: there is none. */
  ends: Input | null
  /** null: nobody traces it. */
  readonly span: TurnSpan | null
}

/**
 * Begins the next turn of a context that has not taken all events that it keeps and waits for. Nobody asks what came of
 * it: it is due in the store as well.
 */
const goOn = (): Message => ({
  input: { type: 'WAKE' },
  rows: undefined,
  rowsAlways: undefined,
  resolve() {},
  reject() {},
})

type Decided = TurnResult & { kind: 'decided' }

/** A message, by its index among those of the turn, and the error that it caused. */
type Culprit = Pick<TurnResult & { kind: 'threw' }, 'place' | 'error'>

export class TurnLoop {
  readonly #parts: TurnLoopParts
  readonly #pace: Pace
  readonly #source: Source

  constructor(parts: TurnLoopParts, pace: Pace, source: Source) {
    this.#parts = parts
    this.#pace = pace
    this.#source = source
  }

  /** Begins a turn with those messages. No other turn of that context may be under way. */
  begin(id: ContextId, messages: Message[]): void {
    const { traces } = this.#parts
    const span = traces?.turn(id, traceparentsOf(messages)) ?? null
    this.#trySoon({ id, messages, data: new TurnData(this.#parts), lost: 0, ends: null, span })
  }

  /** Runs the turn now, or later if the pace limit is reached. */
  #trySoon(turn: Turn): void {
    this.#pace.run(() => this.#try(turn))
  }

  /** Decides until no data is lacking and no message throws, and commits. */
  #try(turn: Turn): void {
    const { id, data } = turn
    try {
      for (;;) {
        data.rewind()
        const inputs = turn.ends ? [turn.ends] : turn.messages.map(({ input }) => input)
        const env = this.#parts.env()
        const result = runTurn(id, inputs, data, turn.ends ? { ...env, maxRecord: Infinity } : env)
        switch (result.kind) {
          case 'decided':
            this.#pace.spend(result.steps)
            if (result.rows.length > 0 || turn.messages.some(hasRows)) return this.#commitWithRows(turn, result)
            return this.#commit(turn, result)
          case 'lacks':
            return void data.fetch(result.need, id).then(
              () => this.#trySoon(turn),
              (error: unknown) => this.#goWithout(turn, { place: result.place, error }),
            )
          case 'notFound':
            return this.#fail(turn, notFound(`there is no context ${id}`))
          case 'refused':
            return this.#fail(turn, new FluxError(result.failure))
          case 'threw':
            this.#takeOut(turn, result)
            break
          case 'tooLarge':
            this.#narrow(turn, result)
        }
        if (turn.messages.length === 0) return this.#end(turn)
      }
    } catch (error) {
      this.#fail(turn, error)
    }
  }

  /**
   * Rejects a message and removes it from the turn. The others are decided again without it, so none of its effects is
   * committed.
   */
  #takeOut(turn: Turn, { place, error }: Culprit): void {
    const [message] = turn.messages.splice(place, 1)
    message?.reject(error)
  }

  /** Handles a failed fetch. It fails only the message that needs the data, unless the store is unavailable. */
  #goWithout(turn: Turn, culprit: Culprit): void {
    const { place, error } = culprit
    const isAway = error instanceof FluxError && error.failure.kind === 'unavailable'
    if (isAway || place < 0 || turn.messages.length <= 1) return this.#fail(turn, error)
    this.#takeOut(turn, culprit)
    this.#trySoon(turn)
  }

  /**
   * Handles a context that the messages make too large. Several messages are then decided one by one. A single one ends
   * the context.
   */
  #narrow(turn: Turn, { error }: TurnResult & { kind: 'tooLarge' }): void {
    if (turn.ends) throw error
    if (turn.messages.length > 1) this.#putBack(turn, turn.messages.splice(1))
    else
      turn.ends = {
        type: 'OUTGROWN',
        error: { message: error.message, type: error.name, className: error.name, realException: null },
      }
  }

  #commit(turn: Turn, decided: Decided, rows?: readonly MessageRow[]): void {
    const [{ work, writes }, { commits }] = [decided, this.#parts]
    const conclude = (isTrue: boolean) => (isTrue ? this.#settle(turn, decided) : this.#again(turn))
    const fail = (error: unknown) => this.#fail(turn, error)
    const commit = () => {
      const { lost, data, span } = turn
      const written = rows?.map(({ row }) => row)
      return commits
        .commit(work, writes, { rows: written, lost, incarnation: data.incarnation, span })
        .then((outcome) => {
          if ('row' in outcome) return this.#refuseRow(turn, rows ?? [], new RowTaken(outcome.row))
          if ('overtaken' in outcome) this.#parts.ids.drop(outcome.overtaken)
          return conclude(outcome.ok)
        }, fail)
    }
    if (writes.length > 0) void commit()
    else if (rows) commits.isCurrent(work).then((isTrue) => (isTrue ? commit() : this.#again(turn)), fail)
    else commits.isCurrent(work).then(conclude, fail)
  }

  /**
   * A message that writes a row that an earlier message of the turn writes, too, is put back with those after it: the
   * next turn finds whether its guard fails.
   */
  #commitWithRows(turn: Turn, decided: Decided): void {
    const rows = rowsOfTurn(turn.messages, decided)
    if ('place' in rows) {
      decided.work.releaseSlots()
      this.#putBack(turn, turn.messages.splice(rows.place))
      return this.#trySoon(turn)
    }
    const first = beforeRows(turn.messages, rows)
    if (first)
      first.then((failed) => this.#goOn(turn, decided, failed)).catch((error: unknown) => this.#fail(turn, error))
    else this.#commit(turn, decided, rows.length === 0 ? undefined : rows)
  }

  /** What comes before the commit of the rows is done, save for those messages. */
  #goOn(turn: Turn, decided: Decided, failed: readonly Culprit[]): void {
    if (failed.length === 0) return this.#commitWithRows(turn, decided)
    decided.work.releaseSlots()
    for (const culprit of failed) this.#takeOut(turn, culprit)
    if (turn.messages.length === 0) return this.#end(turn)
    this.#trySoon(turn)
  }

  /** The guard of a row failed: only the message whose row it is, is taken out. */
  #refuseRow(turn: Turn, rows: readonly MessageRow[], error: RowTaken): void {
    const culprit = rows.find(({ row: { space, key } }) => space === error.space && key === error.key)
    if (!culprit) return this.#fail(turn, error)
    this.#takeOut(turn, { place: culprit.place, error })
    if (turn.messages.length === 0) return this.#end(turn)
    this.#trySoon(turn)
  }

  /** Decides the turn again: another server was faster, or the cached context was outdated. */
  #again(turn: Turn): void {
    turn.lost += 1
    turn.data.forget()
    this.#trySoon(turn)
  }

  /** Resolves the decided messages. Those beyond the work limit of the turn are put back. */
  #settle(turn: Turn, { context, results, writes }: Decided): void {
    const rest = turn.messages.splice(results.length)
    results.forEach((result, place) => {
      const failure = result.kind === 'refused' ? result.failure : null
      turn.messages[place]?.resolve({
        moved: result.kind === 'next' || result.kind === 'withdrawn',
        kept: result.kind === 'kept' ? result : undefined,
        failure,
        record: context.record,
        flux: context.flux,
      })
    })
    const leaves = nextPending(context.flux, context.record) !== null
    this.#putBack(turn, rest.length === 0 && leaves ? [goOn()] : rest)
    this.#end(turn, { yields: writes.length === 0 })
  }

  #fail(turn: Turn, error: unknown): void {
    for (const { reject } of turn.messages) reject(error)
    this.#end(turn)
  }

  #putBack({ id }: Turn, messages: readonly Message[]): void {
    if (messages.length > 0) this.#source.putBack(id, messages)
  }

  #end({ id, data, span }: Turn, { yields = false } = {}): void {
    span?.end()
    data.release()
    this.#source.onEnd(id, { yields })
  }
}
