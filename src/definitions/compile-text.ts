// definitions: templates in tags and waits, and the wait of a transition.
import { compileTemplate } from './expressions/compile.ts'
import type { Template } from './expressions/expression.ts'
import type { Wait } from './flux.ts'
import { parseDate } from './dates.ts'
import type { Report } from './report.ts'

/** Whether a name can be seen; null: any may be there. */
export type Visible = ((name: string) => boolean) | null

/** null after a fault. */
export function compileText(source: string, visible: Visible, pointer: string, report: Report): Template | null {
  try {
    const template = compileTemplate(source)
    const unseen = [...template.names].filter((name) => visible !== null && !visible(name))
    if (unseen.length === 0) return template
    report.fault(pointer, `not visible anywhere: ${unseen.join(', ')}`)
  } catch (error) {
    report.fault(pointer, `can't be parsed: ${error instanceof Error ? error.message : String(error)}`)
  }
  return null
}

const WAIT = /^\s*(duration|date)\s*:\s*(.*?)\s*$/s

/** `duration:<seconds>` or `date:<when>`, the value a literal or a template. null: there is none, or a fault. */
export function compileWait(source: string, visible: Visible, pointer: string, report: Report): Wait | null {
  if (source === '') return null
  const [, kind, text = ''] = WAIT.exec(source) ?? []
  if (kind === undefined || text === '') {
    report.fault(pointer, `"${source}" is no wait: write duration:<seconds> or date:<when>`)
    return null
  }
  const value = compileText(text, visible, pointer, report)
  if (value === null) return null
  if (!text.includes('${')) checkLiteral(kind, text, pointer, report)
  return { kind: kind === 'date' ? 'date' : 'duration', value }
}

function checkLiteral(kind: string, text: string, pointer: string, report: Report): void {
  if (kind === 'date') {
    if (parseDate(text) === null) report.fault(pointer, `"${text}" is no date: neither ISO 8601 nor epoch milliseconds`)
    return
  }
  const seconds = Number(text)
  if (!Number.isFinite(seconds)) report.fault(pointer, `"${text}" is no number of seconds`)
  else if (seconds < 0) report.warn(pointer, 'a negative time does not wait at all')
}
