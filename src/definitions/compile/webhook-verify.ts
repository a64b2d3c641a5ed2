// definitions: compiles `verify` of a webhook: the scheme by which a request proves who sent it, and its settings.
import type { Json } from '../../model/json/value.ts'
import { alternatives } from '../../model/nearest.ts'
import { compilePayload } from '../../model/webhook-schemes/hmac.ts'
import {
  DEFAULT_TOLERANCE_SECONDS,
  DIGEST_ENCODINGS,
  HEADER_NAME_PATTERN,
  HMAC_ALGORITHMS,
  VERIFY_KEYS,
  WEBHOOK_SCHEME_NAMES,
  type PayloadPart,
  type VerifyRule,
  type WebhookSchemeName,
  type WebhookVerify,
} from '../../model/webhook-schemes/scheme.ts'
import { WEBHOOK_SCHEMES } from '../../model/webhook-schemes/schemes.ts'
import type { Report } from '../report.ts'
import { takeStrictly } from '../source/take.ts'
import { VerifySchema } from '../source/webhook-schema.ts'
import { compileReference } from '../lines/secret-reference.ts'

const SPECIAL_KEYS = new Set(Object.values(VERIFY_KEYS).flat())

type Source = NonNullable<ReturnType<typeof takeStrictly<typeof VerifySchema>>>

/** null after a fault, which is reported. */
export function compileVerify(source: Json, pointer: string, report: Report): WebhookVerify | null {
  const verify = takeStrictly(VerifySchema, source, pointer, report)
  return verify && compileScheme(verify, pointer, report)
}

function compileScheme(verify: Source, pointer: string, report: Report): WebhookVerify | null {
  const scheme = WEBHOOK_SCHEME_NAMES.find((name) => name === verify.scheme)
  if (scheme === undefined) {
    report.fault(
      `${pointer}/scheme`,
      `unknown scheme "${verify.scheme}"${alternatives(verify.scheme, WEBHOOK_SCHEME_NAMES)}`,
    )
    return null
  }
  checkKeysOf(scheme, verify, pointer, report)
  const secrets = compileSecrets(verify.secrets, scheme, `${pointer}/secrets`, report)
  const rule = compileRule(scheme, verify, pointer, report)
  const { tolerance } = verify
  if (tolerance != null && !WEBHOOK_SCHEMES[scheme].hasTime(rule))
    report.fault(
      `${pointer}/tolerance`,
      scheme === 'hmac'
        ? 'needs timestampHeader: without it no time is checked'
        : `the scheme "${scheme}" has no time that could be checked`,
    )
  return { scheme, secrets, rule }
}

/** A key without effect is a fault: who wrote it relies on it. */
function checkKeysOf(scheme: WebhookSchemeName, verify: Source, pointer: string, report: Report): void {
  const own = VERIFY_KEYS[scheme] ?? []
  for (const [key, value] of Object.entries(verify))
    if (value != null && SPECIAL_KEYS.has(key) && !own.includes(key))
      report.fault(`${pointer}/${key}`, `the scheme "${scheme}" has no ${key}`)
}

function compileSecrets(list: Json | undefined, scheme: WebhookSchemeName, pointer: string, report: Report): string[] {
  const { secretFault } = WEBHOOK_SCHEMES[scheme]
  const given = Array.isArray(list) ? list : []
  if (list !== undefined && list !== null && !Array.isArray(list))
    report.fault(pointer, 'must be a list of "$secrets.NAME"')
  else if (given.length === 0) report.fault(pointer, 'there are no secrets')
  return given.flatMap(
    (entry, index) => compileReference(entry, `${pointer}/${index}`, report, (value) => secretFault(value)) ?? [],
  )
}

function compileRule(
  scheme: WebhookSchemeName,
  verify: Source,
  pointer: string,
  report: Report,
): Omit<VerifyRule, 'secrets'> {
  const { tolerance, header, timestampHeader, prefix, url } = verify
  if (scheme === 'hmac' && header == null)
    report.fault(`${pointer}/header`, 'there is no header: it names where the signature is')
  for (const [key, name] of Object.entries({ header, timestampHeader }))
    if (name != null && !HEADER_NAME_PATTERN.test(name))
      report.fault(`${pointer}/${key}`, `"${name}" is no name of a header`)
  if (url != null && !isPlainUrl(url))
    report.fault(`${pointer}/url`, 'must be the URL that the provider calls, https://…, without a query')
  const algorithm = oneOf('algorithm', verify.algorithm, HMAC_ALGORITHMS, pointer, report)
  const encoding = oneOf('encoding', verify.encoding, DIGEST_ENCODINGS, pointer, report)
  const payload = compileContent(verify, `${pointer}/payload`, report)
  return {
    toleranceS: tolerance ?? DEFAULT_TOLERANCE_SECONDS,
    ...(header != null && { header }),
    ...(algorithm !== undefined && { algorithm }),
    ...(encoding !== undefined && { encoding }),
    ...(payload !== null && { payload }),
    ...(prefix != null && { prefix }),
    ...(timestampHeader != null && { timestampHeader }),
    ...(url != null && { url }),
  }
}

function oneOf<T extends string>(
  key: string,
  given: string | null | undefined,
  known: readonly T[],
  pointer: string,
  report: Report,
): T | undefined {
  const found = known.find((name) => name === given)
  if (given != null && found === undefined)
    report.fault(`${pointer}/${key}`, `unknown ${key} "${given}"${alternatives(given, known)}`)
  return found
}

function compileContent(
  { payload, timestampHeader }: Source,
  pointer: string,
  report: Report,
): readonly PayloadPart[] | null {
  if (payload == null) return null
  const compiled = compilePayload(payload)
  if (compiled.fault !== null) {
    report.fault(pointer, compiled.fault)
    return null
  }
  const has = (kind: PayloadPart['kind']) => compiled.parts.some((part) => part.kind === kind)
  if (has('timestamp') && timestampHeader == null)
    report.fault(pointer, 'there is no timestampHeader: it names where ${timestamp} comes from')
  if (!has('body')) report.warn(pointer, 'without ${body} the signature does not protect the body')
  if (!hasFixedBoundaries(compiled.parts))
    report.warn(
      pointer,
      'bytes may move from one part to the next under the same signature: separate headers by a line break, or a timestamp by what is no digit',
    )
  return compiled.parts
}

/** What a part of the signed content never has in it. */
const NEVER_IN: { readonly [kind in PayloadPart['kind']]?: RegExp } = { timestamp: /\D/, header: /[\r\n]/ }

/**
 * Whether signed content can be divided into its parts in one way only: from the left, each part ends at a text that the
 * part itself never has; from the right, each begins after one.
 */
function hasFixedBoundaries(parts: readonly PayloadPart[]): boolean {
  const isFixed = (at: number, side: -1 | 1): boolean => {
    const [part, next] = [parts[at], parts[at + side]]
    return part !== undefined && next?.kind === 'text' && NEVER_IN[part.kind]?.test(next.text) === true
  }
  const variable = parts.flatMap(({ kind }, at) => (kind === 'text' ? [] : [at]))
  const left = variable.findIndex((at) => !isFixed(at, 1))
  const right = variable.findLastIndex((at) => !isFixed(at, -1))
  return left >= right
}

const isPlainUrl = (url: string): boolean => /^https?:\/\/[^\s?#]+$/.test(url) && URL.canParse(url)
