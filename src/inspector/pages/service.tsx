// inspector/pages: one service: its diagram with how many contexts are in each state, and a form that starts one.
import type { Context } from 'hono'
import type { JsonObject } from '../../model/json/value.ts'
import type { ServicesView } from '../../api/services.ts'
import { notFound } from '../../model/failure.ts'
import { diagram } from '../diagram/svg.tsx'
import { controlsOf, inputOf } from '../forms/controls.ts'
import { inputFields, typedIn } from '../forms/fields.tsx'
import { Layout, PostForm } from '../layout.tsx'
import { Section } from '../parts/blocks.tsx'
import { jsonBlock } from '../parts/cut-text.tsx'
import { streamFilters } from '../forms/filters.tsx'
import { contextHref, contextsHref, fullNameOf, serviceHref } from '../parts/links.tsx'
import { figures, Table } from '../parts/table.tsx'
import type { PageRoutes, Refusal } from '../routes.tsx'
import type { Viewer } from '../viewer.ts'
import { rehearsalOf, rehearsalPage } from './rehearsal.tsx'

export function addServicePage(pages: PageRoutes): void {
  pages.get('/services/:package/:fluxName', (viewer, c) => page(pages, viewer, c))
  pages.post('/services/:package/:fluxName/start', {
    async run(form) {
      const { c, viewer, values, text, idempotencyKey } = form
      const { input: schema } = await viewer.api.getServiceSchema(nameOf(c))
      const rehearsal = rehearsalOf(form)
      const answer = await viewer.api.execute({
        ...nameOf(c),
        input: inputOf(controlsOf(schema), values),
        tags: text('tags')
          .split(',')
          .map((tag) => tag.trim())
          .filter((tag) => tag !== ''),
        key: text('key') || undefined,
        untyped: true,
        idempotencyKey,
        ...rehearsal,
      })
      return rehearsal ? () => rehearsalPage(pages, form, answer, null) : contextHref(answer.contextId)
    },
    again: ({ c, viewer }, refusal) => page(pages, viewer, c, refusal),
  })
}

const nameOf = (c: Context) => ({
  package: c.req.param('package') ?? '',
  fluxName: c.req.param('fluxName') ?? '',
})

/** `refusal`: of a start that was sent. */
async function page({ drawingOf }: PageRoutes, { api, may }: Viewer, c: Context, refusal: Refusal | null = null) {
  const named = nameOf(c)
  const name = fullNameOf(named)
  const [{ services }, { input }, definition, counted] = await Promise.all([
    api.listServices({}),
    api.getServiceSchema(named),
    api.getDefinition(named),
    api.countContexts({ fluxName: name, by: 'currentState' }),
  ])
  const service = services.find((each) => fullNameOf(each) === name)
  if (!service) throw notFound(`package '${named.package}' has no service '${named.fluxName}'`)
  const drawing = await drawingOf(service.definition, definition)
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
            {drawing ? diagram(drawing, { counts, hrefOf }, `Diagram of ${name}`) : stateList(service, counts, hrefOf)}
          </div>
          {startedBy(service)}
          <details>
            <summary>Definition</summary>
            {jsonBlock(definition)}
          </details>
        </div>
        {may('invoke') && startForm(`${serviceHref(service)}/start`, input, refusal)}
      </div>
    </Layout>
  )
}

const startForm = (action: string, schema: JsonObject, refusal: Refusal | null) => (
  <Section id="start" title="Start" class="box">
    <PostForm action={action} once submit="Start" rehearses>
      {inputFields(controlsOf(schema), refusal, 'start')}
      {textField('key', 'unique among the unfinished contexts; that of the definition if left empty', refusal)}
      {textField('tags', 'separated by commas', refusal)}
    </PostForm>
  </Section>
)

const textField = (name: string, hint: string, refusal: Refusal | null) => (
  <div class="field">
    <label for={`start-${name}`}>{name}</label>
    <input id={`start-${name}`} name={name} value={typedIn(refusal, name)} autocomplete="off" />
    <small>{hint}</small>
  </div>
)

type Service = ServicesView['services'][number]

const startedBy = ({ triggers, webhooks }: Service) =>
  triggers.length + webhooks.length > 0 && (
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

const stateList = ({ states }: Service, counts: ReadonlyMap<string, number>, hrefOf: (state: string) => string) => (
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
