// definitions: compiles templates, and the waits of transitions.
import { compileTemplate } from '../expressions/compile.ts'
import type { Template } from '../expressions/expression.ts'
import type { Wait } from '../flux.ts'
import { compileSeen, type Visible } from '../lines/names.ts'
import type { Report } from '../report.ts'
import { parseDate } from '../values/dates.ts'

/** Compiles a template; null if there is none, or after a fault. */
export const compileText = (
  source: string | null | undefined,
  visible: Visible,
  pointer: string,
  report: Report,
): Template | null => (source == null ? null : compileSeen(compileTemplate, source, { visible, pointer, report }))

/**
 * Compiles a wait: `duration:<seconds>` or `date:<when>`, where the value is a literal or a template. null if there is
 * none, and after a fault. `of`: the transition, in messages.
 */
export function compileWait(
  source: string | null | undefined,
  visible: Visible,
  { pointer, of, report }: { readonly pointer: string; readonly of: string; readonly report: Report },
): Wait | null {
  const [, kind, value = ''] = /^\s*(duration|date)\s*:(.*)$/s.exec(source ?? '') ?? []
  if (kind === undefined) return null
  const text = value.trim()
  const template = compileText(text, visible, pointer, report)
  if (!text.includes('${')) checkLiteral(kind, text, pointer, report)
  return template && { kind: kind === 'date' ? 'date' : 'duration', of, value: template }
}

function checkLiteral(kind: string, text: string, pointer: string, report: Report): void {
  if (kind === 'date') {
    if (parseDate(text) === null) report.fault(pointer, `"${text}" is no date: neither ISO 8601 nor epoch milliseconds`)
  } else if (!Number.isFinite(Number(text))) report.fault(pointer, `"${text}" is no number of seconds`)
  else if (Number(text) < 0) report.warn(pointer, 'a negative time does not wait at all')
}
