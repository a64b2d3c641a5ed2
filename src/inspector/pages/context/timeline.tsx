// inspector/pages: what happened to a context, in time, with how long each stay took.
import type { FC } from 'hono/jsx'
import type { ContextView, StepView } from '../../../api/contexts.ts'
import type { ListedContext } from '../../../api/context-lists.ts'
import { contextHref } from '../../parts/links.ts'
import { StatusSign } from '../../parts/status.tsx'
import { Table, type Column } from '../../parts/table.tsx'
import { cutText } from '../../parts/texts.ts'
import { ClockTime, durationText } from '../../parts/time.tsx'
import type { Stay } from './moves.ts'

/** Stays that are shown; the oldest are left out. */
const MAX_SHOWN = 200
/** Of an error, or of what led to a state. */
const MAX_TEXT_CHARACTERS = 300

interface TimelineFacts {
  readonly context: ContextView
  readonly stays: readonly Stay[]
  readonly childContexts: readonly ListedContext[]
  readonly hrefOf: (state: string) => string
}

/** An attempt that failed, or the end of a context that did. */
interface Failed {
  readonly at: number
  readonly what: string
  readonly error: string
}

export const Timeline: FC<TimelineFacts> = (facts) => {
  const { context, stays } = facts
  const shown = stays.slice(-MAX_SHOWN)
  const longest = Math.max(1, ...shown.map(({ lasted }) => lasted))
  return (
    <section aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      {stays.length > shown.length && (
        <p class="faint">{`${stays.length - shown.length} earlier moves are left out.`}</p>
      )}
      <Table columns={columnsOf(facts, longest)} rows={[...shown, ...failedIn(context)]} />
    </section>
  )
}

/** The record keeps the last one alone. */
function failedIn({ step, status, error, endedAt, updatedAt }: ContextView): readonly Failed[] {
  if (status === 'FAILED' && error)
    return [{ at: endedAt ?? updatedAt, what: 'failed', error: `${error.type}: ${error.message}` }]
  if (!step?.lastError) return []
  const { type, message, at } = step.lastError
  // The one before the one that is under way, or that comes next.
  const what = `attempt ${Math.max(1, step.attempt - 1)} of ${step.maxAttempts} failed`
  return [{ at, what, error: `${type}: ${message}` }]
}

/** Of a step that may be tried more than once. */
const Attempt: FC<{ readonly step: StepView | null }> = ({ step }) =>
  step &&
  step.maxAttempts > 1 && (
    <small>{`attempt ${step.attempt} of ${step.maxAttempts}${step.nextAttemptAt === null ? '' : ' comes next'}`}</small>
  )

/** Those that were started while it was in the state. */
const Children: FC<{ readonly stay: Stay; readonly facts: TimelineFacts }> = ({
  stay,
  facts: { stays, childContexts },
}) => (
  <>
    {childContexts
      .filter(({ startedAt }) => stays.findLast(({ at, hasChild }) => hasChild && at <= startedAt) === stay)
      .map(({ id, fluxName, status }) => (
        <>
          {', child '}
          <a href={contextHref(id)}>{`${fluxName} ${id}`}</a> <StatusSign status={status} />
        </>
      ))}
  </>
)

const Cause: FC<{ readonly stay: Stay }> = ({ stay: { from, event, cause } }) => {
  if (event !== null) return <code>{event}</code>
  return <>{cause === null ? (from === null ? 'start' : '–') : cutText(cause, MAX_TEXT_CHARACTERS)}</>
}

const columnsOf = (facts: TimelineFacts, longest: number): readonly Column<Stay | Failed>[] => {
  const { context, hrefOf } = facts
  return [
    { head: 'at', class: 'mono', cell: ({ at }) => <ClockTime at={at} precise /> },
    {
      head: 'by',
      cell: (row) => ('what' in row ? <span class="status failed">{row.what}</span> : <Cause stay={row} />),
    },
    {
      head: 'state',
      class: 'said',
      cell: (row) =>
        'what' in row ? (
          <code>{cutText(row.error, MAX_TEXT_CHARACTERS)}</code>
        ) : (
          <>
            → <a href={hrefOf(row.state)}>{row.state}</a> <Attempt step={row.isCurrent ? context.step : null} />
            <Children stay={row} facts={facts} />
          </>
        ),
    },
    {
      head: 'stay',
      isNumber: true,
      cell: (row) =>
        'what' in row ? '' : `${durationText(row.lasted)}${row.isCurrent && context.endedAt === null ? ' …' : ''}`,
    },
    {
      head: 'share',
      isSilent: true,
      class: 'shares',
      cell: (row) => ('what' in row ? '' : <Share stay={row} longest={longest} isBad={context.status === 'FAILED'} />),
    },
  ]
}

/** Short stays stay visible beside long ones. */
const Share: FC<{ readonly stay: Stay; readonly longest: number; readonly isBad: boolean }> = ({
  stay: { lasted, isCurrent },
  longest,
  isBad,
}) => (
  <svg class="share" width="120" height="8" aria-hidden="true">
    <rect
      class={isCurrent && isBad ? 'bad' : ''}
      height="8"
      rx="2"
      width={(2 + 118 * (Math.log1p(lasted) / Math.log1p(longest))).toFixed(1)}
    />
  </svg>
)
