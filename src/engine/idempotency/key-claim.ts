// engine/idempotency: calls under a key whose effect is in another partition than the rows of the key. A claim in the
// partition of the key says where the effect is, so a call whose effect would be elsewhere meets it and has none.
import { randomUUID } from 'node:crypto'
import type { ContextId } from '../../model/context.ts'
import { FluxError, unavailable } from '../../model/failure.ts'
import { getOwn, isObject } from '../../model/json/value.ts'
import { partitionOf } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CommitOutcome, Store } from '../../ports/store.ts'
import { RowTaken, type Preparation } from '../message.ts'

/** A claim, as its row has it. */
interface Claim {
  readonly hash: string
  /** Its own name. */
  readonly by: string
  /** The process that has the call. */
  readonly server: string
  /** Epoch milliseconds after which another server takes the call for cut off. */
  readonly until: number
  /** Of the effect. */
  readonly partition: number
}

export interface ClaimParts {
  readonly store: Store
  readonly clock: Clock
  readonly key: string
  /** Of the content. */
  readonly hash: string
  /** This process. */
  readonly server: string
  /** Milliseconds for which answers are kept. */
  readonly kept: number
  /** Milliseconds for which a server that says nothing is believed to have a call under way. */
  readonly lease: number
  /** Calls for other things are repeats, too: all have one hash. */
  readonly isForAny?: boolean | undefined
}

/** How often a call begins again because others with its key were faster. */
const MAX_TRIES = 10
/** Milliseconds by which a claim outlives the answer: that may be written later. */
const OUTLIVES_MS = 60_000

/** The claim that a row is; null: it is an answer. */
export function claimIn(text: string): Claim | null {
  const value: unknown = JSON.parse(text)
  if (!isObject(value)) return null
  const [hash, by, server] = [getOwn(value, 'hash'), getOwn(value, 'by'), getOwn(value, 'server')]
  const [until, partition] = [getOwn(value, 'until'), getOwn(value, 'partition')]
  const isClaim = typeof hash === 'string' && typeof by === 'string' && typeof server === 'string'
  return isClaim && typeof until === 'number' && typeof partition === 'number'
    ? { hash, by, server, until, partition }
    : null
}

/** Takes the place of an effect that a claim announced and that must not come any more. */
const tombstoneOf = (by: string): string => JSON.stringify({ dead: by })

export const isTombstone = (text: string): boolean => text.startsWith('{"dead":')

/** Of one call, whose effect is in one partition. */
export class KeyClaim implements Preparation {
  /** What the row of the effect takes the place of; null: nothing. */
  expected: string | null = null
  /** In which a row was found because of which there must be no effect. */
  foundIn: number
  readonly #parts: ClaimParts
  readonly #home: number
  /** Of the effect, once it is known. */
  #partition: number | null = null
  /** Our claim, as it was written last. */
  #own: string | null = null
  /** Whether it was there, or was written, after `expected` was read. */
  #isSure = false
  /** The claim that is in our way. */
  #met: string | null = null
  /** Another call of this content may have its effect, too: the first of both counts. */
  #isShared = false
  #tries = 0

  constructor(parts: ClaimParts) {
    this.#parts = parts
    this.#home = partitionOf(parts.key, parts.store.partitions)
    this.foundIn = this.#home
  }

  /** See `Preparation`. @throws RowTaken when there is an earlier answer; FluxError as `Idempotency.once` */
  readonly before = (partition: number): Promise<void> | null => {
    if (this.#partition !== null && this.#partition !== partition)
      throw new Error('a call under a key has its effect in one partition')
    this.#partition = this.foundIn = partition
    if (partition !== this.#home) return this.#isSure ? null : this.#claim(partition)
    return this.#met === null ? null : this.clear(this.#met)
  }

  /** See `Preparation`. */
  readonly tryAgain = ({ space, key, value }: RowTaken): boolean => {
    const isAnswer = value !== null && !isTombstone(value) && claimIn(value) === null
    if (space !== 'idempotency' || key !== this.#parts.key || isAnswer || this.#isTriedOften()) return false
    if (this.#partition === this.#home) {
      this.#met = value
      this.expected = null
    } else {
      this.expected = value
      this.#isSure = false
      const own = this.#own === null ? null : claimIn(this.#own)
      // Whoever takes it for cut off goes on to take its place.
      if (own && value === tombstoneOf(own.by)) this.#own = null
    }
    return true
  }

  /** Makes way for an effect that takes the place of a claim. @throws as `before` */
  async clear(met: string): Promise<void> {
    this.#partition = this.#home
    await this.#vacate(met, this.#home)
    this.expected = met
    this.#met = null
  }

  /**
   * Gives the key back, since the call has no effect. Gives the answer to another call of the same content that had it.
   * Where the store is out of reach, the claim is taken for cut off.
   */
  async release(): Promise<string | null> {
    const { key, lease, isForAny = false } = this.#parts
    const [own, partition] = [this.#own, this.#partition]
    const claim = own === null ? null : claimIn(own)
    if (own === null || claim === null || partition === null) return null
    try {
      // Another server may have joined it, whose effect would be found by no call for another thing.
      if (this.#isShared || isForAny) {
        const row = { expects: this.expected, value: tombstoneOf(claim.by) }
        const outcome = await this.#write(partition, row, this.#isShared ? undefined : lease)
        if (!outcome.ok) {
          const there = 'row' in outcome ? outcome.row.value : null
          return there === null || isTombstone(there) ? null : there
        }
      }
      await this.#parts.store.commit({
        writes: [],
        rows: [{ partition: this.#home, space: 'idempotency', key, expects: own, value: null, expiresAt: null }],
      })
    } catch {
      // See above.
    }
    return null
  }

  async #claim(partition: number): Promise<void> {
    const { clock, hash, server, lease } = this.#parts
    for (let met = this.#met; !this.#isTriedOften();) {
      const now = clock.now()
      const claim: Claim = { hash, by: randomUUID(), server, until: now + lease, partition }
      const value = JSON.stringify({ ...claim, at: now })
      const outcome = await this.#write(this.#home, { expects: met, value })
      const there = 'row' in outcome ? outcome.row.value : null
      if (outcome.ok || there === value) this.#own = value
      if (outcome.ok || (there !== null && there === this.#own)) {
        this.#isSure = true
        return
      }
      met = there
      if (met !== null) await this.#vacate(met, partition)
    }
    throw inProgress()
  }

  /** Makes sure that what a claim announced doesn't come any more, unless it is what this call asks for. */
  async #vacate(met: string, partition: number): Promise<void> {
    const { store, clock, key, hash, server } = this.#parts
    const claim = claimIn(met)
    if (claim === null) throw this.#taken(this.#home, met)
    for (; !this.#isTriedOften();) {
      const there = (await store.readRow({ partition: claim.partition, space: 'idempotency', key }))?.value ?? null
      if (there !== null && !isTombstone(there)) throw this.#taken(claim.partition, there)
      if (claim.hash === hash && claim.partition === partition) {
        this.#isShared = true
        this.expected = there
        return
      }
      if (claim.server !== server && claim.until > clock.now()) throw claim.hash === hash ? inProgress() : mismatch()
      const tombstone = tombstoneOf(claim.by)
      if (claim.partition === partition) this.expected = tombstone
      if (there === tombstone) return
      if ((await this.#write(claim.partition, { expects: there, value: tombstone })).ok) return
    }
    throw inProgress()
  }

  /** One that may come late is in nobody's way: what it announces doesn't come. @throws FluxError `unavailable` */
  async #write(
    partition: number,
    row: { expects: string | null; value: string },
    kept = this.#parts.kept,
  ): Promise<CommitOutcome> {
    const { store, clock, key } = this.#parts
    const expiresAt = clock.now() + kept + OUTLIVES_MS
    try {
      return await store.commit({ writes: [], rows: [{ partition, space: 'idempotency', key, expiresAt, ...row }] })
    } catch (error) {
      const isAway = error instanceof FluxError && error.failure.kind === 'unavailable'
      throw isAway ? unavailable(error.failure.detail) : error
    }
  }

  #taken(partition: number, value: string): RowTaken {
    this.foundIn = partition
    return new RowTaken({ space: 'idempotency', key: this.#parts.key, value })
  }

  #isTriedOften(): boolean {
    this.#tries += 1
    return this.#tries > MAX_TRIES
  }
}

/** `contextId`: of the first, where it is known. */
export const inProgress = (contextId?: ContextId) =>
  new FluxError({
    kind: 'idempotencyInProgress',
    detail: 'the first request under this key is still under way',
    retryAfter: 1,
    ...(contextId !== undefined && { contextId }),
  })

export const mismatch = () =>
  new FluxError({ kind: 'idempotencyMismatch', detail: 'the key was used for a request with another content' })
