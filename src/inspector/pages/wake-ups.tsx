// inspector/pages: what is due in the next hour and in the next day, as charts, and what comes first.
import type { FC } from 'hono/jsx'
import type { ListedContext } from '../../api/context-lists.ts'
import { Empty } from '../parts/command.tsx'
import { contextHref } from '../parts/links.ts'
import { ServiceLink } from '../parts/service-link.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { durationText, When } from '../parts/time.tsx'
import { Shell } from '../shell.tsx'
import type { Visitor } from '../visitor.ts'

export interface WakeUpsFacts {
  /** Contexts that are due at any time before the end of the day to come. */
  readonly due: readonly ListedContext[]
  /** Whether there are more than were read. */
  readonly isCut: boolean
}

const HOUR_MS = 3_600_000
const RANGES = [
  { title: 'The next hour', ms: HOUR_MS, bars: 60, each: 'minute' },
  { title: 'The next day', ms: 24 * HOUR_MS, bars: 48, each: 'half hour' },
]
const CHART = { width: 960, height: 120 }
const MAX_LISTED = 50

export const WakeUpsPage: FC<WakeUpsFacts & { readonly visitor: Visitor }> = ({ visitor, due, isCut }) => {
  const first = due
    .filter(({ nextRun }) => nextRun !== null)
    .toSorted((one, other) => (one.nextRun ?? 0) - (other.nextRun ?? 0))
    .slice(0, MAX_LISTED)
  return (
    <Shell title="Wake-ups" place="Wake-ups" visitor={visitor} live="status=WAITING_UNTIL">
      <div class="head">
        <h1>Wake-ups</h1>
        <p class="faint">Contexts that wait until a time, and when that is.</p>
        {isCut && <p class="notice">There are more than these charts count.</p>}
      </div>
      {due.length === 0 ? (
        <Empty>Nothing is due within a day. A transition with a "wait" makes a context wait until a time.</Empty>
      ) : (
        <div class="side" data-part="due">
          {RANGES.map((range) => (
            <Chart range={range} due={due} now={visitor.now} />
          ))}
          <List contexts={first} now={visitor.now} />
        </div>
      )}
    </Shell>
  )
}

const Chart: FC<{
  readonly range: (typeof RANGES)[number]
  readonly due: readonly ListedContext[]
  readonly now: number
}> = ({ range: { title, ms, bars, each }, due, now }) => {
  const counts = Array.from({ length: bars }, () => 0)
  for (const { nextRun } of due) {
    const bar = Math.max(0, Math.floor((((nextRun ?? now) - now) / ms) * bars))
    if (bar < bars) counts[bar] = (counts[bar] ?? 0) + 1
  }
  const most = Math.max(1, ...counts)
  const total = counts.reduce((sum, count) => sum + count, 0)
  const width = CHART.width / bars
  return (
    <section>
      <h2>{title}</h2>
      <p class="faint">
        {total === 0
          ? 'None is due'
          : `${total.toLocaleString('en')} due, at most ${most.toLocaleString('en')} in a ${each}`}
      </p>
      <div>
        <svg
          class="chart"
          viewBox={`0 0 ${CHART.width} ${CHART.height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}: ${total} due`}
        >
          {counts.map((count, index) => {
            const height = count === 0 ? 1 : Math.max(3, (count / most) * (CHART.height - 4))
            return (
              <rect
                x={(index * width + 1).toFixed(1)}
                y={CHART.height - height}
                width={(width - 2).toFixed(1)}
                height={height}
              >
                <title>{`${count} in ${each} ${index + 1}`}</title>
              </rect>
            )
          })}
        </svg>
        <p class="row split faint">
          <small>now</small>
          <small>{`in ${durationText(ms)}`}</small>
        </p>
      </div>
    </section>
  )
}

const List: FC<{ readonly contexts: readonly ListedContext[]; readonly now: number }> = ({ contexts, now }) => (
  <section>
    <h2>First</h2>
    <Table columns={columnsAt(now)} rows={contexts} idOf={({ id }) => `due-${id}`} />
  </section>
)

const columnsAt = (now: number): readonly Column<ListedContext>[] => [
  {
    head: 'due',
    isNumber: true,
    cell: ({ nextRun }) => (nextRun === null ? '' : <When at={nextRun} now={now} />),
  },
  {
    head: 'id',
    isNumber: true,
    class: 'mono',
    cell: ({ id }) => (
      <a href={contextHref(id)} data-open>
        {id}
      </a>
    ),
  },
  { head: 'service', cell: (context) => <ServiceLink service={context} /> },
  { head: 'state', cell: ({ currentState }) => currentState },
]
