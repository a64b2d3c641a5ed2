// model: text out of bytes, in the charset that they came with.

/**
 * Bytes 80 to 9F of windows-1252, which the charset iso-8859-1 means as well (WHATWG Encoding): Node 20 takes them for
 * controls.
 */
const WINDOWS_1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008DŽ\u008F\u0090‘’“”•–—˜™š›œ\u009DžŸ'

/**
 * A byte order mark stays in the text.
 * @param strict whether bytes that are no such text are an error; else U+FFFD stands for them
 * @throws RangeError for a charset nobody here knows; TypeError
 */
export function textIn(bytes: Uint8Array, charset: string, { strict }: { readonly strict: boolean }): string {
  const decoder = new TextDecoder(charset, { fatal: strict, ignoreBOM: true })
  return decoder.encoding === 'windows-1252' ? windows1252(bytes) : decoder.decode(bytes)
}

function windows1252(bytes: Uint8Array): string {
  if (!bytes.some((byte) => byte >= 0x80 && byte < 0xa0)) return Buffer.from(bytes).toString('latin1')
  // As bytes: to replace characters one by one takes long where there are many.
  const units = Buffer.allocUnsafe(bytes.length * 2)
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    const code = byte >= 0x80 && byte < 0xa0 ? WINDOWS_1252.charCodeAt(byte - 0x80) : byte
    units[2 * at] = code & 0xff
    units[2 * at + 1] = code >> 8
  }
  return units.toString('utf16le')
}

const MARKS = [
  [/^\xEF\xBB\xBF/, 'utf-8'],
  [/^\xFE\xFF|^\0</, 'utf-16be'],
  [/^\xFF\xFE|^<\0/, 'utf-16le'],
] as const
const DECLARATION = /^<\?xml\s[^>]*?\sencoding\s*=\s*["']([A-Za-z][-.\w]*)["']/

/**
 * The charset of an XML document (RFC 7303, 3): its byte order mark or the shape of its first character, else that of
 * its Content-Type, else that of its declaration.
 */
export function charsetOfXml(bytes: Buffer, given: string | undefined): string {
  const head = bytes.toString('latin1', 0, 200)
  const marked = MARKS.find(([mark]) => mark.test(head))?.[1]
  if (marked !== undefined) return marked
  const declared = given ?? DECLARATION.exec(head)?.[1] ?? 'utf-8'
  // Whose declaration could be read as it stands is not in UTF-16: what is made of such a text as a text often says so.
  return /^utf-?16/i.test(declared) ? 'utf-8' : declared
}
