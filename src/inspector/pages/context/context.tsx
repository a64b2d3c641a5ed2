// inspector/pages: one context: where it is, why, what it can take, and what it has been through.
import type { FC } from 'hono/jsx'
import type { ContextEventsView, ContextView } from '../../../api/contexts.ts'
import type { ListedContext } from '../../../api/context-lists.ts'
import type { JsonObject } from '../../../model/json/value.ts'
import type { Drawing } from '../../diagram/drawing.ts'
import { Diagram, moveKey } from '../../diagram/svg.tsx'
import { Copyable } from '../../parts/command.tsx'
import { CutText, JsonBlock } from '../../parts/cut-text.tsx'
import type { Cut } from '../../parts/json-text.ts'
import { contextHref, contextsHref, fullNameOf, serviceHref } from '../../parts/links.ts'
import { hasEnded, StatusSign, toneOf } from '../../parts/status.tsx'
import { Sentence, situationOf } from '../../sentence.tsx'
import { Shell } from '../../shell.tsx'
import type { Visitor } from '../../visitor.ts'
import { CanTake, type SentForm } from './actions.tsx'
import { DataTab, modelsOf, StateValues } from './data.tsx'
import { staysOf, type Stay } from './moves.ts'
import { Steering, SteeringLinks } from './steering.tsx'
import { Timeline } from './timeline.tsx'

export const TABS = ['Timeline', 'Data', 'Snapshot', 'Definition', 'JSON', 'XML'] as const
export type Tab = (typeof TABS)[number]

export interface ContextFacts {
  readonly context: ContextView
  readonly events: ContextEventsView
  /** null: it can't be shown. */
  readonly definition: JsonObject | null
  readonly drawing: Drawing | null
  /** The newest of those that it started as its children, the latest first. */
  readonly childContexts: readonly ListedContext[]
  /** The context in XML, for that tab. */
  readonly xml: Cut | null
  readonly tab: Tab
  /** A state whose data is shown at the side. */
  readonly state: string | null
  /** An event whose form was asked for. */
  readonly event: string | null
}

/** `sent`: a form that was refused. */
export const ContextDocument: FC<ContextFacts & { readonly visitor: Visitor; readonly sent: SentForm | null }> = (
  facts,
) => {
  const { context, events, definition, drawing, visitor, sent, tab, state, event } = facts
  const stays = staysOf(context, definition, visitor.now)
  const chosen = context.stateContexts.find(({ name }) => name === state)
  const hrefOf = (name: string) => `${contextHref(context.id)}?state=${encodeURIComponent(name)}#state`
  return (
    <Shell
      title={`${context.id} ${context.fluxName}`}
      place="Contexts"
      visitor={visitor}
      live={context.status === 'COMPLETED' ? undefined : `contextId=${context.id}`}
    >
      <Head {...facts} />
      <div class="columns">
        <div class="side">
          <div data-part="diagram">
            {drawing ? (
              <Diagram
                drawing={drawing}
                label={`Diagram of ${fullNameOf(context)}, which is in ${context.currentState}`}
                marks={{ context: marksOf(context, stays, visitor.now), hrefOf }}
              />
            ) : (
              <p class="notice">Its diagram can't be drawn: the definition is too large, or can't be read.</p>
            )}
          </div>
          <Tabs id={context.id} tab={tab} />
          <div class="side" data-part="tab">
            <TabContent {...facts} stays={stays} hrefOf={hrefOf} />
          </div>
        </div>
        <div class="side">
          {chosen && (
            <div id="state" class="box">
              <StateValues state={chosen} models={modelsOf(definition)} jsonHref={contextHref(context.id, 'JSON')} />
            </div>
          )}
          <CanTake
            visitor={visitor}
            context={context}
            events={events}
            definition={definition}
            asked={event}
            sent={sent}
          />
          <Steering visitor={visitor} context={context} definition={definition} sent={sent} />
          <Facts context={context} />
        </div>
      </div>
    </Shell>
  )
}

const Head: FC<ContextFacts & { readonly visitor: Visitor }> = ({ context, events, definition, visitor }) => (
  <div class="head" data-part="head">
    <div class="row split">
      <h1 class="crumbs">
        <a href={contextsHref({ fluxName: fullNameOf(context) })}>{context.package}</a> /{' '}
        <a href={serviceHref(context.package, context.fluxName)}>{context.fluxName}</a> / <b>{String(context.id)}</b>
      </h1>
      <span>
        <StatusSign status={context.status} isPaused={context.paused} />
      </span>
    </div>
    <Sentence {...situationOf(context, events, { definition, now: visitor.now })} />
    {context.error?.stack !== undefined && (
      <details>
        <summary>Where it failed</summary>
        <pre>{context.error.stack}</pre>
      </details>
    )}
    <div class="row">
      <SteeringLinks visitor={visitor} context={context} />
      {context.tags.map((tag) => (
        <a class="tag" href={contextsHref({ tag, status: 'all' })} title={tag}>
          {tag}
        </a>
      ))}
    </div>
  </div>
)

function marksOf(context: ContextView, stays: readonly Stay[], now: number) {
  const { currentState: current, status, nextRun } = context
  const since = stays.at(-1)?.at ?? context.startedAt
  return {
    current,
    tone: toneOf(status),
    visited: new Set(stays.map(({ state }) => state)),
    taken: new Set(stays.flatMap(({ from, state, event }) => (from === null ? [] : [moveKey(from, state, event)]))),
    hasEnded: hasEnded(status),
    wakes: nextRun === null || hasEnded(status) ? null : { since, at: nextRun, now },
  }
}

const Tabs: FC<{ readonly id: number; readonly tab: Tab }> = ({ id, tab }) => (
  <nav class="tabs" aria-label="Views of the context">
    {TABS.map((name) => (
      <a href={contextHref(id, name)} aria-current={name === tab ? 'page' : undefined}>
        {name}
      </a>
    ))}
  </nav>
)

const TabContent: FC<
  ContextFacts & {
    readonly visitor: Visitor
    readonly stays: readonly Stay[]
    readonly hrefOf: (state: string) => string
  }
> = ({ context, childContexts, definition, xml, tab, stays, hrefOf }) => {
  switch (tab) {
    case 'Timeline':
      return <Timeline context={context} stays={stays} childContexts={childContexts} hrefOf={hrefOf} />
    case 'Data':
      return <DataTab context={context} definition={definition} jsonHref={contextHref(context.id, 'JSON')} />
    case 'Snapshot':
      return <JsonBlock value={context.snapshot ?? {}} />
    case 'Definition':
      return <JsonBlock value={definition ?? {}} />
    case 'JSON': {
      const { snapshot: _snapshot, ...others } = context
      return <JsonBlock value={others} />
    }
    case 'XML':
      return xml && <CutText cut={xml} wraps />
  }
}

const Facts: FC<{ readonly context: ContextView }> = ({ context }) => (
  <section class="box" data-part="facts">
    <h2>Facts</h2>
    <dl>
      <dt>id</dt>
      <dd>
        <Copyable text={String(context.id)} />
      </dd>
      {context.key !== null && (
        <>
          <dt>key</dt>
          <dd>
            <Copyable text={context.key} />
          </dd>
        </>
      )}
      <dt>started</dt>
      <dd>
        <time datetime={new Date(context.startedAt).toISOString()}>{new Date(context.startedAt).toISOString()}</time>
      </dd>
      <dt>version</dt>
      <dd>{context.version}</dd>
      {context.lastEvent && (
        <>
          <dt>last event</dt>
          <dd>
            <code>{context.lastEvent.event}</code>
          </dd>
        </>
      )}
      <Relative name="parent" relative={context.parent} />
      <Relative name="child" relative={context.child} />
      {context.pending.length > 0 && (
        <>
          <dt>keeps</dt>
          <dd>{context.pending.map(({ event }) => event).join(', ')}</dd>
        </>
      )}
    </dl>
  </section>
)

const Relative: FC<{ readonly name: string; readonly relative: ContextView['parent'] }> = ({ name, relative }) =>
  relative && (
    <>
      <dt>{name}</dt>
      <dd>
        <a href={contextHref(relative.contextId)}>{`${relative.fluxName ?? 'context'} ${relative.contextId}`}</a>
        {relative.state !== null && <small>{` in ${relative.state}`}</small>}
      </dd>
    </>
  )
