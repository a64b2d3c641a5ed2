// http: the format of the answer to a call, and its headers.
import type { Context } from 'hono'
import { FluxError } from '../../model/failure.ts'
import { NOSNIFF } from '../formats/problem.ts'
import { answerFormat, FORMATS, type Codec } from '../formats/codecs.ts'
import { negotiate, type Format } from '../formats/negotiate.ts'
import { headerOf, type Env } from '../request/incoming.ts'
import { quotaHeaders } from '../request/quotas.ts'

/** Contexts change, and may be confidential, so answers are not stored by caches. */
const NOT_KEPT = { 'cache-control': 'no-store', vary: 'Accept', ...NOSNIFF }

export const callHeaders = (c: Context<Env>, { answerType }: Pick<Codec, 'answerType'>) => ({
  'content-type': answerType,
  ...NOT_KEPT,
  ...quotaHeaders(c),
})

/** @throws FluxError `notAcceptable` */
export const acceptedFormat = (c: Context<Env>): Codec => accepted(answerFormat(headerOf(c, 'accept')), FORMATS)

/** The one of these formats that the client asks for. @throws FluxError `notAcceptable` */
export const acceptedOf = <F extends Format>(c: Context<Env>, offered: readonly F[]): F =>
  accepted(negotiate(headerOf(c, 'accept'), offered), offered)

function accepted<F extends Format>(format: F | null, offered: readonly F[]): F {
  if (format !== null) return format
  const detail = `answers are ${offered.map(({ type }) => type).join(' or ')}`
  throw new FluxError({ kind: 'notAcceptable', detail })
}
