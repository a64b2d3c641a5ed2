// inspector: how many log-ins may fail in a minute, counted for each client, so that one of them keeps out no other.
import { FluxError } from '../model/failure.ts'

/** Where a request came from. */
export interface ClientAddress {
  /** Of the connection; null where there is none. */
  readonly peer: string | null
  /** X-Forwarded-For: the last address is the one that the nearest proxy saw. */
  readonly forwardedFor: string | undefined
}

/** Failures in a minute: of one client, and of all clients that one address names as their proxy. */
const MAX_FAILURES = { client: 20, proxy: 200 }
const WINDOW_MS = 60_000
/** Addresses that are remembered; of more, the one that failed first is forgotten. */
const MAX_ADDRESSES = 10_000
const MAX_ADDRESS_CHARACTERS = 64

interface Failures {
  /** Epoch milliseconds of the first of them. */
  readonly since: number
  readonly count: number
}

export class LogInBound {
  readonly #failures = new Map<string, Failures>()

  /** @throws FluxError `rateLimited` when that client has failed too often in the last minute */
  check(client: ClientAddress, now: number): void {
    for (const { key, most } of countersOf(client)) {
      const { since, count } = this.#recent(key, now)
      if (count < most) continue
      const retryAfter = Math.ceil((since + WINDOW_MS - now) / 1000)
      const detail = 'there were too many wrong tokens; try again in a minute'
      throw new FluxError({ kind: 'rateLimited', detail, retryAfter })
    }
  }

  count(client: ClientAddress, now: number): void {
    for (const { key } of countersOf(client)) {
      const { since, count } = this.#recent(key, now)
      this.#failures.set(key, { since, count: count + 1 })
    }
    for (const [key, { since }] of this.#failures) {
      if (this.#failures.size <= MAX_ADDRESSES && now - since < WINDOW_MS) break
      this.#failures.delete(key)
    }
  }

  #recent(key: string, now: number): Failures {
    const known = this.#failures.get(key)
    if (known && now - known.since < WINDOW_MS) return known
    // A new entry comes last: entries are in the order of their first failures.
    this.#failures.delete(key)
    return { since: now, count: 0 }
  }
}

/** Anybody may write X-Forwarded-For, so what one address sends under other names is bounded, too. */
function countersOf({ peer, forwardedFor }: ClientAddress): readonly { readonly key: string; readonly most: number }[] {
  const address = networkOf(peer ?? '')
  const last = forwardedFor?.split(',').at(-1)?.trim() ?? ''
  if (last === '') return [{ key: `client ${address}`, most: MAX_FAILURES.client }]
  return [
    { key: `client ${address} ${networkOf(last)}`, most: MAX_FAILURES.client },
    { key: `proxy ${address}`, most: MAX_FAILURES.proxy },
  ]
}

/** Of IPv6 the network: one client has as many addresses of it as it wants. */
function networkOf(address: string): string {
  const text = address.slice(0, MAX_ADDRESS_CHARACTERS).toLowerCase()
  if (text.startsWith('::ffff:')) return text.slice('::ffff:'.length)
  if (!URL.canParse(`http://[${text}]`)) return text
  const [head = '', tail] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::')
  const groups = head === '' ? [] : head.split(':')
  const rest = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - groups.length - rest.length }, () => '0')
  return [...groups, ...zeros, ...rest].slice(0, 4).join(':')
}
