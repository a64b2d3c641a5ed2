// definitions: warns where senders may send what a state's action decides.
import { getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import type { Report } from '../report.ts'

interface WaitingState {
  readonly pointer: string
  readonly action: JsonObject
  readonly transitions: readonly JsonObject[]
}

/**
 * Warns of events of a waiting state that its action writes to `$fluxEvent`, if it says of no transition whether it is
 * internal. An event with which the action compares is one that is sent. What a function returns may be any of them.
 */
export function checkDecided(
  { pointer, action, transitions }: WaitingState,
  events: ReadonlyMap<string, number>,
  report: Report,
): void {
  if (events.size < 2 || transitions.some((one) => isObject(one) && (getOwn(one, 'internal') ?? null) !== null)) return
  const written = ['lines', 'outputs'].flatMap((key) => linesOf(getOwn(action, key))).filter(isChoice)
  for (const [event, at] of events)
    if (!event.startsWith('$') && written.some((line) => mayWrite(line, event)))
      report.warn(
        `${pointer}/transitions/${at}/event`,
        `the action sets $fluxEvent, and may choose "${event}", which anybody may send as well: ` +
          'add "internal": true to what it alone chooses, and false to what is sent',
      )
}

const linesOf = (list: Json | undefined): JsonObject[] => (Array.isArray(list) ? list.filter(isObject) : [])

function isChoice(line: JsonObject): boolean {
  const to = getOwn(line, 'to')
  return Array.isArray(to) && to[0] === '$fluxEvent'
}

function mayWrite(line: JsonObject, event: string): boolean {
  const [from, expression] = [getOwn(line, 'from'), getOwn(line, 'expression')]
  if (Array.isArray(from)) return from[0] !== '$fluxEvent'
  if (getOwn(line, 'evaluate') !== true) return expression === event
  if (typeof expression !== 'string') return false
  return ["'", '"', '`'].some((quote) => isWritten(expression, quote + event + quote))
}

const COMPARISONS = ['==', '!=']
const isCompared = (part: string) => COMPARISONS.some((sign) => part.startsWith(sign) || part.endsWith(sign))

/** Whether the literal stands somewhere, and nowhere beside a comparison. */
function isWritten(expression: string, literal: string): boolean {
  const parts = expression.split(literal).map((part) => part.trim())
  return parts.length > 1 && !parts.some(isCompared)
}
