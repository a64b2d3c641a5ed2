// inspector/pages: what happened to a context, in time, with how long each stay took.
import type { FC } from 'hono/jsx'
import type { ContextView, StepView } from '../../../api/get-context.ts'
import { Table, type Column } from '../../parts/table.tsx'
import { ClockTime, durationText, When } from '../../parts/time.tsx'
import type { Stay } from './moves.ts'

/** Stays that are shown; the oldest are left out. */
const MAX_SHOWN = 200

export const Timeline: FC<{
  readonly context: ContextView
  readonly stays: readonly Stay[]
  readonly now: number
  readonly hrefOf: (state: string) => string
}> = ({ context, stays, now, hrefOf }) => {
  const shown = stays.slice(-MAX_SHOWN)
  const longest = Math.max(1, ...shown.map(({ lasted }) => lasted))
  return (
    <section aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      {stays.length > shown.length && (
        <p class="faint">{`${stays.length - shown.length} earlier moves are left out.`}</p>
      )}
      <Table columns={columnsOf({ context, longest, hrefOf })} rows={shown} />
      {context.step?.lastError && (
        <p class="notice bad">
          {failedAttemptText(context.step)} failed <When at={context.step.lastError.at} now={now} />:{' '}
          <code>{`${context.step.lastError.type}: ${context.step.lastError.message}`}</code>
        </p>
      )}
    </section>
  )
}

/** The one before the one that is under way, or that comes next. */
const failedAttemptText = ({ attempt, maxAttempts }: StepView): string =>
  `Attempt ${Math.max(1, attempt - 1)} of ${maxAttempts}`

/** Of a step that may be tried more than once. */
const Attempt: FC<{ readonly step: StepView | null }> = ({ step }) =>
  step &&
  step.maxAttempts > 1 && (
    <small>{`attempt ${step.attempt} of ${step.maxAttempts}${step.nextAttemptAt === null ? '' : ' comes next'}`}</small>
  )

interface Told {
  readonly context: ContextView
  /** Milliseconds of the longest stay. */
  readonly longest: number
  readonly hrefOf: (state: string) => string
}

const columnsOf = ({ context, longest, hrefOf }: Told): readonly Column<Stay>[] => {
  const hasFailed = ({ isCurrent }: Stay) => isCurrent && context.status === 'FAILED'
  return [
    { head: 'at', class: 'mono', cell: ({ at }) => <ClockTime at={at} precise /> },
    {
      head: 'event',
      cell: ({ from, event }) => (event !== null ? <code>{event}</code> : from === null ? 'start' : '–'),
    },
    {
      head: 'state',
      class: 'said',
      cell: (stay) => (
        <>
          → <a href={hrefOf(stay.state)}>{stay.state}</a> {hasFailed(stay) && <span class="status failed">failed</span>}
          <Attempt step={stay.isCurrent ? context.step : null} />
        </>
      ),
    },
    {
      head: 'stay',
      isNumber: true,
      cell: ({ lasted, isCurrent }) => `${durationText(lasted)}${isCurrent && context.endedAt === null ? ' …' : ''}`,
    },
    {
      head: 'share',
      isSilent: true,
      class: 'shares',
      cell: (stay) => (
        <svg class="share" width="120" height="8" aria-hidden="true">
          <rect class={hasFailed(stay) ? 'bad' : ''} height="8" rx="2" width={share(stay.lasted, longest)} />
        </svg>
      ),
    },
  ]
}

/** Short stays stay visible beside long ones. */
const share = (lasted: number, longest: number): string =>
  (2 + 118 * (Math.log1p(lasted) / Math.log1p(longest))).toFixed(1)
