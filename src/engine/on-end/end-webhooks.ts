// engine/on-end: sends the webhooks of contexts that have ended. The store knows which, and when; one timer
// rings for the earliest. Each service has a lane of its own, so that none waits for the receivers of another.
//
// For a context whose pinned definition has `onEnd`, the commit that ends it stores a webhook to be sent
// (`engine/on-end/`).
// - The turn makes two rows of the space `ends` in the partition of the context (`answer.ts`, `rowsOfOwed`). The larger
//   one has all that an attempt needs: the URL, evaluated with a work budget of its own, the name of the secret, and
//   the event, redacted. The smaller one has in its key the service and when the next attempt is due, so lists never
//   read what is large. A turn that ends no such context makes none. `recovery.ts`, which ends contexts without a turn,
//   makes them too: of a context that is not small, without its data.
// - Each service is a lane. The lanes that have webhooks are found by one look-up each, however many each has; one
//   timer rings for the earliest time. 256 webhooks are sent at once, 32 of a lane, and those that are large take
//   shares of a budget of bytes. Lanes take turns.
// - An attempt is a task (`tasks/task.ts`): it begins with a commit that puts the row of the task in the place of the
//   smaller one, under a guard. An abandoned attempt is made due again, so what a server that has died was sending is
//   sent by another one within `ACTORFLUX_RECOVERY`.
// - The outcome is the commit that ends the task: the larger row is deleted, or the next attempt is due. If the store
//   cannot be reached, that commit is tried again, and not the webhook.
// - `WebhookSender` of `ports/steps.ts` is implemented by `steps/builtin/webhooks.ts`, with the code of `Webhooks.send`. The
//   pauses are those of its action (`DELIVERY_RETRY`).
// - A server that stops gives webhooks that are being sent its grace period, then aborts them, which is no attempt.
import { hash } from 'node:crypto'
import { DELIVERY_RETRY } from '../../definitions/actions/actions.ts'
import { ByteBudget } from '../../model/byte-budget.ts'
import type { ContextId } from '../../model/context.ts'
import type { RowWrite, StoredRow } from '../../model/rows.ts'
import type { SendOutcome } from '../../ports/steps.ts'
import { LIGHT_BYTES, noRoom } from '../contexts/context-loader.ts'
import type { EngineParts } from '../contexts/deps.ts'
import { storeIdOf } from '../contexts/ids.ts'
import { pauseAfter } from '../interpreter/retry-pause.ts'
import { readableOf } from '../record/unreadable.ts'
import { TaskQueue, type TaskRun } from '../tasks/queue.ts'
import { Task, TaskLost, type TaskAddress, type TaskParts } from '../tasks/task.ts'
import { pause, Periodic } from '../../ports/periodic.ts'

/** A webhook that is to be sent. It has all that an attempt needs: the context may be deleted by then. */
export interface OwedWebhook {
  readonly contextId: ContextId
  /** How often the context was retried before it ended: each end sends a webhook. Absent: never. */
  readonly retries?: number | undefined
  readonly package: string
  readonly fluxName: string
  /** null: the template could not be evaluated. */
  readonly url: string | null
  /** Why; null: it could. */
  readonly fault: string | null
  /** Name of the secret that signs. */
  readonly secret: string
  /** The event, as JSON. */
  readonly body: string
}

/** When the next attempt is due. */
interface DueWebhook extends Pick<OwedWebhook, 'contextId' | 'retries'> {
  readonly partition: number
  /** The lane of the service: see `laneOf`. */
  readonly lane: string
  /** Epoch milliseconds. */
  readonly due: number
  /** Attempts that have failed. */
  readonly attempts: number
  /** Characters of the larger row. */
  readonly characters: number
}

export interface EndWebhooksParts
  extends TaskParts, Pick<EngineParts, 'memory' | 'random' | 'secrets' | 'webhookSender'> {}

interface EndRun extends TaskRun {
  readonly due: DueWebhook
}

const SPACE = 'ends'
const LANE_CHARACTERS = 16
const DIGITS = 15

/** What the keys of all rows begin with that say when an attempt is due. */
const DUE_PREFIX = 'due:'

/** What the keys of the rows of their tasks begin with. */
const RUN_PREFIX = 'run:'

/** Bytes of memory for webhooks that are being sent, as a share of those for steps. */
const MEMORY_SHARE = 1 / 4
/** Bytes of memory that a character of a webhook takes while it is sent: read, cut off, and encoded. */
const BYTES_A_CHARACTER = 6
/** Webhooks that are being sent at once: of all services, and of one. */
const MAX_SENDING = { all: 256, lane: 32 }
/** Milliseconds until the next look when the store can't be reached, or an attempt had an error. */
const LOOK_AGAIN_MS = 5_000

export class EndWebhooks {
  readonly #parts: EndWebhooksParts
  readonly #budget: ByteBudget
  readonly #tasks: TaskQueue<EndRun>
  readonly #looks: Periodic
  /** Lanes to look at, in the order of their turns. */
  readonly #lanes = new Set<string>()
  /** When all lanes are to be looked at, epoch milliseconds. */
  #allAt = 0

  constructor(parts: EndWebhooksParts) {
    this.#parts = parts
    this.#budget = new ByteBudget({ bytes: parts.memory.steps * MEMORY_SHARE, what: 'webhooks' })
    this.#looks = new Periodic(parts.clock, (signal) => this.#look(signal))
    this.#tasks = new TaskQueue(parts, {
      space: 'ends',
      prefix: RUN_PREFIX,
      name: 'a webhook at the end of a context',
      load: async (row): Promise<EndRun> => {
        const due = readDue(row)
        const task = new Task(parts, taskOf(due), { before: row.value })
        const run = () => task.persist(() => task.end([dueRow(due)]))
        return { task, due, run, release: () => this.#lookAt(due.lane) }
      },
      onLook: () => this.look(),
    })
  }

  /** Sends the stored webhooks, and those that follow. */
  start(): void {
    this.#tasks.look()
  }

  /** Looks for all that is due. */
  look(): void {
    this.#allAt = 0
    this.#looks.within(0)
  }

  /** A context of that service has ended, and a webhook is to be sent. */
  onOwed(service: Pick<OwedWebhook, 'package' | 'fluxName'>): void {
    this.#lookAt(laneOf(service))
  }

  /** Begins no more, and gives those that are being sent at most `grace` milliseconds. The others stay stored. */
  async stop(grace: number): Promise<void> {
    await this.#looks.stop()
    await this.#tasks.close(grace)
  }

  #lookAt(lane: string) {
    this.#lanes.add(lane)
    this.#looks.within(0)
  }

  /** Gives the milliseconds until the next is due. */
  async #look(signal: AbortSignal) {
    const { clock, log } = this.#parts
    try {
      if (this.#allAt <= clock.now()) await this.#findLanes()
      // A lane that is full is looked at again when one of its webhooks is sent.
      for (const lane of this.#lanes) {
        if (signal.aborted || this.#tasks.runs.length >= MAX_SENDING.all) break
        this.#lanes.delete(lane)
        if (this.#hasRoom(lane)) await this.#sendDue(lane, signal)
      }
    } catch (error) {
      log.error('webhooks at the ends of contexts could not be looked for; trying again later', { error })
      this.#allAt = Math.min(this.#allAt, clock.now() + LOOK_AGAIN_MS)
    }
    return this.#allAt === Infinity ? null : Math.max(0, this.#allAt - clock.now())
  }

  /** Finds the services that have webhooks to send, one after the other, however many each has. */
  async #findLanes() {
    this.#allAt = Infinity
    for (let after; ;) {
      const [row] = await this.#parts.store.listRows({ space: 'ends', prefix: DUE_PREFIX, after, limit: 1 })
      const lane = row?.key.split(':')[1]
      if (lane === undefined) return
      this.#lanes.add(lane)
      // Behind all of the lane, and before those of the next lane.
      after = { key: `${DUE_PREFIX}${lane};`, partition: 0 }
    }
  }

  #hasRoom(lane: string) {
    return this.#tasks.runs.filter(({ due }) => due.lane === lane).length < MAX_SENDING.lane
  }

  async #sendDue(lane: string, signal: AbortSignal) {
    const { store, clock, log } = this.#parts
    // Those that wait for memory may come first.
    const limit = MAX_SENDING.lane + 1
    for (const stored of await store.listRows({ space: 'ends', prefix: `${DUE_PREFIX}${lane}:`, limit })) {
      const due = readableOf(stored, SPACE, log, () => readDue(stored))
      if (due === null || this.#tasks.has(taskOf(due).key)) continue
      if (due.due > clock.now()) {
        this.#allAt = Math.min(this.#allAt, due.due)
        return
      }
      if (this.#tasks.runs.length >= MAX_SENDING.all) {
        this.#lanes.add(lane)
        return
      }
      if (signal.aborted || !this.#hasRoom(lane)) return
      this.#send(due)
    }
  }

  #send(due: DueWebhook) {
    /** Whether its task may be left without an end. */
    let isOpen = true
    const task = new Task(this.#parts, taskOf(due), {
      facts: taskFactsOf(due),
      onAway: (error) =>
        this.#parts.log.error(
          'an attempt to send a webhook at the end of a context could not be stored; trying again',
          { contextId: due.contextId, error },
        ),
    })
    const run = async () => {
      isOpen = !(await this.#attempt(due, task))
    }
    const release = () => {
      if (isOpen) this.#tasks.look()
      this.#lookAt(due.lane)
    }
    void this.#tasks.run({ task, due, run, release })
  }

  /**
   * Makes an attempt, unless another server does. When the server stops, it is as if it were not made. What the store
   * does not take is tried until it does, since the webhook would be sent again. False: what came of it is not stored.
   * Never rejects.
   */
  async #attempt(due: DueWebhook, task: Task) {
    const { store, clock, log } = this.#parts
    const { contextId } = due
    const bytes = due.characters * BYTES_A_CHARACTER
    const release = bytes <= LIGHT_BYTES ? noRoom : await this.#budget.wait(bytes)
    try {
      task.check()
      await task.persist(() => task.commit([takenRow(due)]))
      const stored = await task.persist(() => store.readRow(placeOf(due)))
      const webhook = stored && readableOf(stored, SPACE, log, readWebhook)
      const outcome = webhook && (await this.#outcomeOf(webhook, task))
      const failure = outcome?.ok === false ? outcome : null
      if (failure) task.check()
      const attempts = due.attempts + 1
      const isLast = failure?.hint?.afterMs === null || attempts >= DELIVERY_RETRY.maxAttempts
      const pauseMs = pauseAfter(DELIVERY_RETRY, attempts, this.#parts.random ?? Math.random, failure?.hint)
      const next = failure && !isLast ? { ...due, due: Math.ceil(clock.now()) + pauseMs, attempts } : null
      // Another server may have sent it, and have ended it just now: then this fails.
      await task.persist(() => task.end([next ? dueRow(next) : settledRow(due)]))
      if (!webhook)
        log.error('a webhook at the end of a context is lost: what was to be sent is missing', { contextId })
      if (!webhook || !failure) return true
      const { package: owner, fluxName } = webhook
      const facts = { contextId, package: owner, fluxName, attempt: attempts, reason: failure.reason }
      if (next)
        log.warn('a webhook at the end of a context was not accepted; it will be sent again', {
          ...facts,
          next: new Date(next.due).toISOString(),
        })
      else log.error('a webhook at the end of a context is given up', facts)
      return true
    } catch (error) {
      if (error instanceof TaskLost || task.isStopping) return false
      log.error('a webhook at the end of a context could not be sent; trying again', { contextId, error })
      await pause(clock, LOOK_AGAIN_MS, task.stopping.signal)
      return false
    } finally {
      release()
    }
  }

  async #outcomeOf(
    { url, fault, secret: name, body, contextId, retries }: OwedWebhook,
    task: Task,
  ): Promise<SendOutcome> {
    const { store, webhookSender, secrets } = this.#parts
    if (url === null) return { ok: false, reason: `its URL can't be worked out: ${fault}` }
    const secret = secrets?.get(name) ?? null
    if (secret === null) return { ok: false, reason: secrets?.fault(name).reason ?? `there is no secret ${name}` }
    // The same for all attempts. No step has such a key.
    const id = `msg_${await task.persist(() => storeIdOf(store))}_${contextId}-end${retries === undefined ? '' : `-${retries}`}`
    return webhookSender.send({ id, url, secret, body, signal: task.stopping.signal })
  }
}

/** What distinguishes the webhooks of one service from those of others, which must not wait for them. */
const laneOf = ({ package: owner, fluxName }: Pick<OwedWebhook, 'package' | 'fluxName'>) =>
  hash('sha256', JSON.stringify([owner, fluxName])).slice(0, LANE_CHARACTERS)

/** Within a lane, keys are in the order of their times. */
const keyOf = (prefix: string, { lane, due, ...end }: DueWebhook) =>
  `${prefix}${lane}:${String(due).padStart(DIGITS, '0')}:${endOf(end)}`

/** Distinguishes an end of a context from its other ends. */
const endOf = ({ contextId, retries }: Pick<DueWebhook, 'contextId' | 'retries'>) =>
  retries === undefined ? `${contextId}` : `${contextId}:${retries}`

/** Reads that row, or the row of its task. @throws SyntaxError when it is damaged */
export function readDue({ partition, key, value }: StoredRow): DueWebhook {
  const [, lane = '', due, contextId, times] = key.split(':')
  const retries = times === undefined ? undefined : Number(times)
  return { ...JSON.parse(value), partition, lane, due: Number(due), contextId: Number(contextId), retries }
}

/** What the row of its task has besides. */
const taskFactsOf = ({ attempts, characters }: DueWebhook) => ({ attempts, characters })

/** Where the row of the task is that makes an attempt: as the row that says when it is due, but for the beginning. */
const taskOf = (row: DueWebhook): TaskAddress => ({
  partition: row.partition,
  space: SPACE,
  key: keyOf(RUN_PREFIX, row),
  expiresAt: null,
})

/** Where the larger row is. */
const placeOf = ({ partition, ...end }: Pick<DueWebhook, 'partition' | 'contextId' | 'retries'>) =>
  ({ partition, space: SPACE, key: `webhook:${endOf(end)}` }) as const

/** The body stands on a line of its own, so that it is not escaped. @throws SyntaxError when it is damaged */
function readWebhook(value: string) {
  const end = value.indexOf('\n')
  const facts: Omit<OwedWebhook, 'body'> = JSON.parse(value.slice(0, end))
  return { ...facts, body: value.slice(end + 1) }
}

/** The rows of a webhook that is to be sent from that time on. */
export function rowsOfOwed(webhook: OwedWebhook, { partitions, due }: { partitions: number; due: number }): RowWrite[] {
  const { body, ...facts } = webhook
  const { contextId, retries } = facts
  const partition = contextId % partitions
  const value = `${JSON.stringify(facts)}\n${body}`
  const row = { partition, lane: laneOf(webhook), contextId, retries, due, attempts: 0, characters: value.length }
  return [dueRow(row), { ...placeOf(row), value, expiresAt: null }]
}

/** That the next attempt is due. */
const dueRow = (row: DueWebhook) =>
  ({ ...taskOf(row), key: keyOf(DUE_PREFIX, row), value: JSON.stringify(taskFactsOf(row)) }) satisfies RowWrite

/** That the attempt is due no more, unless another server was faster. */
function takenRow(row: DueWebhook) {
  const { value: expects, ...place } = dueRow(row)
  return { ...place, expects, value: null }
}

/** The write that deletes the row of a webhook. */
const settledRow = (row: DueWebhook) => ({ ...placeOf(row), value: null, expiresAt: null })
