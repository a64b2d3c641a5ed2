// inspector/pages: how far an operation is, and the list of operations.
import { COMMANDS, type CommandName } from '../../api/commands.ts'
import type { OperationView } from '../../api/operations.ts'
import { nullIf } from '../../model/failure.ts'
import { shellWord } from '../../model/start-command.ts'
import { Layout, PostForm } from '../layout.tsx'
import { cutLine, Empty, faint, Section } from '../parts/blocks.tsx'
import { filterText } from '../forms/filters.tsx'
import { contextsHref, fullNameOf, operationHref } from '../parts/links.tsx'
import { contextIds, figures, Table, times, type Column } from '../parts/table.tsx'
import { durationText, When } from '../parts/time.tsx'
import { checkRole, type PageRoutes } from '../routes.tsx'
import type { Viewer } from '../viewer.ts'

/** What is done with contexts, in words. */
export const VERBS: { readonly [command in CommandName]: string } = {
  terminate: 'Terminate',
  tag: 'Tag',
  untag: 'Untag',
  event: 'Send an event to',
  retry: 'Retry',
  pause: 'Pause',
  resume: 'Resume',
  migrate: 'Migrate',
}

const figure = (count: number) => count.toLocaleString('en')

export const countedContexts = (count: number): string => (count === 1 ? '1 context' : `${figure(count)} contexts`)

const PAGE_LIMIT = 50

export function addOperationPages(pages: PageRoutes): void {
  pages.get('/operations', (viewer, c) => list(viewer, c.req.query('after')))
  pages.get('/operations/:id', async (viewer, c) =>
    operationPage(viewer, await viewer.api.getOperation({ operationId: c.req.param('id') ?? '' })),
  )
  pages.post('/operations/:id/stop', {
    async run({ c, viewer }) {
      const operationId = c.req.param('id') ?? ''
      const operation = await viewer.api.getOperation({ operationId })
      checkRole(viewer, COMMANDS[operation.do].role)
      // One that is done meanwhile shows that.
      if (isRunning(operation)) await viewer.api.stopOperation({ operationId }).catch(nullIf('conflict'))
      return operationHref(operationId)
    },
  })
}

const isRunning = ({ status }: OperationView) => status === 'running'

/** Class of each status, for its colour and sign. */
const TONES = { running: 'running', done: 'completed', stopped: 'terminated' }

const signOf = ({ status }: OperationView) => <span class={`status ${TONES[status]}`}>{status}</span>

/** Contexts that it is about: some may have come to match since it began. */
const sizeOf = ({ matched, done }: OperationView) => Math.max(matched, done)

const titleOf = (operation: OperationView) => `${VERBS[operation.do]} ${countedContexts(sizeOf(operation))}`

function operationPage({ may }: Viewer, operation: OperationView) {
  const { operationId, errors, failed } = operation
  return (
    <Layout
      title={titleOf(operation)}
      place="Contexts"
      aside={signOf(operation)}
      lead={
        <>
          {progressOf(operation)}
          {faint(`Of those that match: ${filterText(operation.filter)}`)}
        </>
      }
      polls={isRunning(operation)}
    >
      {isRunning(operation) && may(COMMANDS[operation.do].role) && (
        <PostForm action={`${operationHref(operationId)}/stop`} submit="Stop" tone="plain" data-part="stop" />
      )}
      <div data-part="errors" hidden={errors.length === 0}>
        <Section id="errors" title={errors.length < failed ? `The first ${errors.length} that failed` : 'Failed'}>
          <Table columns={ERROR_COLUMNS} rows={errors} idOf={({ contextId }) => `failed-${contextId}`} />
        </Section>
      </div>
      <p class="row">
        <a href={operationHref()}>Operations</a>
        <a href={contextsHref()}>All contexts</a>
      </p>
    </Layout>
  )
}

function progressOf(operation: OperationView) {
  const { status, done, changed, failed, startedAt, endedAt } = operation
  const size = sizeOf(operation)
  const took = endedAt === null ? '' : `, in ${durationText(endedAt - startedAt)}`
  return (
    <>
      <progress aria-label="Progress" value={status === 'done' ? size || 1 : done} max={size || 1}>
        {`${done} of ${size}`}
      </progress>
      <p class="sentence">
        {`${figure(done)} of ${figure(size)} done, ${figure(changed)} changed, ${figure(failed)} failed${took}.`}{' '}
        <small>
          Began <When at={startedAt} />
        </small>
      </p>
    </>
  )
}

const ERROR_COLUMNS: readonly Column<OperationView['errors'][number]>[] = [
  contextIds(({ contextId }) => contextId),
  { head: 'why', cell: ({ detail }) => detail },
]

/** The API lists the last 1,000 of them; a page goes on behind one. */
async function list({ api, origin }: Viewer, after: string | undefined) {
  const all = await api.listOperations()
  const from = after === undefined ? 0 : all.findIndex(({ operationId }) => operationId === after) + 1
  const operations = all.slice(from, from + PAGE_LIMIT)
  const last = all.length > from + PAGE_LIMIT ? operations.at(-1) : undefined
  const [service] = all.length > 0 ? [] : (await api.listServices({})).services
  const example = service && { filter: { fluxName: fullNameOf(service) }, do: 'tag', with: { tags: ['audited'] } }
  return (
    <Layout
      title="Operations"
      place="Contexts"
      aside={<a href={contextsHref()}>All contexts</a>}
      lead={faint('What was done with many contexts at once. Each is kept for 7 days after its end.')}
      polls={operations.some(isRunning)}
    >
      <Table
        columns={COLUMNS}
        rows={operations}
        idOf={({ operationId }) => `op-${operationId}`}
        part="rows"
        next={last ? `${operationHref()}?after=${encodeURIComponent(last.operationId)}` : null}
        empty={
          <Empty command={example && `curl --json ${shellWord(JSON.stringify(example))} ${origin}/flux-api/operations`}>
            No operation yet. Choose contexts in <a href={contextsHref()}>their list</a>, or begin one with the API.
          </Empty>
        }
      />
    </Layout>
  )
}

const COLUMNS: readonly Column<OperationView>[] = [
  { head: 'status', cell: signOf },
  {
    head: 'what',
    cell: (operation) => (
      <a href={operationHref(operation.operationId)} data-open>
        {titleOf(operation)}
      </a>
    ),
  },
  { head: 'of those that match', cell: ({ filter }) => cutLine(filterText(filter)) },
  figures('done', ({ done }) => done),
  figures('changed', ({ changed }) => changed),
  figures('failed', ({ failed }) => failed),
  times('began', ({ startedAt }) => startedAt),
]
