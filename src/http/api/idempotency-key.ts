// http: the header `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).
import type { Context } from 'hono'
import { FluxError } from '../../model/failure.ts'
import { headerOf, type Env } from '../request/incoming.ts'

/** Visible ASCII. One pair of quotes around it, which the draft asks for, is removed. */
const KEY = /^[!-~]{1,255}$/

/** Undefined: none was sent. @throws FluxError `malformed` */
export function idempotencyKeyOf(c: Context<Env>): string | undefined {
  const header = headerOf(c, 'idempotency-key')
  if (header === undefined) return undefined
  const isQuoted = header.length > 1 && header.startsWith('"') && header.endsWith('"')
  const key = isQuoted ? header.slice(1, -1) : header
  if (KEY.test(key)) return key
  throw new FluxError({ kind: 'malformed', detail: 'Idempotency-Key must be 1 to 255 visible ASCII characters' })
}
