// engine/on-end: one attempt to send a webhook that is owed, and what follows from it: it is owed no more, or the next
// attempt is due later.
import { DELIVERY_RETRY } from '../../definitions/actions/invoke-code.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import { messageOf } from '../../model/error-message.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { ServiceSecrets } from '../../ports/secrets.ts'
import type { SendOutcome, WebhookSender } from '../../ports/steps.ts'
import { LIGHT_BYTES, noRoom } from '../contexts/context-loader.ts'
import { pauseAfter } from '../interpreter/retry-pause.ts'
import type { StoreId } from '../contexts/ids.ts'
import type { QueueParts } from '../tasks/queue.ts'
import { pauseUntil, TaskLost, type Task } from '../tasks/task.ts'
import { dueRow, placeOf, readWebhook, settledRow, takenRow, type DueWebhook, type OwedWebhook } from './end-rows.ts'

export interface EndAttemptsParts extends QueueParts {
  readonly sender: WebhookSender
  readonly secrets?: Pick<ServiceSecrets, 'get' | 'fault'> | undefined
  readonly storeId: StoreId
  /** For webhooks that are being sent. */
  readonly budget: ByteBudget
  readonly random: () => number
}

/** Bytes of memory that a character of a webhook takes while it is sent: read, cut off, and encoded. */
const BYTES_A_CHARACTER = 6
/** Milliseconds until it is tried again when the store can't be reached. */
const TRY_AGAIN_MS = 5_000

export class EndAttempts {
  readonly #parts: EndAttemptsParts

  constructor(parts: EndAttemptsParts) {
    this.#parts = parts
  }

  /**
   * Makes an attempt, unless another server does. When the server stops, it is as if it were not made. False: it is not
   * known what became of it, or the server stops. Never rejects.
   */
  async run(row: DueWebhook, task: Task): Promise<boolean> {
    const { log, clock } = this.#parts
    const release = await this.#room(row)
    try {
      if (task.isStopping) return false
      await task.commit([takenRow(row)])
      await this.#attempt(row, task)
      return true
    } catch (error) {
      if (error instanceof TaskLost) return true
      if (task.isStopping) return false
      const { contextId } = row
      log.error('a webhook at the end of a context could not be read; trying again', { contextId, error })
      await pauseUntil(clock, TRY_AGAIN_MS, task.signal)
      return false
    } finally {
      release()
    }
  }

  #room({ characters }: DueWebhook): Promise<() => void> {
    const bytes = characters * BYTES_A_CHARACTER
    return bytes <= LIGHT_BYTES ? Promise.resolve(noRoom) : this.#parts.budget.wait(bytes)
  }

  async #attempt(row: DueWebhook, task: Task): Promise<void> {
    const { store, log } = this.#parts
    const stored = await store.readRow(placeOf(row))
    const webhook = stored && readOrNull(stored.value)
    if (!webhook) {
      const { contextId } = row
      // Another server may have sent it, and have ended it just now: then this fails.
      await settle(task, settledRow(row))
      log.error('a webhook at the end of a context is lost: what was to be sent is missing', { contextId })
      return
    }
    const outcome = await this.#send(webhook, task.signal)
    if (outcome.ok) await settle(task, settledRow(row))
    else if (!task.isStopping) await settle(task, this.#failed(row, webhook, outcome))
  }

  async #send({ url, fault, secret: name, body, ...end }: OwedWebhook, signal: AbortSignal): Promise<SendOutcome> {
    const { sender, secrets, storeId } = this.#parts
    if (url === null) return { ok: false, reason: `its URL can't be worked out: ${fault}` }
    const secret = secrets?.get(name) ?? null
    if (secret === null) return { ok: false, reason: secrets?.fault(name).reason ?? `there is no secret ${name}` }
    const id = await messageIdOf(storeId, end)
    try {
      return await sender.send({ id, url, secret, body, signal })
    } catch (error) {
      return { ok: false, reason: messageOf(error) }
    }
  }

  /** What follows: the next attempt is due, or it is given up. */
  #failed(
    row: DueWebhook,
    { contextId, package: owner, fluxName }: OwedWebhook,
    { reason, hint }: SendOutcome & { ok: false },
  ): RowWrite {
    const { clock, log, random } = this.#parts
    const attempt = row.attempts + 1
    const facts = { contextId, package: owner, fluxName, attempt, reason }
    if (hint?.afterMs === null || attempt >= DELIVERY_RETRY.maxAttempts) {
      log.error('a webhook at the end of a context is given up', facts)
      return settledRow(row)
    }
    const due = Math.ceil(clock.now()) + pauseAfter(DELIVERY_RETRY, attempt, random, hint)
    log.warn('a webhook at the end of a context was not accepted; it will be sent again', {
      ...facts,
      next: new Date(due).toISOString(),
    })
    return dueRow({ ...row, due, attempts: attempt })
  }
}

/** Tries until it is done, or the server stops: the webhook would be sent again if it were not. @throws TaskLost */
const settle = (task: Task, next: RowWrite): Promise<void> => task.persist(() => task.end([next]))

/** The same for all attempts. No step has such a key. */
const messageIdOf = async (
  storeId: StoreId,
  { contextId, retries }: Pick<OwedWebhook, 'contextId' | 'retries'>,
): Promise<string> => `msg_${await storeId()}_${contextId}-end${retries === undefined ? '' : `-${retries}`}`

function readOrNull(value: string): OwedWebhook | null {
  try {
    return readWebhook(value)
  } catch {
    return null
  }
}
