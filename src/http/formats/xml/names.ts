// http: names, markup and characters that XML cannot contain literally.
import { malformed } from '../../../model/failure.ts'

/**
 * Names that are written as they are. Names that begin with xml are reserved. Letters outside ASCII are left out
 * because readers of XML's fourth and fifth edition disagree about them, and the length is bounded because some readers
 * have a limit.
 */
const PLAIN = /^(?!xml)[A-Z_a-z][-.\w]{0,999}$/i

/** Whether every reader accepts the text as the name of an element. */
export const isXmlName = (name: string): boolean => PLAIN.test(name)

const START =
  ':A-Z_a-z\\xC0-\\xD6\\xD8-\\xF6\\xF8-\\u02FF\\u0370-\\u037D\\u037F-\\u167F\\u1681-\\u1FFF\\u200C\\u200D\\u2070-\\u218F\\u2C00-\\u2FEF\\u3001-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFEFE\\uFF00-\\uFFFD\\u{10000}-\\u{EFFFF}'
/**
 * Source of a regular expression for the names that are accepted: those of the fifth edition (production 5), except for
 * U+1680 and U+FEFF, which fast-xml-parser treats as white space.
 */
export const XML_NAME = `[${START}][${START}\\-.\\d\\xB7\\u0300-\\u036F\\u203F\\u2040]*`

/** What is not white space of XML (production 3), from the first to the last. */
const INSIDE = /[^ \t\r\n](?:[^]*[^ \t\r\n])?/

/**
 * Removes the white space of XML around a text. JavaScript's `trim` removes more, which is text here.
 */
export const trimSpace = (text: string): string => INSIDE.exec(text)?.[0] ?? ''

export const isBlank = (text: string): boolean => !/[^ \t\r\n]/.test(text)

/**
 * Characters that XML 1.0, production 2, excludes: controls, halves of surrogate pairs, U+FFFE and U+FFFF. They are not
 * allowed in a document, not even as a reference.
 */
const FORBIDDEN = /(?![\t\n\r\u007F-\u009F])\p{Cc}|\p{Cs}|[\uFFFE\uFFFF]/u
const ALL_FORBIDDEN = new RegExp(FORBIDDEN, 'gu')

/** Whether a text contains characters that XML can only contain escaped. */
export const needsEscape = (text: string): boolean => FORBIDDEN.test(text)

/** The offset of the first such character; -1 if there is none. */
export const findForbidden = (text: string): number => text.search(FORBIDDEN)

/** Writes `\uXXXX` for characters that XML forbids, and `\\` for a backslash. */
export const escapeText = (text: string): string =>
  text
    .replaceAll('\\', '\\\\')
    .replaceAll(ALL_FORBIDDEN, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** @throws FluxError `malformed` */
export function unescapeText(text: string): string {
  return text.replaceAll(
    /\\(?:(\\)|u([\dA-Fa-f]{4})|)/g,
    (_, backslash: string | undefined, unit: string | undefined) => {
      if (backslash !== undefined) return backslash
      if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit, 16))
      throw malformed('the body has a malformed escape: \\\\ and \\uXXXX are known')
    },
  )
}

/** Replaces forbidden characters by U+FFFD, in texts that are only read by people. */
export const withoutForbidden = (text: string): string => text.replaceAll(ALL_FORBIDDEN, '\uFFFD')

const REFERENCES: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
}
const reference = (character: string): string => REFERENCES[character] ?? character

/** Escapes a text. Readers turn a literal carriage return into a line feed, so it is written as a reference. */
export const textMarkup = (text: string): string => text.replaceAll(/[&<>\r]/g, reference)
/** Escapes an attribute. Readers turn literal white space in attributes into spaces, so it is written as references. */
export const attributeMarkup = (text: string): string => text.replaceAll(/[&<>"\t\n\r]/g, reference)

const NAMED: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
])

const REFERENCE = /&(?:#0*(\d{1,7})|#x0*([\dA-Fa-f]{1,6})|(\w{1,8}));|&/g

/**
 * Replaces references by characters. Only XML's own five entities exist, because a document cannot declare any here.
 * @param refuse called with the offset of one that stands for nothing; left out: there is none
 */
export function resolveReferences(text: string, refuse?: (at: number) => never): string {
  if (!text.includes('&')) return text
  let result = ''
  let after = 0
  // One by one: there may be a million, and the first may be invalid.
  for (const { 0: whole, 1: decimal, 2: hex, 3: name, index } of text.matchAll(REFERENCE)) {
    const character = name === undefined ? characterOf(decimal, hex) : NAMED.get(name)
    result += text.slice(after, index) + (character ?? refuse?.(index) ?? whole)
    after = index + whole.length
  }
  return result + text.slice(after)
}

function characterOf(decimal: string | undefined, hex: string | undefined): string | undefined {
  const code = decimal !== undefined ? Number(decimal) : hex !== undefined ? Number.parseInt(hex, 16) : 0
  if (code > 0x10ffff) return undefined
  const character = String.fromCodePoint(code)
  return needsEscape(character) ? undefined : character
}
