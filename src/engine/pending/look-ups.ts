// engine/pending: looks which held events a context may take that has come to wait, and offers them to it, in the order
// of their arrival. Never part of the commit, or of the answer, that made the context wait.
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import { compareRows } from '../../model/rows.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { Deps } from '../contexts/deps.ts'
import { wantedBy, wantedKeyIn } from './held-event.ts'
import type { FoundLookup, Offers } from './offers.ts'

export interface LookUpsParts extends Deps {
  readonly offers: Pick<Offers, 'offer'>
  /** A context was not looked at, for lack of room or since the store is out of reach. */
  readonly onMissed: () => void
}

/** Contexts that are looked at, those among them that wait for it, and those looked at at once. */
const MAX_LOOKS = 10_000
const MAX_AT_ONCE = 32
/** Queries at once, and rows from which on a partition has so many that each event is asked for. */
const QUERIES = 16
const FEW_ROWS = 20
/** Events that one context is offered in vain until others have their turn; so no query needs more rows. */
const MAX_PASSED = 100
/** Age of a look-up row from which on it is deleted if there is no event to it: before that, the event may be on its way. */
const LEFT_OVER_MS = 60_000

interface Look {
  /** Whether it is to be looked at once more when that is done. */
  isDue: boolean
  /** As they were committed; null: to be read. */
  indexKeys: readonly string[] | null
  done: Promise<void>
}

export class LookUps {
  readonly #parts: LookUpsParts
  readonly #looks = new Map<ContextId, Look>()
  readonly #places = new Turnstile(MAX_AT_ONCE)
  #stopped = false

  constructor(parts: LookUpsParts) {
    this.#parts = parts
  }

  /**
   * Has a context looked at soon. Resolves when it was offered all that it may take. `indexKeys`: as it was committed;
   * null: to be read.
   */
  request(id: ContextId, indexKeys: readonly string[] | null): Promise<void> {
    const known = this.#looks.get(id)
    if (known) {
      Object.assign(known, { isDue: true, indexKeys })
      return known.done
    }
    if (this.#looks.size >= MAX_LOOKS) this.#parts.onMissed()
    if (this.#stopped || this.#looks.size >= MAX_LOOKS) return Promise.resolve()
    const look: Look = { isDue: true, indexKeys, done: Promise.resolve() }
    this.#looks.set(id, look)
    look.done = this.#places.run(() => this.#look(id, look))
    return look.done
  }

  /** Looks at no more contexts. Resolves when none is looked at. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(Array.from(this.#looks.values(), ({ done }) => done))
  }

  async #look(id: ContextId, look: Look): Promise<void> {
    const { log, onMissed } = this.#parts
    try {
      // The answer to the commit goes first.
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
      while (look.isDue && !this.#stopped) {
        look.isDue = false
        await this.#offerAll(id, look.indexKeys)
      }
    } catch (error) {
      onMissed()
      if (!(error instanceof FluxError)) log.error('a look-up of pending events failed', { contextId: id, error })
      else if (!this.#stopped) log.debug('a look-up of pending events is tried again later', { contextId: id, error })
    } finally {
      this.#looks.delete(id)
    }
  }

  /** Offers events until the context takes none. */
  async #offerAll(id: ContextId, given: readonly string[] | null): Promise<void> {
    let indexKeys = given ?? (await this.#parts.store.load({ id }))?.indexKeys ?? null
    while (indexKeys !== null) indexKeys = await this.#offerOne(id, indexKeys)
  }

  /** The index keys of the context if it took one; null: it took none. */
  async #offerOne(id: ContextId, indexKeys: readonly string[]): Promise<readonly string[] | null> {
    for (const one of await this.#find(id, indexKeys)) {
      if (this.#stopped) return null
      const offered = await this.#parts.offers.offer(one, id)
      if (typeof offered === 'object') return offered.indexKeys
      if (offered === 'notWaiting') return null
      if (offered === 'leftOver') await this.#remove(one)
    }
    return null
  }

  /**
   * The first events that are held and that the context may take. Where little is held in its partition, one read is
   * enough; else one for each event that it waits for, and only where much is held of that one, one for each tag.
   */
  async #find(id: ContextId, indexKeys: readonly string[]): Promise<readonly FoundLookup[]> {
    const { store } = this.#parts
    const [wanted, partition] = [wantedBy(indexKeys), id % store.partitions]
    if (wanted.size === 0) return []
    const places = new Turnstile(QUERIES)
    const read = (prefix: string, limit = MAX_PASSED) =>
      places.run(() => store.listRows({ partition, space: 'lookups', prefix, limit }))
    const readEvent = async ([event, prefixes]: readonly [string, ReadonlySet<string>]) => {
      const rows = await read(event)
      if (rows.length < MAX_PASSED) return rows
      return (await Promise.all(Array.from(prefixes, (prefix) => read(prefix)))).flat()
    }
    let rows = await read('', FEW_ROWS)
    if (rows.length === FEW_ROWS) rows = (await Promise.all(Array.from(wanted, readEvent))).flat()
    // One event may have several tags of the context.
    const found = new Map<string, FoundLookup>()
    for (const row of rows) {
      const heldKey = wantedKeyIn(wanted, row.key)
      if (heldKey !== null) found.set(heldKey, { row, heldKey })
    }
    const byArrival = [...found.values()].toSorted((one, other) =>
      compareRows({ key: one.heldKey, partition }, { key: other.heldKey, partition }),
    )
    return byArrival.slice(0, MAX_PASSED)
  }

  /** Nothing is left of the event but this row. */
  async #remove({ row: { partition, key, value }, heldKey }: FoundLookup): Promise<void> {
    const { store, clock } = this.#parts
    const receivedAt = Number(heldKey.slice(0, heldKey.indexOf(':')))
    if (clock.now() - receivedAt < LEFT_OVER_MS) return
    const row = { partition, space: 'lookups', key, expects: value, value: null, expiresAt: null } as const
    await store.commit({ writes: [], rows: [row] })
  }
}
