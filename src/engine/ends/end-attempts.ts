// engine/ends: one attempt to send a webhook that is owed, and what follows from it: it is owed no more, or the next
// attempt is due later.
import { DELIVERY_RETRY } from '../../definitions/actions/invoke-code.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import { messageOf } from '../../model/error-message.ts'
import type { ServiceSecrets } from '../../ports/secrets.ts'
import type { SendOutcome, WebhookSender } from '../../ports/webhook-sender.ts'
import { LIGHT_BYTES, noRoom } from '../context-loader.ts'
import { pauseAfter } from '../retry-pause.ts'
import type { StoreId } from '../store-id.ts'
import { EndClaim, pauseUntil, type EndClaimParts } from './end-claim.ts'
import { placeOf, readWebhook, type DueWebhook, type OwedWebhook } from './end-rows.ts'

export interface EndAttemptsParts extends EndClaimParts {
  readonly sender: WebhookSender
  readonly secrets: Pick<ServiceSecrets, 'get' | 'fault'> | undefined
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

  /** Makes an attempt, unless another server does. After an abort, it is as if it were not made. Never rejects. */
  async run(row: DueWebhook, signal: AbortSignal): Promise<void> {
    const { log, clock } = this.#parts
    const release = await this.#room(row)
    try {
      const claim = signal.aborted ? null : await EndClaim.take(this.#parts, row)
      if (claim) await this.#attempt(claim, row, signal)
    } catch (error) {
      if (signal.aborted) return
      log.error('a webhook at the end of a context could not be read; trying again', {
        contextId: row.contextId,
        error,
      })
      await pauseUntil(clock, TRY_AGAIN_MS, signal)
    } finally {
      release()
    }
  }

  #room({ characters }: DueWebhook): Promise<() => void> {
    const bytes = characters * BYTES_A_CHARACTER
    return bytes <= LIGHT_BYTES ? Promise.resolve(noRoom) : this.#parts.budget.wait(bytes)
  }

  async #attempt(claim: EndClaim, row: DueWebhook, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#parts
    const stored = await store.readRow(placeOf(row))
    const webhook = stored && readOrNull(stored.value)
    if (!webhook) {
      log.error('a webhook at the end of a context is lost: what was to be sent is missing', {
        contextId: row.contextId,
      })
      return claim.end(signal)
    }
    const outcome = await this.#send(webhook, signal)
    if (outcome.ok) return claim.end(signal)
    if (signal.aborted) return claim.release()
    return this.#failed(claim, { webhook, attempt: row.attempts + 1, outcome }, signal)
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

  #failed(
    claim: EndClaim,
    {
      webhook: { contextId, package: owner, fluxName },
      attempt,
      outcome: { reason, hint },
    }: { webhook: OwedWebhook; attempt: number; outcome: SendOutcome & { ok: false } },
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, log, random } = this.#parts
    const facts = { contextId, package: owner, fluxName, attempt, reason }
    if (hint?.afterMs === null || attempt >= DELIVERY_RETRY.maxAttempts) {
      log.error('a webhook at the end of a context is given up', facts)
      return claim.end(signal)
    }
    const due = Math.ceil(clock.now()) + pauseAfter(DELIVERY_RETRY, attempt, { hint, random })
    log.warn('a webhook at the end of a context was not accepted; it will be sent again', {
      ...facts,
      next: new Date(due).toISOString(),
    })
    return claim.putOff({ due, attempts: attempt }, signal)
  }
}

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
