// cli/remote: contexts as rows of a table, and one context as a page of text.
import type { ListedContext } from '../../api/list-contexts.ts'
import type { ContextView } from '../../api/get-context.ts'
import type { Status } from '../../model/context.ts'
import type { Remote } from './remote.ts'
import { plain, timeText, type Cell, type Style } from './text.ts'

const STYLES: { readonly [status in Status]: Style } = {
  RUNNING: 'blue',
  WAITING: 'yellow',
  WAITING_UNTIL: 'yellow',
  COMPLETED: 'green',
  FAILED: 'red',
  TERMINATED: 'dim',
}

export const statusCell = ({ status, paused }: { readonly status: Status; readonly paused?: boolean }): Cell => ({
  text: paused === true ? `${status} (paused)` : status,
  style: STYLES[status],
})

export const CONTEXT_HEADS = ['ID', 'SERVICE', 'STATE', 'STATUS', 'UPDATED', 'NEXT RUN', 'TAGS']

type Row = Pick<
  ListedContext,
  'id' | 'package' | 'fluxName' | 'currentState' | 'status' | 'paused' | 'updatedAt' | 'nextRun' | 'tags'
>

export const contextRow = (context: Row): Cell[] => [
  { text: String(context.id) },
  { text: `${context.package}/${context.fluxName}` },
  { text: context.currentState },
  statusCell(context),
  { text: timeText(context.updatedAt) },
  { text: timeText(context.nextRun) },
  { text: context.tags.join(', ') },
]

/** What there is to know of one context, the most important first. */
export function contextLines(context: ContextView, { style, table }: Remote): string[] {
  const { error, step, lastEvent, parent, child, pending } = context
  const status = statusCell(context)
  const facts: (readonly [string, string | null])[] = [
    ['context', `${context.id}  ${context.package}/${context.fluxName}`],
    ['status', style(status.style ?? 'bold', status.text)],
    ['state', context.currentState],
    ['next run', context.nextRun === null ? null : timeText(context.nextRun)],
    ['started', timeText(context.startedAt)],
    ['updated', timeText(context.updatedAt)],
    ['ended', context.endedAt === null ? null : timeText(context.endedAt)],
    ['key', context.key],
    ['tags', context.tags.length === 0 ? null : context.tags.join(', ')],
    ['parent', parent && `${parent.contextId}  ${parent.fluxName}`],
    ['child', child && `${child.contextId}  ${child.fluxName}, ${child.state}`],
    ['last event', lastEvent && `${lastEvent.event} at ${timeText(lastEvent.at)}`],
    ['pending', pending.length === 0 ? null : pending.map(({ event }) => event).join(', ')],
    ['step', step && stepText(step)],
    ['error', error && `${error.type}: ${error.message}`],
  ]
  const width = Math.max(...facts.map(([name]) => name.length))
  return [
    ...facts.flatMap(([name, text]) =>
      text === null ? [] : [`${name.padEnd(width)}  ${name === 'status' ? text : plain(text)}`],
    ),
    ...(error?.stack
      ? String(error.stack)
          .split('\n')
          .map((line) => `${' '.repeat(width + 2)}${plain(line)}`)
      : []),
    ...dataLines('input', context.input),
    ...dataLines('output', context.output),
    '',
    ...table(
      ['ENTERED', 'STATE'],
      context.executionHistory.map(({ enteredAt, stateName }) => [{ text: timeText(enteredAt) }, { text: stateName }]),
    ),
  ]
}

function stepText({
  className,
  methodName,
  kind,
  attempt,
  maxAttempts,
  nextAttemptAt,
}: NonNullable<ContextView['step']>): string {
  const what = className === null ? kind : [className, methodName].filter((name) => name !== null).join('.')
  const next = nextAttemptAt === null ? '' : `, again at ${timeText(nextAttemptAt)}`
  return `${what}, attempt ${attempt} of ${maxAttempts}${next}`
}

function dataLines(name: string, { gloopProperties }: ContextView['input']): string[] {
  if (gloopProperties.length === 0) return []
  return [
    '',
    name,
    ...gloopProperties.map(
      (property) => `  ${plain(String(property['name']))}: ${plain(JSON.stringify(property['value'] ?? null))}`,
    ),
  ]
}
