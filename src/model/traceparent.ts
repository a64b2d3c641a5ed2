// model: the header `traceparent` (W3C Trace Context), which names a trace, and what went before in it.

const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?=$|-)/

/** Characters of a header of this version. Later versions may have more, which are left out. */
const MAX_CHARACTERS = 55

/** The header as this version has it; undefined: there is none, or it is malformed. */
export function traceparentOf(header: unknown): string | undefined {
  if (typeof header !== 'string' || header.length < MAX_CHARACTERS || !TRACEPARENT.test(header)) return undefined
  const isOfThisVersion = header.startsWith('00-')
  if (isOfThisVersion && header.length > MAX_CHARACTERS) return undefined
  return isOfThisVersion ? header : `00${header.slice(2, MAX_CHARACTERS)}`
}
