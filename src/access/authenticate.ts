// access: who calls, judged by the Authorization header. A header that proves nothing is refused, never taken for anonymous.
import { ANONYMOUS, type Caller } from '../model/caller.ts'
import { FluxError } from '../model/failure.ts'

/** @throws FluxError `unauthorized` when there is a header and it proves no one */
export type Authenticate = (header: string | undefined) => Caller

/** For a server that knows no tokens: no header is anonymous, and none can be right. */
export const withoutTokens: Authenticate = (header) => {
  if (header === undefined) return ANONYMOUS
  throw new FluxError({ kind: 'unauthorized', detail: 'the token is not known' })
}
