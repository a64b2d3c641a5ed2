// definitions: the events that start a service. Each is a text, or an object that also says by which key.
import { getOwn, isObject, type Json } from '../../model/json/value.ts'
import type { CompiledTrigger } from '../flux.ts'
import type { Visible } from '../lines/visible.ts'
import type { Report } from '../report.ts'
import { TriggerSchema } from '../source/schema.ts'
import { take } from '../source/take.ts'
import { compileKey } from './key.ts'

/** Those with a fault are left out. */
export function compileTriggers(source: Json | undefined, visible: Visible, report: Report): CompiledTrigger[] {
  if (source === undefined || source === null) return []
  if (!Array.isArray(source)) {
    report.fault('/triggers', 'must be a list')
    return []
  }
  const seen = new Set<string>()
  return source.flatMap((entry, index) => {
    const trigger = compileTrigger(entry, visible, `/triggers/${index}`, report)
    if (trigger === null) return []
    checkEvent(trigger.event, isObject(entry) ? `/triggers/${index}/event` : `/triggers/${index}`, seen, report)
    return [trigger]
  })
}

function compileTrigger(entry: Json, visible: Visible, pointer: string, report: Report): CompiledTrigger | null {
  if (typeof entry === 'string') return { event: entry, key: null, unlessMoved: false }
  if (!isObject(entry)) {
    report.fault(pointer, 'must be text, or an object with an event')
    return null
  }
  const trigger = take(TriggerSchema, entry, pointer, report)
  const key = compileKey(getOwn(entry, 'key'), visible, `${pointer}/key`, report)
  return trigger && { event: trigger.event, key, unlessMoved: trigger.unlessMoved ?? false }
}

/** Of several for one event only the first counts. */
function checkEvent(event: string, pointer: string, seen: Set<string>, report: Report): void {
  if (event === '' || event.startsWith('$')) report.warn(pointer, `"${event}" can't be sent as an event`)
  else if (seen.has(event)) report.warn(pointer, `"${event}" is listed twice`)
  seen.add(event)
}
