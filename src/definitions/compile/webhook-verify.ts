// definitions: compiles `verify` of a webhook: the scheme by which a request proves who sent it, and its settings.
import { compilePayload } from '../../model/webhook-schemes/hmac.ts'
import { DEFAULT_TOLERANCE_SECONDS, VERIFY_KEYS, type WebhookVerify } from '../../model/webhook-schemes/scheme.ts'
import { WEBHOOK_SCHEMES } from '../../model/webhook-schemes/schemes.ts'
import type { Report } from '../report.ts'
import type { VerifySource } from '../source/webhook-schema.ts'

const SPECIAL_KEYS = new Set(Object.values(VERIFY_KEYS).flat())

export function compileVerify(source: VerifySource, pointer: string, report: Report): WebhookVerify {
  const { scheme, secrets, tolerance, payload, ...settings } = source
  const { header, timestampHeader } = settings
  const { hasTime, secretFault } = WEBHOOK_SCHEMES[scheme]
  // A key without effect is a fault: its author relies on it.
  for (const [key, value] of Object.entries(source))
    if (value !== undefined && SPECIAL_KEYS.has(key) && VERIFY_KEYS[scheme]?.includes(key) !== true)
      report.fault(`${pointer}/${key}`, `the scheme "${scheme}" has no ${key}`)
  for (const [index, name] of secrets.entries())
    if (name !== undefined)
      report.secrets.push({ pointer: `${pointer}/secrets/${index}`, name, faultOf: (value) => secretFault(value) })
  if (scheme === 'hmac' && header === undefined && !report.hasFaultAt(`${pointer}/header`))
    report.fault(`${pointer}/header`, 'there is no header: it names where the signature is')
  const { parts, fault } = payload === undefined ? { parts: undefined, fault: null } : compilePayload(payload)
  const at = `${pointer}/payload`
  if (fault !== null) report.fault(at, fault)
  if (parts?.some(({ kind }) => kind === 'timestamp') && timestampHeader === undefined)
    report.fault(at, 'there is no timestampHeader: it names where ${timestamp} comes from')
  if (parts?.every(({ kind }) => kind !== 'body'))
    report.warn(at, 'without ${body} the signature does not protect the body')
  if (tolerance != null && !hasTime(settings))
    report.fault(
      `${pointer}/tolerance`,
      scheme === 'hmac'
        ? 'needs timestampHeader: without it no time is checked'
        : `the scheme "${scheme}" has no time that could be checked`,
    )
  return {
    scheme,
    secrets: secrets.filter((name) => name !== undefined),
    rule: { ...settings, toleranceS: tolerance ?? DEFAULT_TOLERANCE_SECONDS, payload: parts },
  }
}
