// definitions: compiles `verify` of a webhook: the scheme by which a request proves who sent it, and its settings.
import { compilePayload } from '../../model/webhook-schemes/hmac.ts'
import {
  DEFAULT_TOLERANCE_SECONDS,
  VERIFY_KEYS,
  type PayloadPart,
  type WebhookVerify,
} from '../../model/webhook-schemes/scheme.ts'
import { WEBHOOK_SCHEMES } from '../../model/webhook-schemes/schemes.ts'
import type { Report } from '../report.ts'
import type { VerifySource } from '../source/webhook-schema.ts'

const SPECIAL_KEYS = new Set(Object.values(VERIFY_KEYS).flat())

export function compileVerify(source: VerifySource, pointer: string, report: Report): WebhookVerify {
  const { scheme, secrets, tolerance, header, algorithm, encoding, payload, prefix, timestampHeader, url } = source
  const { hasTime, secretFault } = WEBHOOK_SCHEMES[scheme]
  // A key without effect is a fault: its author relies on it.
  for (const [key, value] of Object.entries(source))
    if (value !== null && SPECIAL_KEYS.has(key) && VERIFY_KEYS[scheme]?.includes(key) !== true)
      report.fault(`${pointer}/${key}`, `the scheme "${scheme}" has no ${key}`)
  for (const [index, name] of secrets.entries())
    if (name !== undefined)
      report.secrets.push({ pointer: `${pointer}/secrets/${index}`, name, faultOf: (value) => secretFault(value) })
  if (scheme === 'hmac' && header == null && !report.hasFaultAt(`${pointer}/header`))
    report.fault(`${pointer}/header`, 'there is no header: it names where the signature is')
  const parts = payload == null ? null : compileContent(payload, source, `${pointer}/payload`, report)
  const rule = {
    toleranceS: tolerance ?? DEFAULT_TOLERANCE_SECONDS,
    ...(header != null && { header }),
    ...(algorithm != null && { algorithm }),
    ...(encoding != null && { encoding }),
    ...(parts !== null && { payload: parts }),
    ...(prefix != null && { prefix }),
    ...(timestampHeader != null && { timestampHeader }),
    ...(url != null && { url }),
  }
  if (tolerance != null && !hasTime(rule))
    report.fault(
      `${pointer}/tolerance`,
      scheme === 'hmac'
        ? 'needs timestampHeader: without it no time is checked'
        : `the scheme "${scheme}" has no time that could be checked`,
    )
  return { scheme, secrets: secrets.filter((name) => name !== undefined), rule }
}

function compileContent(payload: string, { timestampHeader }: VerifySource, pointer: string, report: Report) {
  const { parts, fault } = compilePayload(payload)
  if (fault !== null) return report.fault(pointer, fault)
  const has = (kind: PayloadPart['kind']) => parts.some((part) => part.kind === kind)
  if (has('timestamp') && timestampHeader == null)
    report.fault(pointer, 'there is no timestampHeader: it names where ${timestamp} comes from')
  if (!has('body')) report.warn(pointer, 'without ${body} the signature does not protect the body')
  if (!hasFixedBoundaries(parts))
    report.warn(
      pointer,
      'bytes may move from one part to the next under the same signature: separate headers by a line break, or a timestamp by what is no digit',
    )
  return parts
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
