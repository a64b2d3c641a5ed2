// definitions: refuses what the language of services has, and this version does not serve yet. A webhook that is to be
// verified must not be served as if it were open.
import { getOwn, isObject, type JsonObject } from '../../model/json/value.ts'
import type { Report } from '../report.ts'

const ENTRY_KEYS = ['verify', 'dedupe', 'when', 'send', 'answer']

export function checkServed(source: JsonObject | null, report: Report): void {
  if (source === null) return
  const webhooks = getOwn(source, 'webhooks')
  for (const [index, entry] of (Array.isArray(webhooks) ? webhooks : []).entries()) {
    if (!isObject(entry)) continue
    for (const key of ENTRY_KEYS) if ((getOwn(entry, key) ?? null) !== null) refuse(report, `/webhooks/${index}/${key}`)
  }
}

const refuse = (report: Report, pointer: string): void =>
  report.fault(pointer, `"${pointer.split('/').at(-1)}" is not served by this version`)
