// access: who calls, judged by the Authorization header. A header that proves nothing is refused, never taken for
// anonymous.
import { timingSafeEqual } from 'node:crypto'
import { ANONYMOUS, type Caller } from '../model/caller.ts'
import { FluxError } from '../model/failure.ts'
import { readText } from './change-file.ts'
import { rateOf, TokenBucket } from './token-bucket.ts'
import { digestOf, parseTokens } from './tokens.ts'

/** @throws FluxError `unauthorized` when there is a header and it proves no one */
export type Authenticate = (header: string | undefined) => Caller

export interface Tokens {
  readonly authenticate: Authenticate
  /** No longer follows the file. */
  close(): void
}

export interface TokensOptions {
  readonly file: string
  /** Epoch milliseconds. */
  readonly now: () => number
  /**
   * Told once for each change of the file that leaves it malformed or unreadable. The tokens read last then stay good.
   */
  readonly onError: (error: Error) => void
}

/** Milliseconds between two looks at the file. */
const CHECK_INTERVAL_MS = 2000

/** `Bearer <token>` (RFC 6750, 2.1), the scheme in any case (RFC 9110, 11.1). */
const BEARER = /^bearer +(\S+)$/i
const BEARER_SCHEME = /^bearer(?: |$)/i

interface Known {
  readonly digest: Buffer
  readonly expires: number
  /** As the file has it. */
  readonly rate: string | null
  readonly caller: Caller
}

/**
 * Reads the file of tokens, and follows it from then on. That no file is there is no error: none is known then.
 * @throws Error of one line when the file is malformed or can't be read
 */
export async function openTokens({ file, now, onError }: TokensOptions): Promise<Tokens> {
  // Of a file that can't be read, the reason: so it is told once.
  let seen = await readText(file)
  let known = knownOf(seen, file, { now, before: [] })
  let closed = false

  // The text itself is compared, it is short: no change is too quick or too small to be seen, whatever the disk tells
  // of times.
  const look = async () => {
    const found = await readText(file).catch(asError)
    const mark = found instanceof Error ? found.message : found
    if (closed || mark === seen) return
    seen = mark
    try {
      if (found instanceof Error) throw found
      known = knownOf(found, file, { now, before: known })
    } catch (error) {
      onError(asError(error))
    }
  }
  let timer: NodeJS.Timeout
  const wait = () => {
    timer = setTimeout(
      () =>
        void look().finally(() => {
          if (!closed) wait()
        }),
      CHECK_INTERVAL_MS,
    ).unref()
  }
  wait()

  return {
    authenticate: (header) => (header === undefined ? ANONYMOUS : callerOf(header, known, now)),
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}

/** A token that is read again goes on with what is left of its rate. */
function knownOf(
  text: string | null,
  file: string,
  { now, before }: { readonly now: () => number; readonly before: readonly Known[] },
): readonly Known[] {
  return parseTokens(text, file).map(({ sha256, roles, expires, rate = null }) => {
    const digest = Buffer.from(sha256, 'hex')
    const earlier =
      rate === null ? undefined : before.find((known) => known.rate === rate && known.digest.equals(digest))
    const limits = rate === null ? null : rateOf(rate)
    const quota = earlier?.caller.quota ?? (limits && new TokenBucket(limits, now))
    return { digest, expires: expires ?? Infinity, rate, caller: { roles, ...(quota && { quota }) } }
  })
}

/** Compares with all tokens, so that the time it takes tells nothing of which one it was or how near. */
function callerOf(header: string, known: readonly Known[], now: () => number): Caller {
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

/** Another scheme counts as no credentials (RFC 6750, 3.1). */
const refusal = (header: string) =>
  new FluxError(
    BEARER_SCHEME.test(header)
      ? { kind: 'unauthorized', detail: 'the token is not known', token: 'invalid' }
      : { kind: 'unauthorized', detail: 'the Authorization header must be Bearer and a token', token: 'none' },
  )

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))
