// http: which of the formats offered a client asks for (RFC 9110, 12.5.1), and which one it sent.

export interface Format {
  /** `application/json` */
  readonly type: string
  /** Of media types built on it, RFC 6839: `+json`. null: another format speaks for them. */
  readonly suffix: string | null
  /** Whether it must be asked for by its name: no wildcard means it. */
  readonly onlyNamed?: true
}

interface Range {
  readonly type: string
  readonly weight: number
}

/**
 * The format that an Accept header gives the greatest weight; of equal ones the first offered. No header, or an empty
 * one, asks for the first. A media type with a format's suffix asks for that format; a weight that can't be read counts
 * as 1. null: nothing fits.
 */
export function negotiate<F extends Format>(accept: string | undefined, offered: readonly F[]): F | null {
  const ranges = accept === undefined ? [] : rangesOf(accept)
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
 * The format that a Content-Type header names. No header, or an empty one, means the first offered; null: none of them.
 */
export function formatOf<F extends Format>(contentType: string | undefined, offered: readonly F[]): F | null {
  const exact = offered.find(({ type }) => type === contentType)
  if (exact) return exact
  const type = bare(contentType ?? '')
  if (type === '') return offered[0] ?? null
  return offered.find((format) => type === format.type || isBuiltOn(type, format)) ?? null
}

/** Whether a Content-Type header names a type at all. */
export const namesType = (contentType: string | undefined): boolean =>
  contentType !== undefined && bare(contentType) !== ''

const isBuiltOn = (type: string, { suffix }: Format): boolean => suffix !== null && type.endsWith(suffix)

/** The type without its parameters. */
const bare = (text: string): string => (text.split(';', 1)[0] ?? '').trim().toLowerCase()

function rangesOf(accept: string): Range[] {
  const ranges: Range[] = []
  // Parameters may be quoted, and hold commas then; none of them but the weight counts.
  for (const element of accept.replaceAll(/"(?:[^"\\]|\\.)*"?/g, '').split(',')) {
    const type = bare(element)
    if (type !== '') ranges.push({ type, weight: readWeight(element) })
  }
  return ranges
}

function readWeight(element: string): number {
  const [, text] = /;\s*q\s*=\s*([^;\s]*)/i.exec(element) ?? []
  const weight = text === undefined ? 1 : Number.parseFloat(text)
  return Number.isNaN(weight) ? 1 : Math.min(Math.max(weight, 0), 1)
}

/** The most specific range that fits decides, so that an excluded format can't come back through a wildcard. */
function weightOf(format: Format, ranges: readonly Range[]): number {
  let closest = 0
  let weight = 0
  for (const range of ranges) {
    const near = nearness(format, range)
    if (near > closest || (near === closest && near > 0 && range.weight > weight))
      [closest, weight] = [near, range.weight]
  }
  return weight
}

/** 0: the range doesn't cover the format. */
function nearness(format: Format, range: Range): number {
  const { type } = format
  if (range.type === type) return 4
  // To refuse one type built on a format isn't to refuse the format.
  if (isBuiltOn(range.type, format)) return range.weight > 0 ? 3 : 0
  if (format.onlyNamed) return 0
  if (range.type === `${type.slice(0, type.indexOf('/'))}/*`) return 2
  return range.type === '*/*' || range.type === '*' ? 1 : 0
}
