// definitions: the key that a service gives its contexts, and when it may be used again.
import type { Json } from '../../model/json/value.ts'
import { keyFault } from '../../model/key.ts'
import type { Template } from '../expressions/expression.ts'
import type { KeyReuse } from '../flux.ts'
import type { Visible } from '../lines/visible.ts'
import type { Report } from '../report.ts'
import { compileText } from './templates.ts'

/** A template over the inputs; null: there is none, or after a fault. */
export function compileKey(
  source: Json | undefined,
  visible: Visible,
  pointer: string,
  report: Report,
): Template | null {
  if (source === undefined || source === null) return null
  if (typeof source !== 'string') {
    report.fault(pointer, 'must be text')
    return null
  }
  const fault = source.includes('${') ? null : keyFault(source)
  if (fault !== null) report.fault(pointer, fault)
  return compileText(source, visible, pointer, report)
}

export function compileKeyReuse(source: Json | undefined, report: Report): KeyReuse {
  if (source === undefined || source === null) return 'ended'
  if (source !== 'never') report.fault('/keyReuse', 'must be "never", or be left out')
  return source === 'never' ? 'never' : 'ended'
}
