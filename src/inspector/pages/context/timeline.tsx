// inspector/pages: what happened to a context, in time, with how long each stay took.
import type { Child } from 'hono/jsx'
import type { ListedContext } from '../../../api/context-lists.ts'
import type { ContextView } from '../../../api/contexts.ts'
import { faint, Section } from '../../parts/blocks.tsx'
import { contextHref } from '../../parts/links.tsx'
import { statusSign } from '../../parts/status.tsx'
import { Table, type Column } from '../../parts/table.tsx'
import { cutText } from '../../parts/texts.ts'
import { clockTime, durationText } from '../../parts/time.tsx'
import type { ShownContext } from './shown.ts'
import type { Stay } from './moves.ts'

/** Stays that are shown; the oldest are left out. */
const MAX_SHOWN = 200
/** Longest text of an error, or of what led to a state. */
const MAX_TEXT_CHARACTERS = 300
const SHARE_PX = 120

/** A stay in a state; or an attempt that failed, or the end of a context that did. */
interface Row {
  readonly at: number
  readonly by: Child
  readonly told: Child
  readonly stay?: string
  readonly share?: Child
}

const COLUMNS: readonly Column<Row>[] = [
  { head: 'at', class: 'mono', cell: ({ at }) => clockTime(at, 'ms') },
  { head: 'by', cell: ({ by }) => by },
  { head: 'state', class: 'said', cell: ({ told }) => told },
  { head: 'stay', isNumber: true, cell: ({ stay }) => stay },
  { head: 'share', control: <span class="hidden">share</span>, class: 'shares', cell: ({ share }) => share },
]

/** @param children what the context has started */
export function timelineOf({ context, stays, hrefOf }: ShownContext, children: readonly ListedContext[]) {
  const { step, status, endedAt } = context
  const shown = stays.slice(-MAX_SHOWN)
  const longest = Math.max(1, ...shown.map(({ lasted }) => lasted))
  const rowOf = (stay: Stay): Row => ({
    at: stay.at,
    by: stay.event === null ? cutText(stay.cause, MAX_TEXT_CHARACTERS) : <code>{stay.event}</code>,
    told: (
      <>
        → <a href={hrefOf(stay.state)}>{stay.state}</a>{' '}
        {stay.isCurrent && step && step.maxAttempts > 1 && (
          <small>{`attempt ${step.attempt} of ${step.maxAttempts}${step.nextAttemptAt === null ? '' : ' comes next'}`}</small>
        )}
        {children
          .filter(({ startedAt }) => stays.findLast(({ at, hasChild }) => hasChild && at <= startedAt) === stay)
          .map((child) => (
            <>
              , child <a href={contextHref(child.id)}>{`${child.fluxName} ${child.id}`}</a> {statusSign(child)}
            </>
          ))}
      </>
    ),
    stay: `${durationText(stay.lasted)}${stay.isCurrent && endedAt === null ? ' …' : ''}`,
    share: (
      <svg class="share" width={SHARE_PX} height="8" aria-hidden="true">
        <rect
          class={stay.isCurrent && status === 'FAILED' ? 'bad' : ''}
          height="8"
          rx="2"
          // Short stays stay visible beside long ones.
          width={(2 + (SHARE_PX - 2) * (Math.log1p(stay.lasted) / Math.log1p(longest))).toFixed(1)}
        />
      </svg>
    ),
  })
  return (
    <Section id="timeline" title="Timeline">
      {stays.length > shown.length && faint(`${stays.length - shown.length} earlier moves are left out.`)}
      <Table columns={COLUMNS} rows={[...shown.map(rowOf), ...failedIn(context)]} />
    </Section>
  )
}

/** The record keeps the last one alone. */
function failedIn({ step, status, error, endedAt, updatedAt }: ContextView): readonly Row[] {
  if (status === 'FAILED' && error) return [failedRow(endedAt ?? updatedAt, 'failed', error)]
  if (!step?.lastError) return []
  // The one before the one that is under way, or that comes next.
  const what = `attempt ${Math.max(1, step.attempt - 1)} of ${step.maxAttempts} failed`
  return [failedRow(step.lastError.at, what, step.lastError)]
}

const failedRow = (at: number, what: string, { type, message }: { type: string; message: string }): Row => ({
  at,
  by: <span class="status failed">{what}</span>,
  told: <code>{cutText(`${type}: ${message}`, MAX_TEXT_CHARACTERS)}</code>,
})
