// inspector/pages: one service: its diagram with how many contexts are in each state, and a form that starts one.
import type { Context } from 'hono'
import type { FC } from 'hono/jsx'
import type { ServicesView } from '../../api/services.ts'
import { notFound } from '../../model/failure.ts'
import { Diagram } from '../diagram/svg.tsx'
import { controlsOf, typedInput, type Control } from '../forms/controls.ts'
import { InputFields, typedIn } from '../forms/fields.tsx'
import { Layout, PostForm } from '../layout.tsx'
import { Section } from '../parts/blocks.tsx'
import { JsonBlock } from '../parts/cut-text.tsx'
import { streamFilters } from '../forms/filters.tsx'
import { contextHref, contextsHref, fullNameOf, serviceHref } from '../parts/links.tsx'
import { figures, Table } from '../parts/table.tsx'
import type { PageRoutes, Refusal } from '../routes.tsx'
import type { Viewer } from '../viewer.ts'

export function addServicePage(pages: PageRoutes): void {
  pages.get('/services/:package/:fluxName', 'large', (viewer, c) => page(pages, viewer, nameOf(c)))
  pages.post('/services/:package/:fluxName/start', {
    async run({ c, viewer: { api }, values, text, idempotencyKey }) {
      const { input: schema } = await api.getServiceSchema(nameOf(c))
      const { contextId } = await api.execute({
        ...nameOf(c),
        input: typedInput(schema, values),
        tags: text('tags')
          .split(',')
          .map((tag) => tag.trim())
          .filter((tag) => tag !== ''),
        key: text('key') || undefined,
        untyped: true,
        idempotencyKey,
      })
      return contextHref(contextId)
    },
    again: ({ c, viewer }, refusal) => page(pages, viewer, nameOf(c), refusal),
  })
}

interface Name {
  readonly package: string
  readonly fluxName: string
}

const nameOf = (c: Context): Name => ({
  package: c.req.param('package') ?? '',
  fluxName: c.req.param('fluxName') ?? '',
})

/** `refusal`: of a start that was sent. */
async function page({ drawings }: PageRoutes, { api, may }: Viewer, named: Name, refusal: Refusal | null = null) {
  const name = fullNameOf(named)
  const [{ services }, { input }, definition, counted] = await Promise.all([
    api.listServices({}),
    api.getServiceSchema(named),
    api.getDefinition(named),
    api.countContexts({ fluxName: name, by: 'currentState' }),
  ])
  const service = services.find((each) => fullNameOf(each) === name)
  if (!service) throw notFound(`package '${named.package}' has no service '${named.fluxName}'`)
  const drawing = await drawings.of(service.definition, definition)
  const counts = new Map(Object.entries(counted.counts))
  const hrefOf = (currentState: string) => contextsHref({ fluxName: name, currentState })
  return (
    <Layout
      title={name}
      place="Services"
      heading={
        <span class="crumbs">
          {service.package} / <b>{service.fluxName}</b>
        </span>
      }
      lead={
        <>
          {service.comment !== null && <p class="comment">{service.comment}</p>}
          <p class="row faint">
            <a href={contextsHref({ fluxName: name })}>Unfinished contexts</a>
            <a href={contextsHref({ fluxName: name, status: 'all' })}>All that are kept</a>
            <code>{service.file}</code>
          </p>
        </>
      }
      live={streamFilters({ fluxName: name })}
    >
      <div class="columns">
        <div class="side">
          <div data-part="diagram">
            {drawing ? (
              <Diagram drawing={drawing} marks={{ counts, hrefOf }} label={`Diagram of ${name}`} />
            ) : (
              <StateList states={service.states} counts={counts} hrefOf={hrefOf} />
            )}
          </div>
          <StartedBy {...service} />
          <details>
            <summary>Definition</summary>
            <JsonBlock value={definition} />
          </details>
        </div>
        {may('invoke') && (
          <StartForm action={`${serviceHref(service)}/start`} controls={controlsOf(input)} refusal={refusal} />
        )}
      </div>
    </Layout>
  )
}

interface StartFormProps {
  readonly action: string
  readonly controls: readonly Control[]
  readonly refusal: Refusal | null
}

const StartForm: FC<StartFormProps> = ({ action, controls, refusal }) => (
  <Section id="start" title="Start" class="box">
    <PostForm action={action} once submit="Start">
      <InputFields controls={controls} refusal={refusal} prefix="start" />
      <div class="field">
        <label for="start-key">key</label>
        <input id="start-key" name="key" value={typedIn(refusal, 'key')} autocomplete="off" />
        <small>unique among the unfinished contexts; that of the definition if left empty</small>
      </div>
      <div class="field">
        <label for="start-tags">tags</label>
        <input id="start-tags" name="tags" value={typedIn(refusal, 'tags')} autocomplete="off" />
        <small>separated by commas</small>
      </div>
    </PostForm>
  </Section>
)

const StartedBy: FC<ServicesView['services'][number]> = ({ triggers, webhooks }) =>
  triggers.length === 0 && webhooks.length === 0 ? null : (
    <section>
      <h2>Started by</h2>
      <ul>
        {triggers.map((trigger) => (
          <li>
            event <code>{typeof trigger === 'string' ? trigger : JSON.stringify(trigger)}</code>
          </li>
        ))}
        {webhooks.map(({ urlPath, httpMethods }) => (
          <li>
            <code>{`${Array.isArray(httpMethods) ? httpMethods.join('/') : 'POST'} /api${String(urlPath)}`}</code>{' '}
            <a href={`/inspector/deliveries?urlPath=${encodeURIComponent(String(urlPath))}`}>deliveries</a>
          </li>
        ))}
      </ul>
    </section>
  )

/** States of a list. */
const MAX_LISTED = 1000

interface StateListProps {
  readonly states: readonly string[]
  readonly counts: ReadonlyMap<string, number>
  readonly hrefOf: (state: string) => string
}

const StateList: FC<StateListProps> = ({ states, counts, hrefOf }) => (
  <section class="box tall" tabindex={0} aria-label="States">
    <p class="faint">
      {`It is too large to be drawn: its ${states.length} states as a list.`}
      {states.length > MAX_LISTED && ` The first ${MAX_LISTED} are shown.`}
    </p>
    <Table
      columns={[
        { head: 'state', cell: (name) => <a href={hrefOf(name)}>{name}</a> },
        figures<string>('contexts', (name) => counts.get(name) ?? 0),
      ]}
      rows={states.slice(0, MAX_LISTED)}
    />
  </section>
)
