// engine/carried: which server carries on what outlives a server, a broadcast or an operation, and whether somebody has
// asked to stop it: a row that each of its commits guards. A server that was held up for too long finds there that
// another one has taken it over.
import { randomUUID } from 'node:crypto'
import { FluxError, inDoubt } from '../../model/failure.ts'
import type { ListedSpace, RowWrite } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import type { Identity } from '../heartbeat.ts'

export interface OwnershipParts {
  readonly store: Store
  readonly clock: Clock
  readonly identity: Pick<Identity, 'owner'>
  /** Milliseconds between heartbeats; null: no other server can be there. */
  readonly beat: number | null
}

/** As its row has it. */
export interface OwnershipRow {
  /** Of who has taken it over, each time another. */
  readonly id: string
  readonly owner: string
  /** Epoch milliseconds after which it is taken for cut off, if other servers may be there. */
  readonly until: number
  /** Somebody has asked to stop it. */
  readonly stops: boolean
}

/** Heartbeats for which a server that says nothing is believed to have calls under a key under way. */
export const LEASE_BEATS = 7

/** Where the row is. */
export interface OwnershipPlace {
  readonly partition: number
  readonly space: ListedSpace
  readonly key: string
  /** Epoch milliseconds; null: never. */
  readonly expiresAt: number | null
}

/** Another server carries it on, or has ended it. `answer`: another row whose guard failed, if that is why. */
export class OwnershipLost extends Error {
  override readonly name = 'OwnershipLost'
  readonly answer: string | null
  constructor(answer: string | null) {
    super('another server carries it on')
    this.answer = answer
  }
}

/** Somebody has asked to stop it, so what was to be written only unless that is so was not written. */
export class StopAsked extends Error {
  override readonly name = 'StopAsked'
}

export function readOwnership(text: string): OwnershipRow {
  const row: OwnershipRow = JSON.parse(text)
  return row
}

/** Whether the server that carries it on must be believed to do so. `parts`: of who asks. */
export const isHeldElsewhere = ({ owner, until }: OwnershipRow, { clock, identity, beat }: OwnershipParts): boolean =>
  beat !== null && owner !== identity.owner && until > clock.now()

export class Ownership {
  readonly #parts: OwnershipParts
  readonly #place: OwnershipPlace
  readonly #id = randomUUID()
  #latest: string | null
  #stops: boolean
  /** A commit that was to end it may have been made. */
  #mayHaveEnded = false
  #turn: Promise<void> = Promise.resolve()
  #callOff: (() => void) | null = null
  #rests = false

  /** @param before its row as another one left it; null: there is none yet */
  constructor(parts: OwnershipParts, place: OwnershipPlace, before: string | null) {
    this.#parts = parts
    this.#place = place
    this.#latest = before
    this.#stops = before !== null && readOwnership(before).stops
  }

  /** Whether somebody has asked to stop it, as far as the last commit reported. */
  get stops(): boolean {
    return this.#stops
  }

  /**
   * Makes the rows true, one commit after the other, and says that it goes on, or with `ends` that it is over.
   * @throws OwnershipLost when another server has it; FluxError `unavailable`; StopAsked with `unlessStopped`
   */
  commit(rows: readonly RowWrite[], { ends = false, unlessStopped = false } = {}): Promise<void> {
    const made = this.#turn.then(() => this.#commit(rows, { ends, unlessStopped }))
    this.#turn = made.catch(() => {})
    return made
  }

  /** Says with each heartbeat that it goes on, until `rest` is called. */
  keep(onError: (error: unknown) => void): void {
    const { beat, clock } = this.#parts
    if (beat === null || this.#rests) return
    this.#callOff = clock.after(beat, () => {
      this.commit([])
        .catch(onError)
        .finally(() => this.keep(onError))
    })
  }

  rest(): void {
    this.#rests = true
    this.#callOff?.()
  }

  /** Leaves it to whoever comes next. */
  async release(): Promise<void> {
    this.rest()
    await this.#turn
    const { store } = this.#parts
    const text = JSON.stringify({ ...this.#row(), until: 0 })
    await store.commit({ writes: [], rows: [this.#write(text)] })
  }

  async #commit(
    rows: readonly RowWrite[],
    { ends, unlessStopped }: { readonly ends: boolean; readonly unlessStopped: boolean },
  ): Promise<void> {
    for (;;) {
      if (unlessStopped && this.#stops) throw new StopAsked('somebody has asked to stop it')
      const next = ends ? null : JSON.stringify(this.#row())
      const outcome = await this.#try([this.#write(next), ...rows], ends)
      if (outcome.ok) {
        this.#latest = next
        return
      }
      const { space, key, value } = 'row' in outcome ? outcome.row : { space: null, key: null, value: null }
      if (space !== this.#place.space || key !== this.#place.key) throw new OwnershipLost(value)
      if (value === null && this.#mayHaveEnded) return
      if (value === null || readOwnership(value).id !== this.#id) throw new OwnershipLost(null)
      // Its own, of a commit whose outcome was unknown, or with the wish to stop it.
      this.#latest = value
      this.#stops ||= readOwnership(value).stops
    }
  }

  async #try(rows: readonly RowWrite[], ends: boolean) {
    try {
      return await this.#parts.store.commit({ writes: [], rows })
    } catch (error) {
      const isUnknown = error instanceof FluxError && error.failure.kind === 'unavailable' && error.failure.inDoubt
      if (ends && isUnknown === true) this.#mayHaveEnded = true
      throw error
    }
  }

  #write(value: string | null): RowWrite {
    const { partition, space, key, expiresAt } = this.#place
    return { partition, space, key, expiresAt, value, expects: this.#latest }
  }

  #row(): OwnershipRow {
    const { identity, clock, beat } = this.#parts
    const until = beat === null ? 0 : clock.now() + beat * LEASE_BEATS
    return { id: this.#id, owner: identity.owner, until, stops: this.#stops }
  }
}

/** Tries of a wish that the server that carries it on outruns with its own commits. */
const MAX_STOP_TRIES = 100

/** Writes the wish to stop it. False: nobody carries it on any more. @throws FluxError `unavailable` */
export async function askToStop(
  store: Store,
  place: Pick<OwnershipPlace, 'partition' | 'space' | 'key'>,
): Promise<boolean> {
  const { partition, space, key } = place
  for (let tries = 0; tries < MAX_STOP_TRIES; tries += 1) {
    const row = await store.readRow({ partition, space, key })
    if (!row) return false
    const value = JSON.stringify({ ...readOwnership(row.value), stops: true })
    const { ok } = await store.commit({ writes: [], rows: [{ ...row, space, expects: row.value, value }] })
    if (ok) return true
  }
  throw inDoubt('it could not be stopped')
}
