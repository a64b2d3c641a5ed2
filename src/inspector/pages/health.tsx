// inspector/pages: how the server is, and those that share its store; and what failed in the last hour.
import type { ServerHealth } from '../host.ts'
import { Layout } from '../layout.tsx'
import { Empty, factList, faint, Section } from '../parts/blocks.tsx'
import { contextsHref } from '../parts/links.tsx'
import { figures, Table, type Column } from '../parts/table.tsx'
import { cutText } from '../parts/texts.ts'
import { durationText } from '../parts/time.tsx'
import type { PageRoutes } from '../routes.tsx'
import type { Viewer } from '../viewer.ts'

const HOUR_MS = 3_600_000
/** Failed contexts that are read. */
const MAX_FAILED = 1000
/** Characters of a message that a row shows. */
const MAX_MESSAGE_CHARACTERS = 200

export function addHealthPage(pages: PageRoutes): void {
  pages.get('/health', async (viewer) => {
    const [health, { errors, isCut }] = await Promise.all([pages.options.health(), failedIn(viewer)])
    const { trouble, store, uptimeMs, lagMs, memoryBytes, steps } = health
    return (
      <Layout
        title="Health"
        lead={
          <p class="sentence">
            {trouble === null ? (
              <span class="status completed">Serves</span>
            ) : (
              <>
                <span class="status failed">Can't serve</span>: {trouble}
              </>
            )}
          </p>
        }
        polls
      >
        <div class="columns" data-part="health">
          <div class="side">
            <Section id="errors" title="Failed in the last hour">
              <Table
                columns={ERROR_COLUMNS}
                rows={errors}
                idOf={({ type }) => `error-${type}`}
                empty={<Empty>No context failed.</Empty>}
              />
              {isCut && faint('There are more: only the newest were counted.')}
            </Section>
            <Section id="steps" title="Steps under way on this server">
              <Table columns={STEP_COLUMNS} rows={steps} />
            </Section>
          </div>
          <div class="side">
            <Section id="server" title="This server" class="box">
              {factList([
                ['store', viewer.caller.roles.length > 0 ? store : null],
                ['runs since', durationText(uptimeMs)],
                ['lag (p99)', durationText(lagMs)],
                ['memory', `${Math.round(memoryBytes / 1_048_576)} MB`],
              ])}
            </Section>
            {serverList(health)}
          </div>
        </div>
      </Layout>
    )
  })
}

const serverList = ({ servers, runId }: ServerHealth) => (
  <Section id="servers" title="Servers" class="box">
    {servers.length === 0 ? (
      faint('This one alone: its store is embedded.')
    ) : (
      <ul>
        {servers.map((server) => (
          <li>
            <code class="cut">{server.runId}</code>{' '}
            <small>{server.runId === runId ? 'this one' : `heard ${durationText(server.silentMs)} ago`}</small>
          </li>
        ))}
      </ul>
    )}
  </Section>
)

/** Contexts that failed with errors of one type. */
interface FailedType {
  readonly type: string
  count: number
  /** Message of the newest. */
  readonly message: string
  /** Address of their list. */
  readonly href: string
}

/** In the last hour, the most frequent first. */
async function failedIn({ api, now }: Viewer) {
  const endedAfter = now - HOUR_MS
  const { contexts, next } = await api.listPage({
    status: 'FAILED',
    endedAfter,
    order: 'desc',
    view: 'summary',
    limit: MAX_FAILED,
  })
  const errors = new Map<string, FailedType>()
  for (const { error } of contexts) {
    if (!error) continue
    const { type, message } = error
    const href = contextsHref({ status: 'FAILED', errorType: type, endedAfter: String(endedAfter) })
    const known = errors.get(type) ?? { type, count: 0, message, href }
    known.count += 1
    errors.set(type, known)
  }
  return { errors: [...errors.values()].toSorted((one, other) => other.count - one.count), isCut: next !== null }
}

const ERROR_COLUMNS: readonly Column<FailedType>[] = [
  { head: 'error', cell: ({ type, href }) => <a href={href}>{type}</a> },
  figures('contexts', ({ count }) => count),
  {
    head: 'for example',
    cell: ({ message }) => <code title={message}>{cutText(message, MAX_MESSAGE_CHARACTERS)}</code>,
  },
]

const KINDS = { code: 'functions', isolated: 'isolated functions', script: 'scripts' }

const STEP_COLUMNS: readonly Column<ServerHealth['steps'][number]>[] = [
  { head: 'kind', class: 'lead', cell: ({ kind }) => KINDS[kind] },
  figures('run', ({ taken }) => taken),
  figures('at most', ({ slots }) => slots),
  figures('wait', ({ waiting }) => waiting),
]
