// http: what XML can't hold as it stands: names that aren't XML's, markup in text, and characters that no reference may name.
import { malformed } from '../model/failure.ts'

/** Some of the names without colon that XML knows (Namespaces in XML, NCName): letters of living languages, digits, and a few signs.
 * Not U+1680, which fast-xml-parser takes for white space. */
const NAME = /^[A-Z_a-z\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02FF\u0370-\u037D\u037F-\u167F\u1681-\u1FFF\u3001-\uD7FF][-.\w\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02FF\u0370-\u037D\u037F-\u167F\u1681-\u1FFF\u3001-\uD7FF]*$/
/** Those are XML's own. */
const RESERVED = /^xml/i

/** True for what can be the name of an element. */
export const isXmlName = (name: string): boolean => NAME.test(name) && !RESERVED.test(name)

/** XML 1.0, production 2, is what is left: controls, halves of surrogate pairs, U+FFFE and U+FFFF have no place in a document, not even as a reference. */
const FORBIDDEN = /(?![\t\n\r\u007F-\u009F])\p{Cc}|\p{Cs}|[\uFFFE\uFFFF]/u
const ALL_FORBIDDEN = new RegExp(FORBIDDEN, 'gu')

/** True for text that only an escape gets into XML. */
export const needsEscape = (text: string): boolean => FORBIDDEN.test(text)

/** `\uXXXX` for what XML forbids, and so `\\` for a backslash. */
export const escapeText = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll(ALL_FORBIDDEN, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** @throws FluxError `malformed` */
export function unescapeText(text: string): string {
  return text.replaceAll(/\\(?:(\\)|u([\dA-Fa-f]{4})|)/g, (_, backslash: string | undefined, unit: string | undefined) => {
    if (backslash !== undefined) return backslash
    if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit, 16))
    throw malformed('the body has a malformed escape: \\\\ and \\uXXXX are known')
  })
}

/** With a sign that something was there: for texts that are only to be read by people. */
export const withoutForbidden = (text: string): string => text.replaceAll(ALL_FORBIDDEN, '\uFFFD')

const REFERENCES: { readonly [character: string]: string } =
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\t': '&#9;', '\n': '&#10;', '\r': '&#13;' }
const reference = (character: string): string => REFERENCES[character] ?? character

/** Readers turn a carriage return into a line feed, unless it is written as a reference. */
export const textMarkup = (text: string): string => text.replaceAll(/[&<>\r]/g, reference)
/** In an attribute they turn all white space into spaces. */
export const attributeMarkup = (text: string): string => text.replaceAll(/[&<>"\t\n\r]/g, reference)

const NAMED: ReadonlyMap<string, string> = new Map([['amp', '&'], ['lt', '<'], ['gt', '>'], ['quot', '"'], ['apos', '\'']])

/**
 * Puts characters in place of references. There are no entities but XML's own five: a document can't declare any here.
 * @throws FluxError `malformed`
 */
export function resolveReferences(text: string): string {
  if (!text.includes('&')) return text
  return text.replaceAll(/&(?:#(\d{1,7})|#x([\dA-Fa-f]{1,6})|(\w{1,8}));|&/g, (_, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return NAMED.get(name) ?? refuseReference()
    const code = decimal !== undefined ? Number(decimal) : hex !== undefined ? Number.parseInt(hex, 16) : 0
    if (code > 0x10FFFF) return refuseReference()
    const character = String.fromCodePoint(code)
    return needsEscape(character) ? refuseReference() : character
  })
}

function refuseReference(): never {
  throw malformed('the body has a reference that XML does not know')
}
