// inspector/pages: what a form would do. Its call was rehearsed, so nothing has happened yet. The page has the button that
// does it, for the version of the context that was shown.
import type { ContextView } from '../../api/contexts.ts'
import type { Rehearsed, Would } from '../../api/rehearsal.ts'
import { nullIf } from '../../model/failure.ts'
import type { Json } from '../../model/json/value.ts'
import { diagram } from '../diagram/svg.tsx'
import { Options } from '../forms/fields.tsx'
import { Layout, PostForm } from '../layout.tsx'
import { factList, faint, Section } from '../parts/blocks.tsx'
import { jsonText } from '../parts/cut-text.tsx'
import { fullNameOf } from '../parts/links.tsx'
import { toneOf } from '../parts/status.tsx'
import { Table, type Column } from '../parts/table.tsx'
import type { PageRoutes, SentForm } from '../routes.tsx'
import { WouldSentence } from '../sentence.tsx'

/** The API cuts values above 1 KB. */
const MAX_VALUE_CHARACTERS = 2000
/** How long nothing else happens, in milliseconds. */
const WAITS = { 3_600_000: '1 h', 86_400_000: '1 d', 604_800_000: '7 d', 2_592_000_000: '30 d' }

/** For the call of a form: that it is only rehearsed, if that is what its button says. */
export const rehearsalOf = ({ values, text, viewer }: SentForm) =>
  values.has('$rehearse') && { dryRun: true, assume: { until: viewer.now + Number(text('$wait')) } }

/** `context`: as it was when the call was rehearsed; null: one would be started. */
export async function rehearsalPage(
  pages: PageRoutes,
  form: SentForm,
  { would = [] }: Rehearsed<object>,
  context: ContextView | null,
) {
  const { c, values, text } = form
  const action = new URL(c.req.url).pathname
  const verb = text('$rehearse')
  const own = would.find(({ contextId }) => contextId === (context?.id ?? null))
  return (
    <Layout
      title={`Rehearsal: ${verb}`}
      place="Contexts"
      lead={would.map((one) => (
        <WouldSentence would={one} />
      ))}
    >
      <div class="columns">
        <div class="side">{own && (await becoming(pages, form, own, context))}</div>
        <Section id="do" title="Nothing has happened yet" class="box">
          <PostForm
            action={action}
            once
            values={{
              ...Object.fromEntries([...values].filter(([name]) => !name.startsWith('$'))),
              ...(context && { $version: `${context.version}`, $since: `${context.updatedAt}` }),
            }}
            submit={verb}
            rehearses
            tone={verb === 'Terminate' ? 'danger' : 'primary'}
          >
            {context && faint(`It is done only if the context still has version ${context.version}.`)}
            <label class="row">
              Rehearse as if nothing else happened for
              <select name="$wait">
                <Options values={Object.keys(WAITS)} selected={text('$wait')} texts={WAITS} />
              </select>
            </label>
          </PostForm>
          <a href={action.slice(0, action.lastIndexOf('/'))}>Leave it as it is</a>
        </Section>
      </div>
    </Layout>
  )
}

/** The way of a context in its diagram, and what would change and start. */
async function becoming(
  { drawingOf }: PageRoutes,
  { viewer: { api }, values, text }: SentForm,
  one: Would,
  context: ContextView | null,
) {
  const { from, to, entered, status } = one
  const pinned = values.has('current') ? null : context
  const named = { package: one.package, fluxName: one.fluxName }
  const [{ definition: hash }, definition] = await Promise.all([
    pinned ?? api.getServiceSchema(named),
    api.getDefinition(pinned ? { contextId: pinned.id } : named).catch(nullIf('notFound')),
  ])
  const drawing = definition && (await drawingOf(hash, definition))
  const states = from === null ? entered : [from, ...entered]
  const sent = drawing?.edges.find(
    ({ edge: { kind, to: next, label } }) => kind === 'event' && next === entered[0] && label === text('event'),
  )
  const stays = states.map((state, index) => ({
    from: states[index - 1] ?? null,
    event: index === 1 ? sent?.edge.label : undefined,
    state,
  }))
  // As of one that has ended, nothing that may come after it is marked.
  const way = { current: to, tone: toneOf(status), stays, hasEnded: true, wakes: null }
  return (
    <>
      {drawing &&
        diagram(drawing, { context: way, hrefOf: () => '#changes' }, `The way of ${fullNameOf(named)} to ${to}`)}
      <Section id="changes" title="It would change">
        <Table columns={CHANGES} rows={one.changed} empty={faint('No data.')} />
      </Section>
      {factList([
        ...one.steps.map(({ state, kind, className, methodName, arguments: given }) =>
          begun(`starts in ${state}`, className ? `${className}.${methodName}` : kind, given),
        ),
        ...one.children.map((child) => begun('starts a child', fullNameOf(child), child.input)),
        ['sends its end to', one.onEnd],
      ])}
    </>
  )
}

const valueText = (value: Json) => (value === null ? '–' : <code>{jsonText(value, MAX_VALUE_CHARACTERS).text}</code>)

/** A row of what would start. */
const begun = (name: string, what: string, given: Json) =>
  [
    name,
    <>
      {what} {valueText(given)}
    </>,
  ] as const

const CHANGES: readonly Column<Would['changed'][number]>[] = [
  { head: 'what', class: 'lead', cell: ({ pointer }) => <code>{pointer}</code> },
  { head: 'from', isLabelled: true, cell: ({ from }) => valueText(from) },
  { head: 'to', isLabelled: true, cell: ({ to, cut }) => [valueText(to), cut && '…'] },
]
