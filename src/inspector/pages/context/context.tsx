// inspector/pages: one context: where it is, why, what it can take, and what it has been through.
import type { Context } from 'hono'
import { rootOf } from '../../../api/call.ts'
import { CALLS } from '../../../api/calls.ts'
import type { ContextView } from '../../../api/contexts.ts'
import type { Rehearsed } from '../../../api/rehearsal.ts'
import type { Role } from '../../../model/caller.ts'
import { isFinished } from '../../../model/context.ts'
import { nullIf } from '../../../model/failure.ts'
import type { Drawing } from '../../diagram/drawing.ts'
import { diagram } from '../../diagram/svg.tsx'
import { controlsOf, inputOf } from '../../forms/controls.ts'
import { retryOptionsOf } from '../../forms/retry-fields.tsx'
import { Layout } from '../../layout.tsx'
import { copyable, factList, Section, tagLink } from '../../parts/blocks.tsx'
import { cut, cutBlock, jsonBlock, MAX_TEXT_CHARACTERS } from '../../parts/cut-text.tsx'
import { contextHref, contextsHref, fullNameOf, serviceHref } from '../../parts/links.tsx'
import { statusSign, toneOf } from '../../parts/status.tsx'
import { clockTime, isoOf } from '../../parts/time.tsx'
import type { PageRoutes, SentForm } from '../../routes.tsx'
import { Sentence } from '../../sentence.tsx'
import type { Viewer } from '../../viewer.ts'
import { rehearsalOf, rehearsalPage } from '../rehearsal.tsx'
import { canTake } from './can-take.tsx'
import { dataTab, stateValues } from './data.tsx'
import { staysOf } from './moves.ts'
import type { ShownContext } from './shown.ts'
import { steering, steeringLinks } from './steering.tsx'
import { timelineOf } from './timeline.tsx'

const TABS = ['Timeline', 'Data', 'Snapshot', 'Definition', 'JSON', 'XML'] as const
type Tab = (typeof TABS)[number]

/** Children that the timeline links to. */
const MAX_CHILDREN = 100

const PATH = '/contexts/:id{[1-9]\\d*}'

export function addContextPage(pages: PageRoutes): void {
  pages.get(PATH, (viewer, c) => page(pages, viewer, c))
  /** `about`: what the call of every form has. */
  const post = (
    name: string,
    role: Role,
    call: (form: SentForm, about: { readonly contextId: number }) => Promise<Rehearsed<object>>,
  ) =>
    pages.post(`${PATH}/${name}`, {
      role,
      async run(form) {
        const contextId = idOf(form.c)
        const rehearsal = rehearsalOf(form)
        const context = rehearsal && (await form.viewer.api.getContext({ contextId }))
        const version = context ? context.version : Number(form.text('$version')) || undefined
        const about = { contextId, version, idempotencyKey: form.idempotencyKey, ...rehearsal }
        const answer = await call(form, about)
        return context ? () => rehearsalPage(pages, form, answer, context) : contextHref(contextId)
      },
      again: (form, refusal) =>
        page(pages, form.viewer, form.c, { event: name === 'events' ? form.text('event') : null, refusal }),
    })
  post('events', 'invoke', async ({ viewer: { api }, text, values }, about) => {
    const event = text('event')
    const { events } = await api.getContextEvents(about)
    const controls = controlsOf(events.find((each) => each.event === event)?.input ?? {})
    return api.sendEvent({ ...about, event, input: inputOf(controls, values), untyped: true })
  })
  post('retry', 'admin', (form, about) => form.viewer.api.retry({ ...about, ...retryOptionsOf(form) }))
  for (const command of ['pause', 'resume'] as const)
    post(command, 'admin', ({ viewer: { api } }, about) => api[command](about))
  post('tags', 'invoke', ({ viewer: { api }, text }, about) =>
    api[text('do') === 'remove' ? 'removeTags' : 'addTags']({ ...about, tag: [text('tag')] }),
  )
  post('terminate', 'invoke', ({ viewer: { api } }, about) => api.terminate(about))
}

/** The id in the address. One that is too large is of no context, as the largest is. */
const idOf = (c: Context) => Math.min(Number(c.req.param('id')), Number.MAX_SAFE_INTEGER)

async function page(pages: PageRoutes, viewer: Viewer, c: Context, refused: ShownContext['refused'] = null) {
  const { api, now } = viewer
  const contextId = idOf(c)
  const tab = TABS.find((name) => name === c.req.query('tab')) ?? 'Timeline'
  const state = c.req.query('state')
  // The models say which values of the data are dates. The definition of an old context may be lost; the rest is shown.
  const resolved = tab === 'Data' || state !== undefined
  const [context, events, definition] = await Promise.all([
    api.getContext({ contextId, snapshot: tab === 'Snapshot' }),
    api.getContextEvents({ contextId }),
    api.getDefinition({ contextId, ...(resolved && { resolved }) }).catch(nullIf('notFound')),
  ])
  const drawing = definition && (await pages.drawingOf(context.definition, definition))
  const stays = staysOf(context, definition, now)
  const hrefOf = (name: string) => `${contextHref(contextId)}?state=${encodeURIComponent(name)}#state`
  const shown = { viewer, context, events, definition, stays, now, hrefOf, refused }
  const content = await tabContent(tab, shown, pages)
  const chosen = context.stateContexts.find(({ name }) => name === state)
  return (
    <Layout
      title={`${contextId} ${context.fluxName}`}
      place="Contexts"
      heading={
        <span class="crumbs">
          <a href={contextsHref({ fluxName: fullNameOf(context) })}>{context.package}</a> /{' '}
          <a href={serviceHref(context)}>{context.fluxName}</a> / <b>{String(contextId)}</b>
        </span>
      }
      aside={statusSign(context)}
      lead={leadOf(shown)}
      live={context.status === 'COMPLETED' ? undefined : `contextId=${contextId}`}
    >
      <div class="columns">
        <div class="side">
          {diagramOf(shown, drawing)}
          <nav class="tabs" aria-label="Views of the context">
            {TABS.map((name) => (
              <a href={contextHref(contextId, name)} aria-current={name === tab ? 'page' : undefined}>
                {name}
              </a>
            ))}
          </nav>
          <div class="side" data-part="tab">
            {content}
          </div>
        </div>
        <div class="side">
          {chosen && (
            <div id="state" class="box">
              {stateValues(shown, chosen)}
            </div>
          )}
          {canTake(shown, c.req.query('event'))}
          {steering(shown)}
          {factsOf(context)}
        </div>
      </div>
    </Layout>
  )
}

const leadOf = (shown: ShownContext) => (
  <>
    {staleNotice(shown)}
    <Sentence {...shown} />
    {shown.context.error?.stack !== undefined && (
      <details>
        <summary>Where it failed</summary>
        <pre>{shown.context.error.stack}</pre>
      </details>
    )}
    <div class="row">
      {steeringLinks(shown)}
      {shown.context.tags.map((tag) => tagLink(tag, contextsHref({ tag, status: 'all' })))}
    </div>
  </>
)

/** What has happened since a call was rehearsed that was refused now. */
function staleNotice({ refused, stays }: ShownContext) {
  const since = refused?.refusal.values.get('$since')
  if (since === undefined) return null
  const moves = stays.filter(({ at }) => at > Number(since))
  return (
    <div class="notice bad" role="alert">
      <p>{`Nothing was done: ${refused?.refusal.detail}. Moves since it was rehearsed: ${moves.length}`}</p>
      <ul>
        {moves.map(({ at, event, cause, state }) => (
          <li>
            {clockTime(at)} {event === null ? cause : <code>{event}</code>} → <b>{state}</b>
          </li>
        ))}
      </ul>
    </div>
  )
}

function diagramOf({ context, stays, now, hrefOf }: ShownContext, drawing: Drawing | null) {
  const { currentState: current, status, nextRun, startedAt } = context
  const hasEnded = isFinished(status)
  const wakes = nextRun === null || hasEnded ? null : { since: stays.at(-1)?.at ?? startedAt, at: nextRun, now }
  return (
    <div data-part="diagram">
      {drawing ? (
        diagram(
          drawing,
          { context: { current, tone: toneOf(status), stays, hasEnded, wakes }, hrefOf },
          `Diagram of ${fullNameOf(context)}, which is in ${current}`,
        )
      ) : (
        <p class="notice">Its diagram can't be drawn: the definition is too large, or can't be read.</p>
      )}
    </div>
  )
}

async function tabContent(tab: Tab, shown: ShownContext, { options }: PageRoutes) {
  const { context, definition, stays, viewer } = shown
  const { snapshot = {}, ...others } = context
  switch (tab) {
    case 'Timeline': {
      const children = {
        parent: context.id,
        status: 'all',
        order: 'desc',
        view: 'summary',
        limit: MAX_CHILDREN,
      } as const
      const { contexts } = stays.some(({ hasChild }) => hasChild)
        ? await viewer.api.listPage(children)
        : { contexts: [] }
      return timelineOf(shown, contexts)
    }
    case 'Data':
      return dataTab(shown)
    case 'Snapshot':
      return jsonBlock(snapshot)
    case 'Definition':
      return jsonBlock(definition ?? {})
    case 'JSON':
      return jsonBlock(others)
    case 'XML':
      return cutBlock(cut(options.xmlOf(context, rootOf(CALLS.getContext.answer)), MAX_TEXT_CHARACTERS))
  }
}

const factsOf = ({ id, key, startedAt, version, lastEvent, parent, child, pending }: ContextView) => (
  <Section id="facts" title="Facts" class="box" data-part="facts">
    {factList([
      ['id', copyable(String(id))],
      ['key', key && copyable(key)],
      ['started', <time datetime={isoOf(startedAt)}>{isoOf(startedAt)}</time>],
      ['version', version],
      ['last event', lastEvent && <code>{lastEvent.event}</code>],
      ['parent', relativeOf(parent)],
      ['child', relativeOf(child)],
      ['keeps', pending.length === 0 ? null : pending.map(({ event }) => event).join(', ')],
    ])}
  </Section>
)

const relativeOf = (relative: ContextView['parent']) =>
  relative && (
    <>
      <a href={contextHref(relative.contextId)}>{`${relative.fluxName ?? 'context'} ${relative.contextId}`}</a>
      {relative.state !== null && <small>{` in ${relative.state}`}</small>}
    </>
  )
