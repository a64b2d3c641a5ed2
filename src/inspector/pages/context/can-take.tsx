// inspector/pages: the events that a context can take now, each with a form.
import type { ContextEventsView } from '../../../api/contexts.ts'
import { isFinished } from '../../../model/context.ts'
import { controlsOf } from '../../forms/controls.ts'
import { eventInputsOf } from '../../forms/event-inputs.ts'
import { inputFields, refusalNotice } from '../../forms/fields.tsx'
import { PostForm } from '../../layout.tsx'
import { factList, faint, Section } from '../../parts/blocks.tsx'
import { contextHref } from '../../parts/links.tsx'
import type { ShownContext } from './shown.ts'

/** Forms of events that are on a page, and fields of them beside those of the first; others are chosen by name. */
const MAX_FORMS = 4
const MAX_FIELDS = 60
/** Forms that are open from the beginning. */
const MAX_OPEN = 2
/** Events that are named. */
const MAX_NAMED = 200

type Event = ContextEventsView['events'][number]
type EventInputs = ReturnType<typeof eventInputsOf>

/** `asked`: the event whose form was asked for. */
export function canTake({ context, events, definition, viewer, refused }: ShownContext, asked: string | undefined) {
  const { id, status, currentState, paused, executionHistory } = context
  const { events: taken, others } = events
  if (isFinished(status)) return <div data-part="can-take" hidden />
  const maySend = viewer.may('invoke')
  const inputs = eventInputsOf(definition, currentState)
  const refusedEvent = refused?.event ?? null
  const first = taken.find(({ event }) => event === (refusedEvent ?? asked))?.event
  const forms = maySend ? formsOf(taken, first, inputs) : []
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
      {paused && faint('What it is sent is kept until it is resumed.')}
      {refused && refusedEvent !== null && first === undefined && refusalNotice(refused.refusal, [])}
      {taken.length === 0 && events.else === null && faint('Nothing now.')}
      {!maySend && taken.slice(0, MAX_NAMED).map((event) => <p>{titleOf(event, inputs)}</p>)}
      {forms.map(({ controls, ...event }, index) => (
        <details class="event" open={first === undefined ? index < MAX_OPEN : event.event === first}>
          <summary>{titleOf(event, inputs)}</summary>
          <PostForm
            action={`${contextHref(id)}/events`}
            once
            values={{ event: event.event }}
            submit="Send"
            rehearses
            does={`Send ${event.event}`}
          >
            {inputFields(controls, refused && event.event === refusedEvent ? refused.refusal : null, `event-${index}`)}
          </PostForm>
        </details>
      ))}
      {maySend && forms.length < taken.length && otherEvent(id, taken, forms.length)}
      {events.else !== null && faint('It also takes any other event, which can be sent by the API.')}
      {others.length > 0 && (
        <details>
          <summary>{`Not now: ${others.length} more`}</summary>
          {factList(others.slice(0, MAX_NAMED).map(({ event, reason }) => [<code>{event}</code>, reason]))}
        </details>
      )}
    </Section>
  )
}

const titleOf = ({ event, to }: Pick<Event, 'event' | 'to'>, { mayLeadElsewhere }: EventInputs) => (
  <>
    <code>{event}</code>{' '}
    <small>
      → {to}
      {mayLeadElsewhere && ' (may lead elsewhere)'}
    </small>
  </>
)

/** Leads to the page with the form of another event. */
const otherEvent = (id: number, events: readonly Event[], shown: number) => (
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
function formsOf(taken: readonly Event[], first: string | undefined, inputs: EventInputs) {
  let fields = 0
  return taken
    .toSorted((one, other) => Number(other.event === first) - Number(one.event === first))
    .slice(0, MAX_FORMS)
    .map(({ event, to, input }) => ({ event, to, controls: inputs.of(event, controlsOf(input)) }))
    .filter(({ controls }, index) => {
      fields += index === 0 ? 0 : controls.length
      return fields <= MAX_FIELDS
    })
}
