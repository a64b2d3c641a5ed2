// definitions: warns where senders may send what a state's action decides.
import type { Report } from '../report.ts'
import type { LineSource } from '../source/schema.ts'
import type { StateOutline } from './outline.ts'

/**
 * Warns of events of a waiting state that its action writes to `$fluxEvent`, if it says of no transition whether it is
 * internal. An event with which the action compares is one that is sent. What a function returns may be any of them.
 */
export function checkDecided(
  { waiting, action, transitions, pointer }: StateOutline,
  events: ReadonlyMap<string, number>,
  report: Report,
): void {
  if (!waiting || !action || events.size < 2 || transitions.some((one) => one?.internal != null)) return
  const lines = 'lines' in action ? action.lines : action.outputs
  const written = lines.filter((line) => line?.to[0] === '$fluxEvent')
  for (const [event, at] of events)
    if (!event.startsWith('$') && written.some((line) => line && mayWrite(line, event)))
      report.warn(
        `${pointer}/transitions/${at}/event`,
        `the action sets $fluxEvent, and may choose "${event}", which anybody may send as well: ` +
          'add "internal": true to what it alone chooses, and false to what is sent',
      )
}

function mayWrite(line: LineSource, event: string): boolean {
  if (line.type !== 'set') return line.from[0] !== '$fluxEvent'
  const { expression, evaluate } = line
  if (!evaluate || typeof expression !== 'string') return expression === event
  return ["'", '"', '`'].some((quote) => isWritten(expression, quote + event + quote))
}

/** Whether the literal stands somewhere, and nowhere beside a comparison. */
function isWritten(expression: string, literal: string): boolean {
  const parts = expression.split(literal).map((part) => part.trim())
  return parts.length > 1 && !parts.some((part) => /^[=!]=|[=!]=$/.test(part))
}
