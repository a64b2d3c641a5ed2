// http: who may call an endpoint. The proof is checked over the request as it was received, before anything of it is
// parsed. What was wrong with it is in the log and in the list of deliveries, and never in the answer.
//
// - A webhook's sender is verified where the last byte of the body has arrived, before the body
//   is parsed. A refusal is returned, not thrown, since an exception costs more than the proof. Each request to an
//   endpoint ends as one delivery (`webhooks/reply.ts`). While its caller waits, it holds nothing of
//   the request.
import type { Context } from 'hono'
import type { Json } from '../../model/json/value.ts'
import type { Endpoint } from '../../model/webhook.ts'
import type { HandshakeAnswer } from '../../model/webhook-schemes/scheme.ts'
import { WEBHOOK_SCHEMES } from '../../model/webhook-schemes/schemes.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { ServiceSecrets } from '../../ports/secrets.ts'
import { socketed, type Env } from '../request/incoming.ts'
import { pathShown } from '../socket/observe.ts'
import { headerPairsOf, targetOf } from './request.ts'
import type { DoorReply } from './reply.ts'

export interface VerifierOptions {
  /** The secrets of the senders of webhooks, as they are at present. */
  readonly secrets: ServiceSecrets
  /** What stands before the path in the URL by which clients call; null: it is not known. */
  readonly publicUrl: string | null
  readonly log: Log
  readonly clock: Clock
}

const DETAIL = 'the request does not prove who sent it'

export class SignatureVerifier {
  readonly #options: VerifierOptions
  readonly #rejected: RejectedDeliveryLog

  constructor(options: VerifierOptions) {
    this.#options = options
    this.#rejected = new RejectedDeliveryLog(options)
  }

  /**
   * null: the sender knows a secret of the endpoint, or the endpoint asks for none. Otherwise the failure for the
   * sender, and the reason for who lists deliveries, which tells no secret and no more of the server than names of
   * secrets. The failure is not thrown, which would cost more than to check the proof.
   * @param nowMs epoch milliseconds, with which times of messages are compared
   */
  refusalOf(
    c: Context<Env>,
    endpoint: Endpoint,
    { body, nowMs }: { readonly body: Uint8Array; readonly nowMs: number },
  ): Extract<DoorReply, { readonly refusal: unknown }> | null {
    const { verify } = endpoint
    if (verify === null) return null
    const scheme = WEBHOOK_SCHEMES[verify.scheme]
    const { secrets } = this.#options
    const values = verify.secrets.flatMap((name) => secrets.get(name) ?? [])
    // Names of those without a value.
    const missing = verify.secrets.filter((name) => secrets.get(name) === null)
    const request = { method: c.req.method, target: targetOf(c), host: hostOf(c), headers: headerPairsOf(c), body }
    const env = { nowMs, publicUrl: this.#options.publicUrl }
    const wrong = values.length === 0 ? '' : scheme.verify({ ...verify.rule, secrets: values }, request, env)
    if (wrong === null) return null
    const reasonWith = (others: readonly string[]) => [wrong, ...others].filter((text) => text !== '').join('; ')
    const logged = reasonWith(missing.map((name) => secrets.fault(name).reason))
    this.#rejected.add(endpoint, { method: c.req.method, path: pathShown(c), reason: logged })
    return {
      refusal: { kind: 'signatureInvalid', detail: DETAIL, challenge: scheme.challenge ?? null },
      reason: reasonWith(missing.map((name) => `there is no secret ${name}`)),
    }
  }
}

/** In lower case: the header in which senders send a secret itself; null: none. */
export const proofHeaderOf = ({ verify }: Endpoint): string | null =>
  verify === null ? null : (WEBHOOK_SCHEMES[verify.scheme].proofHeader?.(verify.rule) ?? null)

/** The answer to a verified request by which a provider only tests the endpoint; null: it is another one. */
export const handshakeOf = ({ verify }: Endpoint, body: Json): HandshakeAnswer | null =>
  verify === null ? null : (WEBHOOK_SCHEMES[verify.scheme].handshake?.(body) ?? null)

const hostOf = (c: Context<Env>): string | null =>
  (socketed(c) ? c.env.incoming.headers.host : c.req.raw.headers.get('host')) ?? null

const WINDOW_MS = 1000

interface Window {
  /** Refused since the last line. */
  refused: number
  /** The last refused request: method and path without secrets, and why its proof was not accepted. */
  last: object
}

/** Logs requests whose senders proved nothing: one line a second for each endpoint, whatever a stranger sends. */
class RejectedDeliveryLog {
  readonly #log: Log
  readonly #clock: Clock
  /** Endpoints with a line in the last second. */
  readonly #windows = new Map<Endpoint, Window>()

  constructor({ log, clock }: { readonly log: Log; readonly clock: Clock }) {
    this.#log = log
    this.#clock = clock
  }

  /** Logs it at once, or, after a line of the same second, with others at the end of that second. */
  add(endpoint: Endpoint, last: object): void {
    const window = this.#windows.get(endpoint)
    if (!window) return this.#write(endpoint, { refused: 1, last })
    window.refused += 1
    window.last = last
  }

  #write(endpoint: Endpoint, window: Window): void {
    const { package: owner, fluxName, urlPath, verify } = endpoint
    const { refused, last } = window
    const facts = { package: owner, fluxName, urlPath, scheme: verify?.scheme ?? null, ...last, refused }
    this.#log.warn('a webhook was refused: its sender proved nothing', facts)
    window.refused = 0
    this.#windows.set(endpoint, window)
    this.#clock.after(WINDOW_MS, () => {
      if (window.refused === 0) this.#windows.delete(endpoint)
      else this.#write(endpoint, window)
    })
  }
}
