// inspector/pages: the events that a context can take now, each with a form.
import type { FC } from 'hono/jsx'
import type { ContextEventsView, ContextView } from '../../../api/contexts.ts'
import type { JsonObject } from '../../../model/json/value.ts'
import { controlsOf, type Control } from '../../forms/controls.ts'
import { eventInputsOf, type EventInputs } from '../../forms/event-inputs.ts'
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

/** Forms of events that are on a page, and fields of them beside those of the first; others are chosen by name. */
const MAX_FORMS = 4
const MAX_FIELDS = 60
/** Forms that are open from the beginning. */
const MAX_OPEN = 2
/** Events that are named. */
const MAX_NAMED = 200

type Event = ContextEventsView['events'][number]

export const CanTake: FC<{
  readonly visitor: Visitor
  readonly context: ContextView
  readonly events: ContextEventsView
  /** null: it can't be shown. */
  readonly definition: JsonObject | null
  /** The event whose form was asked for; null: none. */
  readonly asked: string | null
  readonly sent: SentForm | null
}> = ({ visitor, context, events, definition, asked, sent }) => {
  if (hasEnded(context.status)) return <div data-part="can-take" hidden />
  const { events: taken, others } = events
  const inputs = eventInputsOf(definition, context.currentState)
  const wanted = sent?.event ?? asked
  const first = taken.find(({ event }) => event === wanted)?.event ?? null
  const forms = formsOf(taken, { first, inputs })
  const isOpen = (event: string, index: number) => (first === null ? index < MAX_OPEN : event === first)
  // Replaced only when what it can take has changed, so that nothing that is being typed is lost.
  const key = `${context.currentState} ${context.status} ${context.paused} ${context.executionHistory.length}`
  return (
    <section class="box" aria-labelledby="can-take" data-part="can-take" data-key={sent?.event ? undefined : key}>
      <h2 id="can-take">It can take</h2>
      {context.paused && <p class="faint">What it is sent is kept until it is resumed.</p>}
      {first === null && sent?.event && <RefusalNotice refusal={sent.refusal} controls={[]} />}
      {taken.length === 0 && events.else === null && <p class="faint">Nothing now.</p>}
      {visitor.mayInvoke
        ? forms.map(({ event, to, controls }, index) => (
            <details class="event" open={isOpen(event, index)}>
              <summary>
                <Taken event={event} to={to} mayLeadElsewhere={inputs.mayLeadElsewhere} />
              </summary>
              <EventForm
                visitor={visitor}
                id={context.id}
                event={event}
                controls={controls}
                refusal={sent?.event === event ? sent.refusal : null}
                prefix={`event-${index}`}
              />
            </details>
          ))
        : taken.slice(0, MAX_NAMED).map(({ event, to }) => (
            <p>
              <Taken event={event} to={to} mayLeadElsewhere={inputs.mayLeadElsewhere} />
            </p>
          ))}
      {visitor.mayInvoke && forms.length < taken.length && (
        <Choice id={context.id} taken={taken} shown={forms.length} />
      )}
      {events.else !== null && <p class="faint">It also takes any other event, which can be sent by the API.</p>}
      {others.length > 0 && (
        <details>
          <summary>{`Not now: ${others.length} more`}</summary>
          <dl>
            {others.slice(0, MAX_NAMED).map(({ event, reason }) => (
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

interface ShownForm extends Pick<Event, 'event' | 'to'> {
  readonly controls: readonly Control[]
}

/** Those of the first events, the one that was asked for before all. */
function formsOf(
  taken: readonly Event[],
  { first, inputs }: { readonly first: string | null; readonly inputs: EventInputs },
): readonly ShownForm[] {
  const forms: ShownForm[] = []
  let fields = 0
  const ordered = [...taken.filter(({ event }) => event === first), ...taken.filter(({ event }) => event !== first)]
  for (const { event, to, input } of ordered.slice(0, MAX_FORMS)) {
    const controls = inputs.of(event, controlsOf(input))
    if (forms.length > 0) fields += controls.length
    if (fields > MAX_FIELDS) break
    forms.push({ event, to, controls })
  }
  return forms
}

const Taken: FC<{ readonly event: string; readonly to: string; readonly mayLeadElsewhere: boolean }> = ({
  event,
  to,
  mayLeadElsewhere,
}) => (
  <>
    <code>{event}</code>{' '}
    <small>
      → {to}
      {mayLeadElsewhere && ' (may lead elsewhere)'}
    </small>
  </>
)

/** Leads to the page with the form of another event. */
const Choice: FC<{ readonly id: number; readonly taken: readonly Event[]; readonly shown: number }> = ({
  id,
  taken,
  shown,
}) => (
  <form class="row" method="get" action={contextHref(id)}>
    <label for="other-event">{`${taken.length - shown} more events`}</label>
    <input id="other-event" name="event" list="other-events" required autocomplete="off" />
    <datalist id="other-events">
      {taken.slice(0, MAX_NAMED).map(({ event }) => (
        <option value={event} />
      ))}
    </datalist>
    <button type="submit">Show its form</button>
  </form>
)

const EventForm: FC<{
  readonly visitor: Visitor
  readonly id: number
  readonly event: string
  readonly controls: readonly Control[]
  readonly refusal: Refusal | null
  readonly prefix: string
}> = ({ visitor, id, event, controls, refusal, prefix }) => (
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
