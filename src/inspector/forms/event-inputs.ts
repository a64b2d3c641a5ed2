// inspector/forms: which inputs of a state an event brings. All events of a state share its inputs, so a definition tells
// them apart only by a comment ("with paid"), or by lines of a transition that alone read one.
//
// - A page has forms for the first few events and `?event=` for any other, each with the inputs of its event as far as
//   the definition tells them apart (`forms/event-inputs.ts`).
import { objectsIn } from '../diagram/graph.ts'
import type { Json, JsonObject } from '../../model/json/value.ts'
import type { Control } from './controls.ts'

export interface EventInputs {
  /** Those of them that the event brings; all that are not told apart. */
  of(event: string, controls: readonly Control[]): readonly Control[]
  /** Whether the action of the state decides, so that an event may lead elsewhere than its transition does. */
  readonly mayLeadElsewhere: boolean
}

/** `definition` null: it is not known. */
export function eventInputsOf(definition: JsonObject | null, stateName: string): EventInputs {
  const state = objectsIn(definition?.['states']).find(({ name }) => name === stateName) ?? {}
  const transitions = objectsIn(state['transitions'])
  const sent = transitions.filter(isSent).map((each) => ({ event: String(each['event']), words: wordsIn(each) }))
  const events = new Set(sent.map(({ event }) => event))
  const action = state['action'] ?? {}
  const others = wordsIn([action, ...transitions.filter((each) => !isSent(each))])
  const belongs = ({ name, description, isRequired }: Control, event: string): boolean => {
    const told = namedIn(description, events)
    if (isRequired || told) return isRequired || told?.includes(event) === true
    // A name of other characters may be written in many ways.
    if (!/^\w+$/.test(name) || others.has(name)) return true
    const readers = sent.filter(({ words }) => words.has(name))
    return readers.length === 0 || readers.some((reader) => reader.event === event)
  }
  return {
    of: (event, controls) => controls.filter((control) => belongs(control, event)),
    mayLeadElsewhere: JSON.stringify(action).includes('["$fluxEvent"]'),
  }
}

const isSent = ({ event }: JsonObject): boolean => typeof event === 'string' && !event.startsWith('$')

const wordsIn = (value: Json): ReadonlySet<string> => new Set(JSON.stringify(value).match(/\w+/g))

/** `with paid or refunded; in euros`: the events; null: the comment says something else. */
function namedIn(comment: string | null, events: ReadonlySet<string>): readonly string[] | null {
  const names = /^with ([^;:.]+)/
    .exec(comment ?? '')?.[1]
    ?.split(/, | or | and /)
    .map((name) => name.trim())
  return names?.every((name) => events.has(name)) === true ? names : null
}
