// http: who may call an endpoint. The proof is checked over the request as it was received, before anything of it is
// parsed. What was wrong with it is in the log and in the list of deliveries, and never in the answer.
//
// - A webhook's sender is verified where the last byte of the body has arrived, before the body
//   is parsed. A refusal is returned, not thrown, since an exception costs more than the proof. Each request to an
//   endpoint ends as one delivery (`webhooks/webhooks.ts`). While its caller waits, it holds nothing of
//   the request.
import type { Context } from 'hono'
import type { Json } from '../../model/json/value.ts'
import type { Endpoint } from '../../model/webhook.ts'
import type { HandshakeAnswer } from '../../model/webhook-schemes/scheme.ts'
import { WEBHOOK_SCHEMES } from '../../model/webhook-schemes/schemes.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { ServiceSecrets } from '../../ports/secrets.ts'
import type { Env } from '../request/incoming.ts'
import { pathShown } from '../socket/observe.ts'
import { headerPairsOf, targetOf } from './request.ts'
import type { Refusal } from './reply.ts'

export interface VerifierOptions {
  /** The secrets of the senders of webhooks, as they are at present. */
  readonly secrets: ServiceSecrets
  /** What stands before the path in the URL by which clients call; null: it is not known. */
  readonly publicUrl: string | null
  readonly log: Log
  readonly clock: Clock
}

const WINDOW_MS = 1000

interface Window {
  /** Refused since the last line. */
  refused: number
  /** The last refused request: method and path without secrets, and why its proof was not accepted. */
  last: object
}

export class SignatureVerifier {
  readonly #options: VerifierOptions
  /** Endpoints with a line in the log in the last second. */
  readonly #windows = new Map<Endpoint, Window>()

  constructor(options: VerifierOptions) {
    this.#options = options
  }

  /**
   * null: the sender knows a secret of the endpoint, or the endpoint asks for none. Otherwise the failure for the
   * sender, and the reason for who lists deliveries, which tells no secret and no more of the server than names of
   * secrets. The failure is not thrown, which would cost more than to check the proof.
   * @param nowMs epoch milliseconds, with which times of messages are compared
   */
  refusalOf(c: Context<Env>, endpoint: Endpoint, body: Uint8Array, nowMs: number): Refusal | null {
    const { verify } = endpoint
    if (verify === null) return null
    const scheme = WEBHOOK_SCHEMES[verify.scheme]
    const { secrets, publicUrl } = this.#options
    const { method } = c.req
    const values = verify.secrets.flatMap((name) => secrets.get(name) ?? [])
    const headers = headerPairsOf(c)
    const [, host = null] = headers.find(([name]) => name.toLowerCase() === 'host') ?? []
    const request = { method, target: targetOf(c), host, headers, body }
    const rule = { ...verify.rule, secrets: values }
    const wrong = values.length === 0 ? '' : scheme.verify(rule, request, { nowMs, publicUrl })
    if (wrong === null) return null
    const missing = verify.secrets.filter((name) => secrets.get(name) === null)
    const reasons = [wrong, ...missing.map((name) => `there is no secret ${name}`)]
    const reason = reasons.filter((text) => text !== '').join('; ')
    this.#note(endpoint, { method, path: pathShown(c), reason })
    const detail = 'the request does not prove who sent it'
    return { refusal: { kind: 'signatureInvalid', detail, challenge: scheme.challenge ?? null }, reason }
  }

  /**
   * Logs a refused request: one line a second for each endpoint, whatever a stranger sends. It is logged at once, or,
   * after a line of the same second, with others at the end of that second.
   */
  #note(endpoint: Endpoint, last: object): void {
    const window = this.#windows.get(endpoint)
    if (!window) return this.#log(endpoint, { refused: 1, last })
    window.refused += 1
    window.last = last
  }

  #log(endpoint: Endpoint, window: Window): void {
    const { package: owner, fluxName, urlPath, verify } = endpoint
    const { refused, last } = window
    const facts = { package: owner, fluxName, urlPath, scheme: verify?.scheme ?? null, ...last, refused }
    this.#options.log.warn('a webhook was refused: its sender proved nothing', facts)
    window.refused = 0
    this.#windows.set(endpoint, window)
    this.#options.clock.after(WINDOW_MS, () => {
      if (window.refused === 0) this.#windows.delete(endpoint)
      else this.#log(endpoint, window)
    })
  }
}

/** In lower case: the header in which senders send a secret itself; null: none. */
export const proofHeaderOf = ({ verify }: Endpoint): string | null =>
  verify === null ? null : (WEBHOOK_SCHEMES[verify.scheme].proofHeader?.(verify.rule) ?? null)

/** The answer to a verified request by which a provider only tests the endpoint; null: it is another one. */
export const handshakeOf = ({ verify }: Endpoint, body: Json): HandshakeAnswer | null =>
  verify === null ? null : (WEBHOOK_SCHEMES[verify.scheme].handshake?.(body) ?? null)
