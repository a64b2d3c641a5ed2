// model: decodes bytes to text by their charset.

/**
 * Bytes 80 to 9F in windows-1252, which `iso-8859-1` also denotes (WHATWG Encoding). Node 20 decodes them as control
 * characters.
 */
const WINDOWS_1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008DŽ\u008F\u0090‘’“”•–—˜™š›œ\u009DžŸ'

/**
 * Decodes bytes. A byte order mark stays in the text.
 * @param strict whether invalid bytes are an error; otherwise U+FFFD replaces them
 * @throws RangeError for an unknown charset; TypeError for invalid bytes if `strict`
 */
export function textIn(bytes: Uint8Array, charset: string, { strict }: { readonly strict: boolean }): string {
  const decoder = new TextDecoder(charset, { fatal: strict, ignoreBOM: true })
  return decoder.encoding === 'windows-1252' ? windows1252(bytes) : decoder.decode(bytes)
}

function windows1252(bytes: Uint8Array) {
  let text = Buffer.from(bytes).toString('latin1')
  if (!bytes.some((byte) => byte >= 0x80 && byte < 0xa0)) return text
  for (const [at, character] of [...WINDOWS_1252].entries())
    text = text.replaceAll(String.fromCharCode(0x80 + at), character)
  return text
}

const MARKS = [
  [/^\xEF\xBB\xBF/, 'utf-8'],
  [/^\xFE\xFF|^\0</, 'utf-16be'],
  [/^\xFF\xFE|^<\0/, 'utf-16le'],
] as const
const DECLARATION = /^<\?xml\s[^>]*?\sencoding\s*=\s*["']([A-Za-z][-.\w]*)["']/

/**
 * The charset of an XML document (RFC 7303, 3), from the first of these that is present: the byte order mark or the
 * bytes of its first character, the charset of the Content-Type (`given`), the XML declaration.
 */
export function charsetOfXml(bytes: Buffer, given: string | undefined): string {
  const head = bytes.toString('latin1', 0, 200)
  const marked = MARKS.find(([mark]) => mark.test(head))?.[1]
  if (marked !== undefined) return marked
  const declared = given ?? DECLARATION.exec(head)?.[1] ?? 'utf-8'
  // A declaration that is readable as ASCII is not in UTF-16, even if it says so. Documents that were converted from
  // UTF-16 often do.
  return /^utf-?16/i.test(declared) ? 'utf-8' : declared
}
