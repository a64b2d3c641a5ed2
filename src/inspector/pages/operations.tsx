// inspector/pages: how far an operation is, and the list of operations.
import type { FC } from 'hono/jsx'
import type { OperationView } from '../../api/operations.ts'
import { COMMANDS } from '../../api/commands.ts'
import { shellWord } from '../../model/start-command.ts'
import { Empty } from '../parts/command.tsx'
import { contextHref, contextsHref, operationHref } from '../parts/links.ts'
import { Older, Table, type Column } from '../parts/table.tsx'
import { durationText, When } from '../parts/time.tsx'
import { FormToken, Shell } from '../shell.tsx'
import { isShown, type Visitor } from '../visitor.ts'
import { countedContexts } from './many.tsx'

/** Of an operation, whoever asked for it. */
const NAMES: { readonly [name in OperationView['do']]: string } = {
  terminate: 'Terminate',
  tag: 'Tag',
  untag: 'Untag',
  event: 'Send an event to',
  retry: 'Retry',
  pause: 'Pause',
  resume: 'Resume',
  migrate: 'Migrate',
}

/** Class of each status, for its colour and sign. */
const TONES: { readonly [status in OperationView['status']]: string } = {
  running: 'running',
  done: 'completed',
  stopped: 'terminated',
}

const filterText = ({ filter }: OperationView): string =>
  Object.entries(filter)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(', ') || 'all that are unfinished'

/** Contexts that it is about: some may have come to match since it began. */
const meantBy = ({ matched, done }: OperationView): number => Math.max(matched, done)

const figure = (count: number): string => count.toLocaleString('en')

const Sign: FC<{ readonly status: OperationView['status'] }> = ({ status }) => (
  <span class={`status ${TONES[status]}`}>{status}</span>
)

interface OperationFacts {
  readonly visitor: Visitor
  readonly operation: OperationView
}

export const OperationPage: FC<OperationFacts> = ({ visitor, operation }) => {
  const { operationId, status } = operation
  const isRunning = status === 'running'
  return (
    <Shell title={`${NAMES[operation.do]} contexts`} place="Contexts" visitor={visitor} polls={isRunning}>
      <div class="side">
        <div class="head" data-part="run" data-ended={!isRunning}>
          <div class="row split">
            <h1>{`${NAMES[operation.do]} ${countedContexts(meantBy(operation))}`}</h1>
            <Sign status={status} />
          </div>
          <Progress operation={operation} now={visitor.now} />
          <p class="faint">{`Of those that match: ${filterText(operation)}`}</p>
        </div>
        {isRunning && isShown(visitor, COMMANDS[operation.do].role) && (
          <form method="post" action={`${operationHref(operationId)}/stop`} data-part="stop">
            <FormToken visitor={visitor} />
            <button type="submit">Stop</button>
          </form>
        )}
        <Errors operation={operation} />
      </div>
      <p class="row">
        <a href={operationHref()}>Operations</a>
        <a href={contextsHref({})}>All contexts</a>
      </p>
    </Shell>
  )
}

const Progress: FC<{ readonly operation: OperationView; readonly now: number }> = ({ operation, now }) => {
  const { done, changed, failed, status, startedAt, endedAt } = operation
  const isWhole = status === 'done'
  const most = Math.max(meantBy(operation), 1)
  return (
    <>
      <progress aria-label="Progress" value={isWhole ? 1 : done} max={isWhole ? 1 : most}>
        {`${done} of ${meantBy(operation)}`}
      </progress>
      <p class="sentence">
        {`${figure(done)} of ${figure(meantBy(operation))} done, ${figure(changed)} changed, ${figure(failed)} failed`}
        {endedAt === null ? '.' : `, in ${durationText(endedAt - startedAt)}.`}{' '}
        <small>
          Began <When at={startedAt} now={now} />
        </small>
      </p>
    </>
  )
}

const ERROR_COLUMNS: readonly Column<OperationView['errors'][number]>[] = [
  {
    head: 'id',
    isNumber: true,
    class: 'mono',
    cell: ({ contextId }) => <a href={contextHref(contextId)}>{contextId}</a>,
  },
  { head: 'why', cell: ({ detail }) => detail },
]

const Errors: FC<{ readonly operation: OperationView }> = ({ operation: { errors, failed } }) =>
  errors.length === 0 ? (
    <div data-part="errors" hidden />
  ) : (
    <section aria-labelledby="errors" data-part="errors">
      <h2 id="errors">{errors.length < failed ? `The first ${errors.length} that failed` : 'Failed'}</h2>
      <Table columns={ERROR_COLUMNS} rows={errors} idOf={({ contextId }) => `failed-${contextId}`} />
    </section>
  )

export const OperationsPage: FC<{
  readonly visitor: Visitor
  /** Newest first. */
  readonly operations: readonly OperationView[]
  /** Address of the next page; null: this is the last. */
  readonly next: string | null
  /** A service that is loaded, by its full name; null: there is none. */
  readonly service: string | null
}> = ({ visitor, operations, next, service }) => (
  <Shell title="Operations" place="Contexts" visitor={visitor} polls={operations.some(isUnderWay)}>
    <div class="head" data-part="head" data-ended={!operations.some(isUnderWay)}>
      <div class="row split">
        <h1>Operations</h1>
        <a href={contextsHref({})}>All contexts</a>
      </div>
      <p class="faint">What was done with many contexts at once. Each is kept for 7 days after its end.</p>
    </div>
    {operations.length === 0 ? (
      <Empty
        command={
          service === null
            ? undefined
            : `curl --json ${shellWord(JSON.stringify({ filter: { fluxName: service }, do: 'tag', with: { tags: ['audited'] } }))} ${visitor.origin}/flux-api/operations`
        }
      >
        No operation yet. Choose contexts in <a href={contextsHref({})}>their list</a>, or begin one with the API.
      </Empty>
    ) : (
      <Table
        columns={columnsAt(visitor.now)}
        rows={operations}
        idOf={({ operationId: id }) => `op-${id}`}
        part="rows"
      />
    )}
    <Older next={next} />
  </Shell>
)

const isUnderWay = ({ status }: OperationView): boolean => status === 'running'

const columnsAt = (now: number): readonly Column<OperationView>[] => [
  { head: 'status', cell: ({ status }) => <Sign status={status} /> },
  {
    head: 'what',
    cell: (operation) => (
      <a href={operationHref(operation.operationId)} data-open>
        {`${NAMES[operation.do]} ${countedContexts(meantBy(operation))}`}
      </a>
    ),
  },
  {
    head: 'of those that match',
    cell: (operation) => (
      <span class="cut" title={filterText(operation)}>
        {filterText(operation)}
      </span>
    ),
  },
  { head: 'done', isNumber: true, isLabelled: true, cell: ({ done }) => figure(done) },
  { head: 'changed', isNumber: true, isLabelled: true, cell: ({ changed }) => figure(changed) },
  { head: 'failed', isNumber: true, isLabelled: true, cell: ({ failed }) => figure(failed) },
  { head: 'began', isNumber: true, cell: ({ startedAt }) => <When at={startedAt} now={now} /> },
]
