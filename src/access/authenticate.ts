// access: identifies the caller by the Authorization header. An invalid header is refused; it is never treated as
// anonymous.
import { timingSafeEqual } from 'node:crypto'
import { ANONYMOUS, type Caller } from '../model/caller.ts'
import { FluxError } from '../model/failure.ts'
import { readText } from './change-file.ts'
import { rateOf, TokenBucket } from './token-bucket.ts'
import { digestOf, parseTokens } from './tokens.ts'

/**
 * Returns the caller that a header identifies; anonymous if there is no header.
 * @throws FluxError `unauthorized` when the header has no valid token
 */
export type Authenticate = (header: string | undefined) => Caller

export interface Tokens {
  readonly authenticate: Authenticate
  /** Stops watching the file. */
  close(): void
}

export interface TokensOptions {
  readonly file: string
  /** Epoch milliseconds. */
  readonly now: () => number
  /**
   * Called once for each change of the file that makes it malformed or unreadable. The tokens that were read last
   * remain valid.
   */
  readonly onError: (error: Error) => void
}

/** Time between two reads of the file. */
const CHECK_INTERVAL_MS = 2000

/** `Bearer <token>` (RFC 6750, 2.1), the scheme in any case (RFC 9110, 11.1). */
const BEARER = /^bearer +(\S+)$/i
const BEARER_SCHEME = /^bearer(?: |$)/i

interface Known {
  readonly digest: Buffer
  readonly expires: number
  /** As the file has it; empty: none. */
  readonly rate: string
  readonly caller: Caller
}

/**
 * Reads the token file and watches it for changes. A missing file is not an error: it has no tokens.
 * @throws Error whose message is one line, when the file is malformed or can't be read
 */
export async function openTokens(options: TokensOptions): Promise<Tokens> {
  const { file, now, onError } = options
  // The text that was read last, or why the file could not be read, so that each failure is reported once.
  let seen = await readText(file)
  let known = knownOf(seen, options)

  // The text is short and is compared as a whole: modification times are too coarse to show every change.
  const check = async () => {
    const found = await readText(file).catch(asError)
    const content = found instanceof Error ? found.message : found
    if (content === seen) return
    seen = content
    try {
      if (found instanceof Error) throw found
      known = knownOf(found, options, known)
    } catch (error) {
      onError(asError(error))
    }
  }
  const timer = setInterval(() => void check(), CHECK_INTERVAL_MS).unref()

  return {
    authenticate: (header) => (header === undefined ? ANONYMOUS : callerOf(header, known, now)),
    close: () => clearInterval(timer),
  }
}

/** A token that is read again goes on with what is left of its rate. */
const knownOf = (text: string | null, { file, now }: TokensOptions, before: readonly Known[] = []): readonly Known[] =>
  parseTokens(text, file).map(({ name, sha256, roles, expires, rate = '' }) => {
    const digest = Buffer.from(sha256, 'hex')
    const limits = rateOf(rate)
    const earlier = before.find((known) => known.rate === rate && known.digest.equals(digest))
    const quota = earlier?.caller.quota ?? (limits && new TokenBucket(limits, now))
    return { digest, expires: expires ?? Infinity, rate, caller: { name, roles, ...(quota && { quota }) } }
  })

/** Finds the token. It compares with all tokens in constant time, so the time taken reveals nothing about them. */
function callerOf(header: string, known: readonly Known[], now: () => number) {
  const [, text] = BEARER.exec(header) ?? []
  if (text === undefined) throw refusal(header)
  const digest = digestOf(text)
  let found: Known | undefined
  for (const token of known) if (timingSafeEqual(token.digest, digest)) found = token
  if (found === undefined) throw refusal(header)
  if (found.expires <= now())
    throw new FluxError({ kind: 'unauthorized', detail: 'the token has expired', token: 'invalid' })
  return found.caller
}

/** A header of another scheme counts as no credentials (RFC 6750, 3.1). */
const refusal = (header: string) =>
  new FluxError(
    BEARER_SCHEME.test(header)
      ? { kind: 'unauthorized', detail: 'the token is not known', token: 'invalid' }
      : { kind: 'unauthorized', detail: 'the Authorization header must be Bearer and a token', token: 'none' },
  )

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))
