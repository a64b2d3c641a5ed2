// inspector/pages: the events that a context can take now, each with a form.
import type { FC } from 'hono/jsx'
import type { ContextEventsView } from '../../../api/contexts.ts'
import { isFinished } from '../../../model/context.ts'
import { controlsOf } from '../../forms/controls.ts'
import { eventInputsOf, type EventInputs } from '../../forms/event-inputs.ts'
import { InputFields, RefusalNotice, type InputFieldsProps } from '../../forms/fields.tsx'
import { PostForm } from '../../layout.tsx'
import { Facts, Section } from '../../parts/blocks.tsx'
import { contextHref } from '../../parts/links.tsx'
import { useViewer } from '../../viewer.ts'
import type { ShownContext } from './shown.ts'

/** Forms of events that are on a page, and fields of them beside those of the first; others are chosen by name. */
const MAX_FORMS = 4
const MAX_FIELDS = 60
/** Forms that are open from the beginning. */
const MAX_OPEN = 2
/** Events that are named. */
const MAX_NAMED = 200

type Event = ContextEventsView['events'][number]

/** `asked`: the event whose form was asked for. */
export const CanTake: FC<ShownContext & { readonly asked: string | null }> = ({
  context: { id, status, currentState, paused, executionHistory },
  events: { events: taken, others, ...events },
  definition,
  asked,
  refused,
}) => {
  if (isFinished(status)) return <div data-part="can-take" hidden />
  const maySend = useViewer().may('invoke')
  const inputs = eventInputsOf(definition, currentState)
  const { event: refusedEvent, refusal } = refused ?? { event: null, refusal: null }
  const first = taken.find(({ event }) => event === (refusedEvent ?? asked))?.event ?? null
  const forms = maySend ? formsOf(taken, first, inputs) : []
  const isOpen = (event: string, index: number) => (first === null ? index < MAX_OPEN : event === first)
  const title = ({ event, to }: Pick<Event, 'event' | 'to'>) => (
    <>
      <code>{event}</code>{' '}
      <small>
        → {to}
        {inputs.mayLeadElsewhere && ' (may lead elsewhere)'}
      </small>
    </>
  )
  // Replaced only when what it can take has changed, so that nothing that is being typed is lost.
  const key = `${currentState} ${status} ${paused} ${executionHistory.length}`
  return (
    <Section
      id="can-take"
      title="It can take"
      class="box"
      data-part="can-take"
      data-key={refusedEvent === null ? key : undefined}
    >
      {paused && <p class="faint">What it is sent is kept until it is resumed.</p>}
      {first === null && refusedEvent !== null && <RefusalNotice refusal={refusal} />}
      {taken.length === 0 && events.else === null && <p class="faint">Nothing now.</p>}
      {!maySend && taken.slice(0, MAX_NAMED).map((event) => <p>{title(event)}</p>)}
      {forms.map(({ event, to, controls }, index) => (
        <details class="event" open={isOpen(event, index)}>
          <summary>{title({ event, to })}</summary>
          <EventForm
            action={`${contextHref(id)}/events`}
            event={event}
            controls={controls}
            refusal={event === refusedEvent ? refusal : null}
            prefix={`event-${index}`}
          />
        </details>
      ))}
      {maySend && forms.length < taken.length && <OtherEvent id={id} events={taken} shown={forms.length} />}
      {events.else !== null && <p class="faint">It also takes any other event, which can be sent by the API.</p>}
      {others.length > 0 && (
        <details>
          <summary>{`Not now: ${others.length} more`}</summary>
          <Facts facts={others.slice(0, MAX_NAMED).map(({ event, reason }) => [<code>{event}</code>, reason])} />
        </details>
      )}
    </Section>
  )
}

interface EventFormProps extends InputFieldsProps {
  readonly action: string
  readonly event: string
}

const EventForm: FC<EventFormProps> = ({ action, event, ...fields }) => (
  <PostForm action={action} once submit="Send" does={`Send ${event}`}>
    <input type="hidden" name="event" value={event} />
    <InputFields {...fields} />
  </PostForm>
)

interface OtherEventProps {
  readonly id: number
  readonly events: readonly Event[]
  readonly shown: number
}

/** Leads to the page with the form of another event. */
const OtherEvent: FC<OtherEventProps> = ({ id, events, shown }) => (
  <form class="row" method="get" action={contextHref(id)}>
    <label for="other-event">{`${events.length - shown} more events`}</label>
    <input id="other-event" name="event" list="other-events" required autocomplete="off" />
    <datalist id="other-events">
      {events.slice(0, MAX_NAMED).map(({ event }) => (
        <option value={event} />
      ))}
    </datalist>
    <button type="submit">Show its form</button>
  </form>
)

/** Those of the first events, the one that was asked for before all. */
function formsOf(taken: readonly Event[], first: string | null, inputs: EventInputs) {
  const ordered = taken.toSorted((one, other) => Number(other.event === first) - Number(one.event === first))
  let fields = 0
  return ordered
    .slice(0, MAX_FORMS)
    .map(({ event, to, input }) => ({ event, to, controls: inputs.of(event, controlsOf(input)) }))
    .filter(({ controls }, index) => {
      fields += index === 0 ? 0 : controls.length
      return fields <= MAX_FIELDS
    })
}
