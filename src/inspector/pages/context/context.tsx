// inspector/pages: one context: where it is, why, what it can take, and what it has been through.
import type { Context } from 'hono'
import type { FC } from 'hono/jsx'
import { rootOf } from '../../../api/call.ts'
import { CALLS } from '../../../api/calls.ts'
import type { ContextView } from '../../../api/contexts.ts'
import type { Role } from '../../../model/caller.ts'
import { isFinished } from '../../../model/context.ts'
import { FluxError, notFound } from '../../../model/failure.ts'
import type { Drawing } from '../../diagram/drawing.ts'
import { Diagram, moveKey } from '../../diagram/svg.tsx'
import { typedInput } from '../../forms/controls.ts'
import { retryOptionsOf } from '../../forms/retry-fields.tsx'
import { Layout } from '../../layout.tsx'
import { Copyable, Facts, Section, Tag } from '../../parts/blocks.tsx'
import { cut, CutText, JsonBlock, MAX_TEXT_CHARACTERS } from '../../parts/cut-text.tsx'
import { contextHref, contextsHref, fullNameOf, serviceHref } from '../../parts/links.tsx'
import { StatusSign, toneOf } from '../../parts/status.tsx'
import { isoOf } from '../../parts/time.tsx'
import type { PageRoutes, SentForm } from '../../routes.tsx'
import { Sentence, situationOf } from '../../sentence.tsx'
import { useViewer, type Viewer } from '../../viewer.ts'
import { CanTake } from './can-take.tsx'
import { DataTab, StateValues } from './data.tsx'
import { staysOf } from './moves.ts'
import type { ShownContext } from './shown.ts'
import { Steering, SteeringLinks } from './steering.tsx'
import { Timeline } from './timeline.tsx'

const TABS = ['Timeline', 'Data', 'Snapshot', 'Definition', 'JSON', 'XML'] as const
type Tab = (typeof TABS)[number]

/** Children that the timeline links to. */
const MAX_CHILDREN = 100

export function addContextPage(pages: PageRoutes): void {
  pages.get('/contexts/:id', 'large', (viewer, c) => page(pages, viewer, c))
  const post = (name: string, role: Role, call: (form: SentForm, contextId: number) => Promise<unknown>) =>
    pages.post(`/contexts/:id/${name}`, {
      role,
      async run(form) {
        await call(form, idOf(form.c))
        return contextHref(idOf(form.c))
      },
      again: (form, refusal) =>
        page(pages, form.viewer, form.c, { event: name === 'events' ? form.text('event') : null, refusal }),
    })
  post('events', 'invoke', async ({ viewer: { api }, text, values, idempotencyKey }, contextId) => {
    const event = text('event')
    const { events } = await api.getContextEvents({ contextId })
    const schema = events.find((each) => each.event === event)?.input ?? {}
    await api.sendEvent({ contextId, event, input: typedInput(schema, values), untyped: true, idempotencyKey })
  })
  post('retry', 'admin', (form, contextId) =>
    form.viewer.api.retry({ contextId, ...retryOptionsOf(form), idempotencyKey: form.idempotencyKey }),
  )
  for (const command of ['pause', 'resume'] as const)
    post(command, 'admin', ({ viewer: { api }, idempotencyKey }, contextId) =>
      api[command]({ contextId, idempotencyKey }),
    )
  post('tags', 'invoke', ({ viewer: { api }, text }, contextId) =>
    api[text('do') === 'remove' ? 'removeTags' : 'addTags']({ contextId, tag: [text('tag')] }),
  )
  post('terminate', 'invoke', ({ viewer: { api } }, contextId) => api.terminate({ contextId }))
}

/** @throws FluxError `notFound` for what is no id */
function idOf(c: Context): number {
  const text = c.req.param('id') ?? ''
  const id = /^\d{1,16}$/.test(text) ? Number(text) : 0
  if (id < 1 || !Number.isSafeInteger(id)) throw notFound(`there is no context ${text}`)
  return id
}

/** The definition of an old context may be lost; the rest is shown all the same. */
function nullIfLost(error: unknown): null {
  if (error instanceof FluxError && error.failure.kind === 'notFound') return null
  throw error
}

async function page(pages: PageRoutes, viewer: Viewer, c: Context, refused: ShownContext['refused'] = null) {
  const { api } = viewer
  const contextId = idOf(c)
  const tab = TABS.find((name) => name === c.req.query('tab')) ?? 'Timeline'
  const state = c.req.query('state')
  // The models say which values of the data are dates.
  const resolved = tab === 'Data' || state !== undefined
  const [context, events, definition] = await Promise.all([
    api.getContext({ contextId, snapshot: tab === 'Snapshot' }),
    api.getContextEvents({ contextId }),
    api.getDefinition({ contextId, ...(resolved && { resolved }) }).catch(nullIfLost),
  ])
  const drawing = definition && (await pages.drawings.of(context.definition, definition))
  const stays = staysOf(context, definition, viewer.now)
  const hrefOf = (name: string) => `${contextHref(contextId)}?state=${encodeURIComponent(name)}#state`
  const shown = { context, events, definition, stays, hrefOf, refused }
  const content = await tabContent(tab, shown, pages, viewer)
  const chosen = context.stateContexts.find(({ name }) => name === state)
  return (
    <Layout
      title={`${contextId} ${context.fluxName}`}
      place="Contexts"
      heading={<Crumbs {...context} />}
      aside={<StatusSign {...context} />}
      lead={<Lead {...shown} />}
      live={context.status === 'COMPLETED' ? undefined : `contextId=${contextId}`}
    >
      <div class="columns">
        <div class="side">
          <ContextDiagram {...shown} drawing={drawing} />
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
              <StateValues {...shown} state={chosen} />
            </div>
          )}
          <CanTake {...shown} asked={c.req.query('event') ?? null} />
          <Steering {...shown} />
          <ContextFacts {...context} />
        </div>
      </div>
    </Layout>
  )
}

const Crumbs: FC<ContextView> = (context) => (
  <span class="crumbs">
    <a href={contextsHref({ fluxName: fullNameOf(context) })}>{context.package}</a> /{' '}
    <a href={serviceHref(context)}>{context.fluxName}</a> / <b>{String(context.id)}</b>
  </span>
)

const Lead: FC<ShownContext> = ({ context, events, definition }) => (
  <>
    <Sentence {...situationOf(context, events, { definition, now: useViewer().now })} />
    {context.error?.stack !== undefined && (
      <details>
        <summary>Where it failed</summary>
        <pre>{context.error.stack}</pre>
      </details>
    )}
    <div class="row">
      <SteeringLinks {...context} />
      {context.tags.map((tag) => (
        <Tag tag={tag} href={contextsHref({ tag, status: 'all' })} />
      ))}
    </div>
  </>
)

type DiagramProps = ShownContext & { readonly drawing: Drawing | null }

const ContextDiagram: FC<DiagramProps> = ({ context, stays, hrefOf, drawing }) => {
  const { currentState, status, nextRun, startedAt } = context
  const hasEnded = isFinished(status)
  const marks = {
    current: currentState,
    tone: toneOf(status),
    visited: new Set(stays.map(({ state }) => state)),
    taken: new Set(stays.flatMap(({ from, state, event }) => (from === null ? [] : [moveKey(from, state, event)]))),
    hasEnded,
    wakes:
      nextRun === null || hasEnded ? null : { since: stays.at(-1)?.at ?? startedAt, at: nextRun, now: useViewer().now },
  }
  return (
    <div data-part="diagram">
      {drawing ? (
        <Diagram
          drawing={drawing}
          label={`Diagram of ${fullNameOf(context)}, which is in ${currentState}`}
          marks={{ context: marks, hrefOf }}
        />
      ) : (
        <p class="notice">Its diagram can't be drawn: the definition is too large, or can't be read.</p>
      )}
    </div>
  )
}

async function tabContent(tab: Tab, shown: ShownContext, { host }: PageRoutes, { api }: Viewer) {
  const { context, definition, stays } = shown
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
      const { contexts } = stays.some(({ hasChild }) => hasChild) ? await api.listPage(children) : { contexts: [] }
      return <Timeline {...shown} childContexts={contexts} />
    }
    case 'Data':
      return <DataTab {...shown} />
    case 'Snapshot':
      return <JsonBlock value={snapshot ?? {}} />
    case 'Definition':
      return <JsonBlock value={definition ?? {}} />
    case 'JSON':
      return <JsonBlock value={others} />
    case 'XML':
      return <CutText wraps cut={cut(host.xmlOf(context, rootOf(CALLS.getContext.answer)), MAX_TEXT_CHARACTERS)} />
  }
}

const ContextFacts: FC<ContextView> = ({ id, key, startedAt, version, lastEvent, parent, child, pending }) => (
  <Section id="facts" title="Facts" class="box" data-part="facts">
    <Facts
      facts={[
        ['id', <Copyable text={String(id)} />],
        ['key', key && <Copyable text={key} />],
        ['started', <time datetime={isoOf(startedAt)}>{isoOf(startedAt)}</time>],
        ['version', version],
        ['last event', lastEvent && <code>{lastEvent.event}</code>],
        ['parent', parent && <Relative {...parent} />],
        ['child', child && <Relative {...child} />],
        ['keeps', pending.length === 0 ? null : pending.map(({ event }) => event).join(', ')],
      ]}
    />
  </Section>
)

const Relative: FC<NonNullable<ContextView['parent']>> = ({ contextId, fluxName, state }) => (
  <>
    <a href={contextHref(contextId)}>{`${fluxName ?? 'context'} ${contextId}`}</a>
    {state !== null && <small>{` in ${state}`}</small>}
  </>
)
