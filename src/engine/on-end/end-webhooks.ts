// engine/on-end: sends the webhooks that contexts owe when they have ended. The store knows which, and when; one timer
// rings for the earliest. Each service has a lane of its own, so that none waits for the receivers of another.
//
// A context whose pinned definition has `onEnd` owes a webhook by the commit that ends it (`engine/on-end/`).
// - The turn makes two rows of the space `ends` in the partition of the context (`answer.ts`, `end-rows.ts`). The
//   larger one has all that an attempt needs: the URL, evaluated with a work budget of its own, the name of the
//   secret, and the event, redacted. The smaller one has in its key the service and when the next attempt is due, so
//   lists never read what is large. A turn that ends no such context makes none. `recovery.ts`, which ends contexts
//   without a turn, makes them too: of a context that is not small, without its data.
// - Each service is a lane (`end-webhooks.ts`). The lanes that owe something are found by one look-up each, however
//   much each owes; one timer rings for the earliest time. 256 webhooks are sent at once, 32 of a lane, and those that
//   are large take shares of a budget of bytes. Lanes take turns.
// - An attempt is a task (`tasks/task.ts`): it begins with a commit that puts the row of the task in the place of the
//   smaller one, under a guard. An abandoned attempt is made due again, so what a server that has died was sending is
//   sent by another one within `ACTORFLUX_RECOVERY`.
// - The outcome is the commit that ends the task: the larger row is deleted, or the next attempt is due
//   (`end-attempts.ts`). If the store cannot be reached, that commit is tried again, and not the webhook.
// - `WebhookSender` of `ports/steps.ts` is implemented by `steps/webhook-sender.ts`, with the code of `Webhooks.send`. The
//   pauses are those of its action (`DELIVERY_RETRY`).
// - A server that stops gives webhooks that are being sent its grace period, then aborts them, which is no attempt.
import { ByteBudget } from '../../model/byte-budget.ts'
import type { StoredRow } from '../../model/rows.ts'
import type { EngineParts } from '../contexts/deps.ts'
import { TaskQueue, type TaskRun } from '../tasks/queue.ts'
import { Task } from '../tasks/task.ts'
import { EndAttempts, type EndAttemptsParts } from './end-attempts.ts'
import {
  behindLane,
  DUE_PREFIX,
  dueRow,
  laneIn,
  laneOf,
  lanePrefix,
  readDue,
  readRun,
  RUN_PREFIX,
  taskFactsOf,
  taskOf,
  type DueWebhook,
} from './end-rows.ts'

export type EndWebhooksParts = Omit<EndAttemptsParts, 'budget' | 'random' | 'sender'> &
  Pick<EngineParts, 'memory' | 'webhookSender'>

/** Bytes of memory for webhooks that are being sent, as a share of those for steps. */
const MEMORY_SHARE = 1 / 4
/** Webhooks that are being sent at once: of all services, and of one. */
const MAX_SENDING = { all: 256, lane: 32 }
/** Milliseconds after which it is looked again when the store can't be reached. */
const LOOK_AGAIN_MS = 5_000

export class EndWebhooks {
  readonly #parts: EndWebhooksParts
  readonly #attempts: EndAttempts
  readonly #tasks: TaskQueue<TaskRun>
  /** How many are being sent, by lane, and of all. */
  readonly #sending = new Map<string, number>()
  #count = 0
  /** Lanes to look at, in the order of their turns. */
  readonly #lanes = new Set<string>()
  #looksAtAll = false
  #isLooking = false
  #looking: Promise<void> = Promise.resolve()
  #isRunning = false
  #alarm: { readonly at: number; readonly callOff: () => void } | null = null

  constructor(parts: EndWebhooksParts) {
    this.#parts = parts
    const budget = new ByteBudget({ bytes: parts.memory.steps * MEMORY_SHARE, what: 'webhooks' })
    this.#attempts = new EndAttempts({ ...parts, budget, sender: parts.webhookSender, random: Math.random })
    const names = { one: 'a webhook at the end of a context', many: 'webhooks at the ends of contexts' }
    this.#tasks = new TaskQueue(parts, {
      space: 'ends',
      prefix: RUN_PREFIX,
      names,
      load: async (row): Promise<TaskRun> => {
        const due = readRun(row)
        const task = new Task(parts, taskOf(due), { before: row.value })
        // An abandoned one is due again.
        const run = () => task.persist(() => task.end([dueRow(due)]))
        return { task, run, release: () => this.#lookAgainAt(due.lane) }
      },
      onLook: () => this.look(),
    })
  }

  /** Sends what is owed, now and from then on. */
  start(): void {
    this.#isRunning = true
    this.#tasks.look()
  }

  /** Looks for all that is due. */
  look(): void {
    this.#looksAtAll = true
    this.#run()
  }

  /** A context of that service has ended, and owes a webhook. */
  onOwed(service: { readonly package: string; readonly fluxName: string }): void {
    this.#lookAgainAt(laneOf(service))
  }

  /** Begins no more, and gives those that are being sent at most `grace` milliseconds. The others remain owed. */
  async stop(grace: number): Promise<void> {
    this.#isRunning = false
    this.#alarm?.callOff()
    await this.#looking
    await this.#tasks.close(grace)
  }

  #lookAgainAt(lane: string): void {
    this.#lanes.add(lane)
    this.#run()
  }

  #run(): void {
    if (this.#isRunning && !this.#isLooking) this.#looking = this.#look()
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
    }
  }

  /** Finds the services that owe webhooks, one after the other, however many each owes. */
  async #findLanes(): Promise<void> {
    this.#looksAtAll = false
    for (let after; this.#isRunning;) {
      const [row] = await this.#parts.store.listRows({ space: 'ends', prefix: DUE_PREFIX, after, limit: 1 })
      if (row === undefined) return
      const lane = laneIn(row.key)
      this.#lanes.add(lane)
      after = { key: behindLane(lane), partition: 0 }
    }
  }

  /** A lane that is full is looked at again when one of its webhooks is sent. */
  #nextLane(): string | null {
    if (this.#count >= MAX_SENDING.all) return null
    for (const lane of this.#lanes) {
      this.#lanes.delete(lane)
      if (this.#countOf(lane) < MAX_SENDING.lane) return lane
    }
    return null
  }

  #countOf(lane: string): number {
    return this.#sending.get(lane) ?? 0
  }

  async #lookAt(lane: string): Promise<void> {
    const { store, clock } = this.#parts
    // Those that wait for memory may come first.
    const limit = MAX_SENDING.lane + 1
    const rows = await store.listRows({ space: 'ends', prefix: lanePrefix(lane), limit })
    const now = clock.now()
    for (const stored of rows) {
      const row = readDue(stored)
      if (row === null) await this.#discard(stored)
      if (row === null || this.#tasks.has(taskOf(row).key)) continue
      if (row.due > now) return this.#wakeAt(row.due)
      if (this.#count >= MAX_SENDING.all) {
        this.#lanes.add(lane)
        return
      }
      if (this.#countOf(lane) >= MAX_SENDING.lane || !this.#isRunning) return
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
    const message = 'what became of a webhook at the end of a context could not be stored; trying again'
    const task = new Task(this.#parts, taskOf(row), {
      facts: taskFactsOf(row),
      onAway: (error) => this.#parts.log.error(message, { contextId, error }),
    })
    this.#sending.set(lane, this.#countOf(lane) + 1)
    this.#count += 1
    let isSettled = false
    const run = async () => {
      isSettled = await this.#attempts.run(row, task)
    }
    await this.#tasks.run({ task, run })
    const left = this.#countOf(lane) - 1
    if (left === 0) this.#sending.delete(lane)
    else this.#sending.set(lane, left)
    this.#count -= 1
    if (!isSettled) this.#tasks.look()
    this.#lookAgainAt(lane)
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
