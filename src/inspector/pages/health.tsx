// inspector/pages: how the server is, and those that share its store; and what failed in the last hour.
import type { FC } from 'hono/jsx'
import type { ServerHealth } from '../host.ts'
import { Empty } from '../parts/command.tsx'
import { contextsHref } from '../parts/links.ts'
import { Table, type Column } from '../parts/table.tsx'
import { cutText } from '../parts/texts.ts'
import { durationText } from '../parts/time.tsx'
import { Shell } from '../shell.tsx'
import type { Visitor } from '../visitor.ts'

export interface HealthFacts {
  readonly health: ServerHealth
  /** How many contexts failed in the last hour, by the type of their errors. */
  readonly errors: readonly { readonly type: string; readonly count: number; readonly message: string }[]
  /** Whether there are more errors than were counted. */
  readonly isCut: boolean
  /** Begin of that hour, epoch milliseconds. */
  readonly since: number
}

const KINDS = {
  code: 'functions',
  isolated: 'isolated functions',
  script: 'scripts',
  slowScript: 'slow scripts',
} as const

export const HealthPage: FC<HealthFacts & { readonly visitor: Visitor }> = ({ visitor, ...facts }) => {
  const { trouble, store, uptimeMs, lagMs, memoryBytes } = facts.health
  return (
    <Shell title="Health" place="Health" visitor={visitor} polls>
      <div class="head" data-part="head">
        <h1>Health</h1>
        <p class="sentence">
          {trouble === null ? (
            <span class="status completed">Serves</span>
          ) : (
            <>
              <span class="status failed">Can't serve</span>: {trouble}
            </>
          )}
        </p>
      </div>
      <div class="columns" data-part="health">
        <div class="side">
          <Errors {...facts} />
          <Steps steps={facts.health.steps} />
        </div>
        <div class="side">
          <section class="box">
            <h2>This server</h2>
            <dl>
              {visitor.caller.roles.length > 0 && (
                <>
                  <dt>store</dt>
                  <dd>{store}</dd>
                </>
              )}
              <dt>runs since</dt>
              <dd>{durationText(uptimeMs)}</dd>
              <dt>lag (p99)</dt>
              <dd>{durationText(lagMs)}</dd>
              <dt>memory</dt>
              <dd>{`${Math.round(memoryBytes / 1_048_576)} MB`}</dd>
            </dl>
          </section>
          <Servers health={facts.health} />
        </div>
      </div>
    </Shell>
  )
}

const Errors: FC<HealthFacts> = ({ errors, isCut, since }) => (
  <section aria-labelledby="errors">
    <h2 id="errors">Failed in the last hour</h2>
    {errors.length === 0 ? (
      <Empty>No context failed.</Empty>
    ) : (
      <Table columns={errorColumns(since)} rows={errors} idOf={({ type }) => `error-${type}`} />
    )}
    {isCut && <p class="faint">There are more: only the newest were counted.</p>}
  </section>
)

/** Characters of a message that a row shows. */
const MAX_MESSAGE_CHARACTERS = 200

const errorColumns = (since: number): readonly Column<HealthFacts['errors'][number]>[] => [
  {
    head: 'error',
    cell: ({ type }) => (
      <a href={contextsHref({ status: 'FAILED', errorType: type, endedAfter: String(since) })}>{type}</a>
    ),
  },
  { head: 'contexts', isNumber: true, isLabelled: true, cell: ({ count }) => count.toLocaleString('en') },
  {
    head: 'for example',
    cell: ({ message }) => <code title={message}>{cutText(message, MAX_MESSAGE_CHARACTERS)}</code>,
  },
]

const STEP_COLUMNS: readonly Column<ServerHealth['steps'][number]>[] = [
  { head: 'kind', class: 'lead', cell: ({ kind }) => KINDS[kind] },
  { head: 'run', isNumber: true, isLabelled: true, cell: ({ taken }) => taken },
  { head: 'at most', isNumber: true, isLabelled: true, cell: ({ slots }) => slots },
  { head: 'wait', isNumber: true, isLabelled: true, cell: ({ waiting }) => waiting },
]

const Steps: FC<{ readonly steps: ServerHealth['steps'] }> = ({ steps }) => (
  <section aria-labelledby="steps">
    <h2 id="steps">Steps under way on this server</h2>
    <Table columns={STEP_COLUMNS} rows={steps} />
  </section>
)

const Servers: FC<{ readonly health: ServerHealth }> = ({ health: { servers, runId } }) => (
  <section class="box">
    <h2>Servers</h2>
    {servers.length === 0 ? (
      <p class="faint">This one alone: its store is embedded.</p>
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
  </section>
)
