// definitions: compiles the templates of tags and waits, and the waits of transitions.
import { SECRETS } from '../../model/secret-reference.ts'
import { compileTemplate } from '../expressions/compile.ts'
import type { Template } from '../expressions/expression.ts'
import type { Wait } from '../flux.ts'
import { parseDate } from '../values/dates.ts'
import type { Report } from '../report.ts'
import { NO_SECRETS } from '../lines/secret-reference.ts'
import { notParsed, PLAIN_TEXT, strangePaths, unseenNames, type Visible } from '../lines/visible.ts'

/** Compiles a template; null after a fault. */
export function compileText(source: string, visible: Visible, pointer: string, report: Report): Template | null {
  try {
    const template = compileTemplate(source)
    if (template.quotesPlaceholder) report.warn(pointer, PLAIN_TEXT)
    for (const warning of strangePaths(template.paths, visible)) report.warn(pointer, warning)
    const unseen = template.names.has(SECRETS) ? NO_SECRETS : unseenNames(template.names, visible, source)
    if (unseen === null) return template
    report.fault(pointer, unseen)
  } catch (error) {
    report.fault(pointer, notParsed(error, source))
  }
  return null
}

const WAIT = /^(duration|date)\s*:(.*)$/s

interface WaitPlace {
  readonly pointer: string
  /** The transition, in messages. */
  readonly of: string
  readonly report: Report
}

/**
 * Compiles a wait: `duration:<seconds>` or `date:<when>`, where the value is a literal or a template. null if the
 * source is empty, and after a fault.
 */
export function compileWait(source: string, visible: Visible, { pointer, of, report }: WaitPlace): Wait | null {
  if (source === '') return null
  const [, kind, value = ''] = WAIT.exec(source.trim()) ?? []
  const text = value.trim()
  if (kind === undefined || text === '') {
    report.fault(pointer, `"${source}" is no wait: write duration:<seconds> or date:<when>`)
    return null
  }
  const template = compileText(text, visible, pointer, report)
  if (template === null) return null
  if (!text.includes('${')) checkLiteral(kind, text, pointer, report)
  return { kind: kind === 'date' ? 'date' : 'duration', of, value: template }
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
