// http: the format of the answer to a call, and its headers.
import type { Context } from 'hono'
import { FluxError } from '../../model/failure.ts'
import { NOSNIFF } from '../formats/problem.ts'
import { answerFormat, FORMATS, type Codec } from '../formats/codecs.ts'
import { headerOf, type Env } from '../request/incoming.ts'
import { quotaHeaders } from '../request/quotas.ts'

/** Contexts change, and may be confidential, so answers are not stored by caches. */
const NOT_KEPT = { 'cache-control': 'no-store', vary: 'Accept', ...NOSNIFF }

export const callHeaders = (c: Context<Env>, format: Codec) => ({
  'content-type': format.answerType,
  ...NOT_KEPT,
  ...quotaHeaders(c),
})

/** @throws FluxError `notAcceptable` */
export function acceptedFormat(c: Context<Env>): Codec {
  const format = answerFormat(headerOf(c, 'accept'))
  if (format === null)
    throw new FluxError({
      kind: 'notAcceptable',
      detail: `answers are ${FORMATS.map(({ type }) => type).join(' or ')}`,
    })
  return format
}
