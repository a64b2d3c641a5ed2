// http: content negotiation: which of the offered formats a client asks for (RFC 9110, 12.5.1), and which one it sent.
import { parseAccept, type Accept } from 'hono/utils/accept'

export interface Format {
  /** The media type, such as `application/json`. */
  readonly type: string
  /** The suffix of media types based on it (RFC 6839), such as `+json`; null: another format has them. */
  readonly suffix: string | null
  /** Whether only its name asks for it, and no wildcard. */
  readonly onlyNamed?: true
}

/**
 * The format with the greatest weight in an Accept header; of equal ones the first offered. No header, or an empty one,
 * asks for the first. A media type with a format's suffix asks for that format. A weight that cannot be read counts as
 * 1. null: none is acceptable.
 */
export function negotiate<F extends Format>(accept: string | undefined, offered: readonly F[]): F | null {
  const ranges = parseAccept(accept ?? '')
  if (ranges.length === 0) return offered[0] ?? null
  let best: F | null = null
  let weight = 0
  for (const format of offered) {
    const own = weightOf(format, ranges)
    if (own > weight) [best, weight] = [format, own]
  }
  return best
}

/**
 * The format that a Content-Type header names; null: none of them. No header, or an empty one, means the first offered.
 */
export function formatOf<F extends Format>(contentType: string | undefined, offered: readonly F[]): F | null {
  const exact = offered.find(({ type }) => type === contentType)
  if (exact) return exact
  const type = typeWithoutParameters(contentType ?? '')
  if (type === '') return offered[0] ?? null
  return offered.find((format) => type === format.type || isBuiltOn(type, format)) ?? null
}

/** Whether a Content-Type header names a type. */
export const namesType = (contentType: string | undefined): boolean =>
  contentType !== undefined && typeWithoutParameters(contentType) !== ''

const isBuiltOn = (type: string, { suffix }: Format): boolean => suffix !== null && type.endsWith(suffix)

/** The media type without its parameters. */
const typeWithoutParameters = (text: string): string => (text.split(';', 1)[0] ?? '').trim().toLowerCase()

/** The most specific range that matches decides, so that a wildcard does not allow a format that was excluded. */
function weightOf(format: Format, ranges: readonly Accept[]): number {
  let closest = 0
  let weight = 0
  for (const range of ranges) {
    const near = nearness(format, range)
    if (near > closest || (near === closest && near > 0 && range.q > weight)) [closest, weight] = [near, range.q]
  }
  return weight
}

/** How specifically a range matches a format; 0: not at all. */
function nearness(format: Format, { type: given, q }: Accept): number {
  const [{ type }, range] = [format, given.toLowerCase()]
  if (range === type) return 4
  // Excluding one type that is based on a format does not exclude the format.
  if (isBuiltOn(range, format)) return q > 0 ? 3 : 0
  if (format.onlyNamed) return 0
  if (range === `${type.slice(0, type.indexOf('/'))}/*`) return 2
  return range === '*/*' || range === '*' ? 1 : 0
}
