// http: the formats of bodies and answers. The first is the default.
import type { Json } from '../../model/json/value.ts'
import { decodeJson } from './json/decode.ts'
import { negotiate, type Format } from './negotiate.ts'
import { encodeProblemPage, PAGE_HEADERS, PAGE_TYPE, type ShownProblem } from './html/problem.ts'
import { decodeXml, type XmlOptions } from './xml/decode.ts'
import { encodeProblemXml, encodeXml, xmlTexts } from './xml/encode.ts'

/** A format in which problems are written. */
export interface ProblemFormat extends Format {
  /** Content-Type of a problem (RFC 9457). */
  readonly problemType: string
  /** Further headers of such an answer. */
  readonly headers?: { readonly [name: string]: string }
  encodeProblem(problem: ShownProblem): string
}

export interface Codec extends ProblemFormat {
  /**
   * Whether texts of a body may stand for numbers, booleans and other types, because the format need not name types.
   */
  readonly untyped: boolean
  /** Content-Type of an answer. */
  readonly answerType: string
  /** The text of a value. `root`: the name of the root element in XML. */
  encode(value: unknown, root: string): string
  /** The same in parts, each made when it is asked for; left out: it is fast enough as a whole. */
  texts?(value: unknown, root: string): Iterable<string>
  /** Most bytes of a body. */
  readonly maxBytes: number
  /**
   * @throws FluxError `malformed`; `tooLarge` for more than `maxValues` values and names; `unsupportedType` for an
   * encoding other than UTF-8
   */
  decode(text: string, options: XmlOptions): Json
}

/** XML is parsed in one go, which takes several times as long as for JSON. */
const MAX_XML_BYTES = 256 * 1024

export const JSON_FORMAT: Codec = {
  type: 'application/json',
  suffix: '+json',
  untyped: false,
  answerType: 'application/json',
  problemType: 'application/problem+json',
  encode: (value) => JSON.stringify(value) ?? 'null',
  encodeProblem: (problem) => JSON.stringify(problem),
  maxBytes: Infinity,
  decode: decodeJson,
}

const XML_FORMAT: Codec = {
  type: 'application/xml',
  suffix: '+xml',
  untyped: true,
  answerType: 'application/xml',
  problemType: 'application/problem+xml',
  encode: encodeXml,
  texts: xmlTexts,
  encodeProblem: encodeProblemXml,
  maxBytes: MAX_XML_BYTES,
  decode: decodeXml,
}

/** XML under its older type (RFC 7303, 9.2), for clients that ask only for that. */
const TEXT_XML_FORMAT: Codec = { ...XML_FORMAT, type: 'text/xml', suffix: null, answerType: 'text/xml; charset=utf-8' }

export const FORMATS: readonly Codec[] = [JSON_FORMAT, XML_FORMAT, TEXT_XML_FORMAT]

/** HTML, for browsers: they show a page, and save other types. */
const PAGE: ProblemFormat = {
  type: 'text/html',
  suffix: null,
  onlyNamed: true,
  problemType: PAGE_TYPE,
  headers: PAGE_HEADERS,
  encodeProblem: encodeProblemPage,
}

/** The page has precedence over XML: browsers ask for both, and give XHTML the same weight as HTML. */
const PROBLEM_FORMATS: readonly ProblemFormat[] = [JSON_FORMAT, PAGE, XML_FORMAT, TEXT_XML_FORMAT]

/** The format of a problem: the one that Accept asks for, else JSON. */
export const problemFormat = (accept: string | undefined): ProblemFormat =>
  negotiate(accept, PROBLEM_FORMATS) ?? JSON_FORMAT

/** Whether the client prefers a page to data. */
export const wantsPage = (accept: string | undefined): boolean =>
  accept !== undefined && /html/i.test(accept) && problemFormat(accept) === PAGE

/**
 * The format of an answer; null: none is acceptable. Browsers, which prefer a page, get JSON if they accept it, because
 * they show JSON and save XML.
 */
export function answerFormat(accept: string | undefined): Codec | null {
  return (wantsPage(accept) ? negotiate(accept, [JSON_FORMAT]) : null) ?? negotiate(accept, FORMATS)
}
