// engine/ends: sends the webhooks that contexts owe when they have ended. The store knows which, and when; one timer
// rings for the earliest. Each service has a lane of its own, so that none waits for the receivers of another.
import { ByteBudget } from '../../model/byte-budget.ts'
import type { ContextId } from '../../model/context.ts'
import type { StoredRow } from '../../model/rows.ts'
import { EndAttempts, type EndAttemptsParts } from './end-attempts.ts'
import { pauseUntil } from './end-claim.ts'
import { behindLane, DUE_PREFIX, laneIn, laneOf, lanePrefix, readDue, type DueWebhook } from './end-rows.ts'

export interface EndWebhooksParts extends Omit<EndAttemptsParts, 'budget'> {
  /** Bytes of memory for the webhooks that are being sent. */
  readonly bytes: number
}

/** Webhooks that are being sent at once: of all services, and of one. */
const MAX_SENDING = { all: 256, lane: 32 }
/** Heartbeats after which it is looked again for what others have left. */
const LOOK_BEATS = 2
/** Milliseconds after which it is looked again when the store can't be reached. */
const LOOK_AGAIN_MS = 5_000

export class EndWebhooks {
  readonly #parts: EndWebhooksParts
  readonly #attempts: EndAttempts
  /** Contexts whose webhooks are being sent, by lane, with what aborts the attempt. */
  readonly #sending = new Map<string, Map<ContextId, AbortController>>()
  #count = 0
  /** Lanes to look at, in the order of their turns. */
  readonly #lanes = new Set<string>()
  #looksAtAll = false
  #isLooking = false
  #isRunning = false
  #alarm: { readonly at: number; readonly callOff: () => void } | null = null
  #onIdle: (() => void) | null = null

  constructor(parts: EndWebhooksParts) {
    const { bytes, ...others } = parts
    this.#parts = parts
    this.#attempts = new EndAttempts({ ...others, budget: new ByteBudget({ bytes, what: 'webhooks' }) })
  }

  /** Sends what is owed, now and from then on. */
  start(): void {
    this.#isRunning = true
    this.look()
  }

  /** Looks for all that is due. */
  look(): void {
    this.#looksAtAll = true
    this.#run()
  }

  /** A context of that service has ended, and owes a webhook. */
  onOwed(service: { readonly package: string; readonly fluxName: string }): void {
    this.#lanes.add(laneOf(service))
    this.#run()
  }

  /** Begins no more, and gives those that are being sent at most `grace` milliseconds. The others remain owed. */
  async stop(grace: number): Promise<void> {
    this.#isRunning = false
    this.#alarm?.callOff()
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
    if (this.#isIdle) return
    const over = new AbortController()
    if (grace > 0) await Promise.race([idle, pauseUntil(this.#parts.clock, grace, over.signal)])
    over.abort()
    for (const sending of this.#sending.values()) for (const attempt of sending.values()) attempt.abort()
    await idle
  }

  get #isIdle(): boolean {
    return this.#count === 0 && !this.#isLooking
  }

  #run(): void {
    if (this.#isRunning && !this.#isLooking) void this.#look()
  }

  async #look(): Promise<void> {
    this.#isLooking = true
    try {
      for (;;) {
        if (this.#looksAtAll && this.#isRunning) await this.#findLanes()
        const lane = this.#isRunning ? this.#nextLane() : null
        if (lane === null) break
        await this.#lookAt(lane)
      }
    } catch (error) {
      this.#parts.log.error('webhooks at the ends of contexts could not be looked for; trying again later', { error })
      this.#wakeAt(this.#parts.clock.now() + LOOK_AGAIN_MS)
    } finally {
      this.#isLooking = false
      if (this.#isIdle) this.#onIdle?.()
    }
  }

  /** Finds the services that owe webhooks, one after the other, however many each owes. */
  async #findLanes(): Promise<void> {
    const { store, clock, beat } = this.#parts
    this.#looksAtAll = false
    for (let after; this.#isRunning;) {
      const [row] = await store.listRows({ space: 'ends', prefix: DUE_PREFIX, after, limit: 1 })
      if (row === undefined) break
      const lane = laneIn(row.key)
      this.#lanes.add(lane)
      after = { key: behindLane(lane), partition: 0 }
    }
    if (beat !== null) this.#wakeAt(clock.now() + beat * LOOK_BEATS)
  }

  /** A lane that is full is looked at again when one of its webhooks is sent. */
  #nextLane(): string | null {
    if (this.#count >= MAX_SENDING.all) return null
    for (const lane of this.#lanes) {
      this.#lanes.delete(lane)
      if ((this.#sending.get(lane)?.size ?? 0) < MAX_SENDING.lane) return lane
    }
    return null
  }

  async #lookAt(lane: string): Promise<void> {
    const { store, clock } = this.#parts
    // Those that are being sent may come first.
    const limit = MAX_SENDING.lane + 1
    const rows = await store.listRows({ space: 'ends', prefix: lanePrefix(lane), limit })
    const now = clock.now()
    for (const stored of rows) {
      const row = readDue(stored)
      if (row === null) await this.#discard(stored)
      if (row === null || this.#sending.get(lane)?.has(row.contextId) === true) continue
      if (row.due > now) return this.#wakeAt(row.due)
      if (this.#count >= MAX_SENDING.all) {
        this.#lanes.add(lane)
        return
      }
      if ((this.#sending.get(lane)?.size ?? 0) >= MAX_SENDING.lane || !this.#isRunning) return
      void this.#send(row)
    }
  }

  /** A row that can't be read would come first for ever. */
  async #discard({ partition, key, value }: StoredRow): Promise<void> {
    const { store, log } = this.#parts
    log.error('a webhook at the end of a context is lost: its row is damaged', { key, value })
    const row = { partition, space: 'ends', key, expects: value, value: null, expiresAt: null } as const
    await store.commit({ writes: [], rows: [row] })
  }

  async #send(row: DueWebhook): Promise<void> {
    const { lane, contextId } = row
    const sending = this.#sending.get(lane) ?? new Map<ContextId, AbortController>()
    const attempt = new AbortController()
    this.#sending.set(lane, sending.set(contextId, attempt))
    this.#count += 1
    await this.#attempts.run(row, attempt.signal)
    sending.delete(contextId)
    if (sending.size === 0) this.#sending.delete(lane)
    this.#count -= 1
    this.#lanes.add(lane)
    this.#run()
    if (this.#isIdle) this.#onIdle?.()
  }

  /** Looks at all lanes then, at the latest. */
  #wakeAt(at: number): void {
    if (!this.#isRunning || (this.#alarm !== null && this.#alarm.at <= at)) return
    this.#alarm?.callOff()
    const callOff = this.#parts.clock.after(Math.max(0, at - this.#parts.clock.now()), () => {
      this.#alarm = null
      this.look()
    })
    this.#alarm = { at, callOff }
  }
}
