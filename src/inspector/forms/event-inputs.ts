// inspector/forms: which inputs of a state an event brings. All events of a state share its inputs, so a definition tells
// them apart only by a comment ("with paid"), or by lines of a transition that alone read one.
import { objectsIn } from '../diagram/graph.ts'
import type { Json, JsonObject } from '../../model/json/value.ts'
import type { Control } from './controls.ts'

/** `definition` null: it is not known. */
export function eventInputsOf(definition: JsonObject | null, stateName: string) {
  const state = objectsIn(definition?.['states']).find(({ name }) => name === stateName) ?? {}
  const transitions = objectsIn(state['transitions'])
  const sent = transitions.filter(isSent).map((each) => ({ event: String(each['event']), words: wordsIn(each) }))
  const events = new Set(sent.map(({ event }) => event))
  const action = state['action'] ?? {}
  const others = wordsIn([action, ...transitions.filter((each) => !isSent(each))])
  const belongs = ({ name, description, isRequired }: Control, event: string) => {
    if (isRequired) return true
    const told = namedIn(description, events)
    if (told) return told.includes(event)
    // A name of other characters may be written in many ways.
    if (!/^\w+$/.test(name) || others.has(name)) return true
    const readers = sent.filter(({ words }) => words.has(name))
    return readers.length === 0 || readers.some((reader) => reader.event === event)
  }
  return {
    /** Those of them that the event brings; all that are not told apart. */
    of: (event: string, controls: readonly Control[]) => controls.filter((control) => belongs(control, event)),
    /** Whether the action of the state decides, so that an event may lead elsewhere than its transition does. */
    mayLeadElsewhere: JSON.stringify(action).includes('["$fluxEvent"]'),
  }
}

const isSent = ({ event }: JsonObject) => typeof event === 'string' && !event.startsWith('$')

const wordsIn = (value: Json) => new Set(JSON.stringify(value).match(/\w+/g))

/** `with paid or refunded; in euros`: the events; null: the comment says something else. */
function namedIn(comment: string | null, events: ReadonlySet<string>) {
  const names = /^with ([^;:.]+)/
    .exec(comment ?? '')?.[1]
    ?.split(/, | or | and /)
    .map((name) => name.trim())
  return names?.every((name) => events.has(name)) === true ? names : null
}
