// inspector/pages: the events that a context can take now, each with a form.
import type { FC } from 'hono/jsx'
import type { ContextEventsView } from '../../../api/get-context-events.ts'
import type { ContextView } from '../../../api/get-context.ts'
import { controlsOf } from '../../forms/controls.ts'
import { InputFields, RefusalNotice, type Refusal } from '../../forms/fields.tsx'
import { contextHref } from '../../parts/links.ts'
import { hasEnded } from '../../parts/status.tsx'
import { FormToken, OnceToken } from '../../shell.tsx'
import type { Visitor } from '../../visitor.ts'

export interface SentForm {
  /** Name of the event that was sent; null: it is a form of another kind. */
  readonly event: string | null
  readonly refusal: Refusal
}

/** Forms of events that are open from the beginning. */
const MAX_OPEN = 2

export const CanTake: FC<{
  readonly visitor: Visitor
  readonly context: ContextView
  readonly events: ContextEventsView
  readonly sent: SentForm | null
}> = ({ visitor, context, events, sent }) => {
  if (hasEnded(context.status)) return <div data-part="can-take" hidden />
  const { events: taken, others } = events
  // Replaced only when what it can take has changed, so that nothing that is being typed is lost.
  const key = `${context.currentState} ${context.status} ${context.paused} ${context.executionHistory.length}`
  return (
    <section class="box" aria-labelledby="can-take" data-part="can-take" data-key={sent?.event ? undefined : key}>
      <h2 id="can-take">It can take</h2>
      {context.paused && <p class="faint">What it is sent is kept until it is resumed.</p>}
      {taken.length === 0 && events.else === null && <p class="faint">Nothing now.</p>}
      {taken.map(({ event, to, input }, index) => {
        const name = <Taken event={event} to={to} />
        if (!visitor.mayInvoke) return <p>{name}</p>
        return (
          <details class="event" open={sent?.event === event || ((sent?.event ?? null) === null && index < MAX_OPEN)}>
            <summary>{name}</summary>
            <EventForm
              visitor={visitor}
              id={context.id}
              event={event}
              schema={input}
              refusal={sent?.event === event ? sent.refusal : null}
              prefix={`event-${index}`}
            />
          </details>
        )
      })}
      {events.else !== null && <p class="faint">It also takes any other event, which can be sent by the API.</p>}
      {others.length > 0 && (
        <details>
          <summary>{`Not now: ${others.length} more`}</summary>
          <dl>
            {others.map(({ event, reason }) => (
              <>
                <dt>
                  <code>{event}</code>
                </dt>
                <dd>{reason}</dd>
              </>
            ))}
          </dl>
        </details>
      )}
    </section>
  )
}

const Taken: FC<{ readonly event: string; readonly to: string }> = ({ event, to }) => (
  <>
    <code>{event}</code> <small>→ {to}</small>
  </>
)

const EventForm: FC<{
  readonly visitor: Visitor
  readonly id: number
  readonly event: string
  readonly schema: ContextEventsView['events'][number]['input']
  readonly refusal: Refusal | null
  readonly prefix: string
}> = ({ visitor, id, event, schema, refusal, prefix }) => {
  const controls = controlsOf(schema)
  return (
    <form class="stack" method="post" action={`${contextHref(id)}/events`}>
      <FormToken visitor={visitor} />
      <OnceToken />
      <input type="hidden" name="event" value={event} />
      <RefusalNotice refusal={refusal} controls={controls} />
      <InputFields controls={controls} refusal={refusal} prefix={prefix} />
      <div>
        <button class="primary" type="submit" aria-label={`Send ${event}`}>
          Send
        </button>
      </div>
    </form>
  )
}
