// inspector/pages: what is due in the next hour and in the next day, as charts, and what comes first.
import type { ListedContext } from '../../api/context-lists.ts'
import { Layout } from '../layout.tsx'
import { Empty, faint } from '../parts/blocks.tsx'
import { contextIds, SERVICE, Table, times, type Column } from '../parts/table.tsx'
import { durationText } from '../parts/time.tsx'
import type { PageRoutes } from '../routes.tsx'
import type { Viewer } from '../viewer.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const RANGES = [
  { title: 'The next hour', ms: HOUR_MS, bars: 60, each: 'minute' },
  { title: 'The next day', ms: DAY_MS, bars: 48, each: 'half hour' },
]
const CHART = { width: 960, height: 120 }
const MAX_LISTED = 50
/** Contexts that are asked for at once. */
const STRIDE = 1000
/** Reads of contexts for the charts: each may end early, where contexts are large. */
const MAX_READS = 5

export function addWakeUpsPage(pages: PageRoutes): void {
  pages.get('/wake-ups', async (viewer) => {
    const { due, isCut } = await dueIn(viewer)
    const dueIns = due.map(({ nextRun }) => (nextRun ?? viewer.now) - viewer.now)
    const first = due.toSorted((one, other) => (one.nextRun ?? 0) - (other.nextRun ?? 0)).slice(0, MAX_LISTED)
    return (
      <Layout
        title="Wake-ups"
        lead={faint('Contexts that wait until a time, and when that is.')}
        live="status=WAITING_UNTIL"
      >
        {isCut && <p class="notice">There are more than these charts count.</p>}
        {due.length === 0 ? (
          <Empty>Nothing is due within a day. A transition with a "wait" makes a context wait until a time.</Empty>
        ) : (
          <div class="side" data-part="due">
            {RANGES.map((range) => chart(range, dueIns))}
            <section>
              <h2>First</h2>
              <Table columns={COLUMNS} rows={first} idOf={({ id }) => `due-${id}`} />
            </section>
          </div>
        )}
      </Layout>
    )
  })
}

async function dueIn({ api, now }: Viewer) {
  const due: ListedContext[] = []
  let after: number | null | undefined
  for (let reads = 0; reads < MAX_READS && after !== null; reads += 1) {
    const page = await api.listPage({
      status: ['WAITING_UNTIL'],
      dueBefore: now + DAY_MS,
      view: 'summary',
      limit: STRIDE,
      after,
    })
    due.push(...page.contexts)
    after = page.next
  }
  return { due, isCut: after !== null }
}

/** @param dueIns milliseconds from now */
function chart({ title, ms, bars, each }: (typeof RANGES)[number], dueIns: readonly number[]) {
  const counts = Array.from({ length: bars }, () => 0)
  for (const dueIn of dueIns) {
    const bar = Math.max(0, Math.floor((dueIn / ms) * bars))
    if (bar < bars) counts[bar] = (counts[bar] ?? 0) + 1
  }
  const most = Math.max(1, ...counts)
  const total = counts.reduce((sum, count) => sum + count, 0)
  const width = CHART.width / bars
  return (
    <section>
      <h2>{title}</h2>
      {faint(
        total === 0
          ? 'None is due'
          : `${total.toLocaleString('en')} due, at most ${most.toLocaleString('en')} in a ${each}`,
      )}
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

const COLUMNS: readonly Column<ListedContext>[] = [
  times('due', ({ nextRun }) => nextRun),
  contextIds(({ id }) => id),
  SERVICE,
  { head: 'state', cell: ({ currentState }) => currentState },
]
