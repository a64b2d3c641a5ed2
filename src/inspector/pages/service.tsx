// inspector/pages: one service: its diagram with how many contexts are in each state, and a form that starts one.
import type { FC } from 'hono/jsx'
import type { ServiceSchemaView, ServicesView } from '../../api/services.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { Drawing } from '../diagram/drawing.ts'
import { Diagram } from '../diagram/svg.tsx'
import { controlsOf } from '../forms/controls.ts'
import { InputFields, RefusalNotice, type Refusal } from '../forms/fields.tsx'
import { JsonBlock } from '../parts/cut-text.tsx'
import { contextsHref, fullNameOf, serviceHref, streamFilters } from '../parts/links.ts'
import { Table } from '../parts/table.tsx'
import { FormToken, OnceToken, Shell } from '../shell.tsx'
import type { Visitor } from '../visitor.ts'

export interface ServiceFacts {
  readonly service: ServicesView['services'][number]
  readonly schema: ServiceSchemaView
  readonly definition: JsonObject
  readonly drawing: Drawing | null
  /** Unfinished contexts in each state. */
  readonly counts: ReadonlyMap<string, number>
}

/** `refusal`: of a start that was sent. */
export const ServicePage: FC<ServiceFacts & { readonly visitor: Visitor; readonly refusal: Refusal | null }> = ({
  visitor,
  service,
  schema,
  definition,
  drawing,
  counts,
  refusal,
}) => {
  const { package: owner, fluxName, comment, states, file } = service
  const name = fullNameOf(service)
  const hrefOf = (currentState: string) => contextsHref({ fluxName: name, currentState })
  return (
    <Shell title={name} place="Services" visitor={visitor} live={streamFilters({ fluxName: name })}>
      <div class="head">
        <h1 class="crumbs">
          {owner} / <b>{fluxName}</b>
        </h1>
        {comment !== null && <p class="comment">{comment}</p>}
        <p class="row faint" data-part="counts">
          <a href={contextsHref({ fluxName: name })}>Unfinished contexts</a>
          <a href={contextsHref({ fluxName: name, status: 'all' })}>All that are kept</a>
          <code>{file}</code>
        </p>
      </div>
      <div class="columns">
        <div class="side">
          <div data-part="diagram">
            {drawing ? (
              <Diagram drawing={drawing} marks={{ counts, hrefOf }} label={`Diagram of ${name}`} />
            ) : (
              <StateList states={states} counts={counts} hrefOf={hrefOf} />
            )}
          </div>
          <StartedBy service={service} />
          <details>
            <summary>Definition</summary>
            <JsonBlock value={definition} />
          </details>
        </div>
        {visitor.mayInvoke && <StartForm visitor={visitor} service={service} schema={schema} refusal={refusal} />}
      </div>
    </Shell>
  )
}

const StartForm: FC<{
  readonly visitor: Visitor
  readonly service: ServiceFacts['service']
  readonly schema: ServiceSchemaView
  readonly refusal: Refusal | null
}> = ({ visitor, service, schema, refusal }) => {
  const controls = controlsOf(schema.input)
  return (
    <section class="box" aria-labelledby="start">
      <h2 id="start">Start</h2>
      <form class="stack" method="post" action={`${serviceHref(service.package, service.fluxName)}/start`}>
        <FormToken visitor={visitor} />
        <OnceToken />
        <RefusalNotice refusal={refusal} controls={controls} />
        <InputFields controls={controls} refusal={refusal} prefix="start" />
        <div class="field">
          <label for="start-key">key</label>
          <input id="start-key" name="key" value={refusal?.values.get('key')?.[0] ?? ''} autocomplete="off" />
          <small>unique among the unfinished contexts; that of the definition if left empty</small>
        </div>
        <div class="field">
          <label for="start-tags">tags</label>
          <input id="start-tags" name="tags" value={refusal?.values.get('tags')?.[0] ?? ''} autocomplete="off" />
          <small>separated by commas</small>
        </div>
        <div>
          <button class="primary" type="submit">
            Start
          </button>
        </div>
      </form>
    </section>
  )
}

const StartedBy: FC<{ readonly service: ServiceFacts['service'] }> = ({ service: { triggers, webhooks } }) => {
  if (triggers.length === 0 && webhooks.length === 0) return null
  return (
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
}

/** States of a list. */
const MAX_LISTED = 1000

const StateList: FC<{
  readonly states: readonly string[]
  readonly counts: ReadonlyMap<string, number>
  readonly hrefOf: (state: string) => string
}> = ({ states, counts, hrefOf }) => (
  <section class="box tall" tabindex={0} aria-label="States">
    <p class="faint">
      {`It is too large to be drawn: its ${states.length} states as a list.`}
      {states.length > MAX_LISTED && ` The first ${MAX_LISTED} are shown.`}
    </p>
    <Table
      columns={[
        { head: 'state', cell: (name) => <a href={hrefOf(name)}>{name}</a> },
        { head: 'contexts', isNumber: true, isLabelled: true, cell: (name) => counts.get(name) ?? 0 },
      ]}
      rows={states.slice(0, MAX_LISTED)}
    />
  </section>
)
