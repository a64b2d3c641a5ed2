// cli/remote: contexts as rows of a table, and one context as a page of text.
import type { ListedContext } from '../../api/context-lists.ts'
import type { ContextEventsView, ContextView } from '../../api/contexts.ts'
import { controlsOf } from '../../inspector/forms/controls.ts'
import { eventInputsOf } from '../../inspector/forms/event-inputs.ts'
import { staysOf } from '../../inspector/pages/context/moves.ts'
import { sentenceText } from '../../inspector/sentence.tsx'
import type { Status } from '../../model/context.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { Remote } from './remote.ts'
import { aligned, plain, timeText, type Cell, type Style, type StyledText } from './text.ts'

const STYLES: { readonly [status in Status]: Style } = {
  RUNNING: 'blue',
  WAITING: 'yellow',
  WAITING_UNTIL: 'yellow',
  COMPLETED: 'green',
  FAILED: 'red',
  TERMINATED: 'dim',
}

export const statusCell = ({ status, paused }: { readonly status: Status; readonly paused?: boolean }): StyledText => ({
  text: paused === true ? `${status} (paused)` : status,
  style: STYLES[status],
})

export const CONTEXT_HEADS = ['ID', 'SERVICE', 'STATE', 'STATUS', 'UPDATED', 'NEXT RUN', 'TAGS']

export const contextRow = (context: ListedContext): Cell[] => [
  context.id,
  `${context.package}/${context.fluxName}`,
  context.currentState,
  statusCell(context),
  timeText(context.updatedAt),
  timeText(context.nextRun),
  context.tags.join(', '),
]

/** Why a context is where it is, and what it can take. */
export function standingLines(
  context: ContextView,
  events: ContextEventsView,
  definition: JsonObject | null,
  { table, style }: Remote,
): string[] {
  const sentence = sentenceText({ context, events, definition, now: Date.now() }, timeText)
  const inputs = eventInputsOf(definition, context.currentState)
  const taken = events.events.map(({ event, to, input }) => {
    const fields = inputs.of(event, controlsOf(input))
    const names = fields.map(({ name, isRequired }) => `${name}${isRequired ? ' (required)' : ''}`)
    return [event, to, names.join(', ')]
  })
  return [
    style('bold', sentence),
    '',
    ...(taken.length === 0 ? [] : [...table(['CAN TAKE', 'GOES TO', 'INPUTS'], taken), '']),
  ]
}

/**
 * What there is to know of one context, the most important first. `definition` tells what led to its states; null: it is
 * not known.
 */
export function contextLines(
  context: ContextView,
  { table, io }: Remote,
  definition: JsonObject | null = null,
): string[] {
  const { error, step, lastEvent, parent, child, pending } = context
  const facts: { readonly [name: string]: Cell | null } = {
    context: `${context.id}  ${context.package}/${context.fluxName}`,
    status: statusCell(context),
    state: context.currentState,
    'next run': context.nextRun && timeText(context.nextRun),
    started: timeText(context.startedAt),
    updated: timeText(context.updatedAt),
    ended: context.endedAt && timeText(context.endedAt),
    key: context.key,
    tags: context.tags.join(', '),
    parent: parent && `${parent.contextId}  ${parent.fluxName}`,
    child: child && `${child.contextId}  ${child.fluxName}, ${child.state}`,
    'last event': lastEvent && `${lastEvent.event} at ${timeText(lastEvent.at)}`,
    pending: pending.map(({ event }) => event).join(', '),
    step: step && stepText(step),
    error: error && `${error.type}: ${error.message}`,
  }
  const known = Object.entries(facts).flatMap(([name, text]) => (text ? [[name, text]] : []))
  const stack = error?.stack ? error.stack.split('\n') : []
  return [
    ...aligned([...known, ...stack.map((line) => ['', line])], io.screen?.hasColour),
    ...dataLines('input', context.input),
    ...dataLines('output', context.output),
    '',
    ...table(
      ['ENTERED', 'STATE', 'BY'],
      staysOf(context, definition, Date.now()).map(({ at, state, event, cause }) => [
        timeText(at),
        state,
        event ?? cause,
      ]),
    ),
  ]
}

export function stepText(step: NonNullable<ContextView['step']>): string {
  const { className, methodName, attempt, maxAttempts, nextAttemptAt } = step
  const what = className === null ? step.kind : `${className}.${methodName}`
  const next = nextAttemptAt === null ? '' : `, again at ${timeText(nextAttemptAt)}`
  return `${what}, attempt ${attempt} of ${maxAttempts}${next}`
}

function dataLines(name: string, { gloopProperties }: ContextView['input']) {
  if (gloopProperties.length === 0) return []
  return [
    '',
    name,
    ...gloopProperties.map(({ name: property, type, value = null }) => {
      const text = type === 'date' && typeof value === 'number' ? timeText(value) : JSON.stringify(value)
      return `  ${plain(String(property))}: ${plain(text)}`
    }),
  ]
}
