// inspector/pages: the data of a context: its inputs and outputs, and those of its states.
import type { Child, FC } from 'hono/jsx'
import type { ContextView } from '../../../api/contexts.ts'
import { isObject, type Json, type JsonObject } from '../../../model/json/value.ts'
import { jsonText } from '../../parts/json-text.ts'
import { isoOf } from '../../parts/time.tsx'

type Model = ContextView['input']

/** Characters of one value; the rest is in the JSON. */
const MAX_VALUE_CHARACTERS = 2000
/** Values, and characters of them, on one page. */
const MAX_VALUES = 1000
const MAX_CHARACTERS = 200_000

/** What there is still room for on the page. Components are made in the order in which they are shown. */
interface Room {
  values: number
  characters: number
}

const roomOf = (): Room => ({ values: MAX_VALUES, characters: MAX_CHARACTERS })
const isFull = ({ values, characters }: Room): boolean => values <= 0 || characters <= 0

/** The models of a definition, by name. */
export const modelsOf = (definition: JsonObject | null): JsonObject =>
  isObject(definition?.['models']) ? definition['models'] : {}

interface Page {
  readonly room: Room
  readonly models: JsonObject
  readonly jsonHref: string
}

export const DataTab: FC<{
  readonly context: ContextView
  readonly definition: JsonObject | null
  readonly jsonHref: string
}> = ({ context, definition, jsonHref }) => {
  const page = { room: roomOf(), models: modelsOf(definition), jsonHref }
  return (
    <>
      <Values title="Inputs" model={context.input} page={page} />
      <Values title="Outputs" model={context.output} page={page} />
      {context.stateContexts.map((state) => (
        <StateValues state={state} {...page} />
      ))}
    </>
  )
}

type StateView = ContextView['stateContexts'][number]

export const StateValues: FC<Omit<Page, 'room'> & { readonly state: StateView; readonly room?: Room }> = ({
  state,
  room = roomOf(),
  models,
  jsonHref,
}) => {
  const page = { room, models, jsonHref }
  return (
    <section>
      <h2>{state.name}</h2>
      <Values title="inputs" model={state.input} page={page} small />
      <Values title="outputs" model={state.output} page={page} small />
      {state.transitionContexts.length > 0 && <CarriedOn state={state} room={room} />}
    </section>
  )
}

const CarriedOn: FC<{ readonly state: StateView; readonly room: Room }> = ({ state, room }) => (
  <>
    <h3 class="faint">carried on</h3>
    <dl>
      {state.transitionContexts.slice(-20).map(({ event, to, values }) => (
        <>
          <dt>{`${event ?? ''} → ${to}`}</dt>
          <dd>
            <code>{isFull(room) ? '…' : shown(values, room).text}</code>
          </dd>
        </>
      ))}
    </dl>
  </>
)

const Values: FC<{
  readonly title: string
  readonly model: Model
  readonly page: Page
  readonly small?: boolean
}> = ({ title, model, page, small = false }) => {
  const properties = model.gloopProperties
  if (properties.length === 0) return small ? null : <p class="faint">{`${title}: none.`}</p>
  const entries = properties.map((declared) => entryOf(String(declared['name']), declared['value'] ?? null, declared))
  const rows = rowsOf(entries, page, 0)
  return (
    <section>
      {small ? <h3 class="faint">{title}</h3> : <h2>{title}</h2>}
      <dl>{rows}</dl>
      {rows.length < properties.length && (
        <p class="faint">{`${properties.length - rows.length} more are left out here: the API shows them.`}</p>
      )}
    </section>
  )
}

interface Entry {
  readonly name: string
  readonly value: Json
  /** Its property: the type, and the fields of a model; null: it has none. */
  readonly declared: JsonObject | null
}

const entryOf = (name: string, value: Json, declared: JsonObject | null): Entry => ({ name, value, declared })

/** Values within values that are shown as a tree. */
const MAX_DEPTH = 5
/** A list or an object that is no longer stands in a line. */
const MAX_LINE_CHARACTERS = 60

/** Made at once, and not by components: what is shown before takes its room before. */
function rowsOf(entries: readonly Entry[], page: Page, depth: number): readonly Child[] {
  const rows: Child[] = []
  for (const entry of entries) {
    if (isFull(page.room)) break
    rows.push(
      <>
        <dt>{entry.name.slice(0, MAX_VALUE_CHARACTERS)}</dt>
        <dd>{contentOf(entry, page, depth)}</dd>
      </>,
    )
  }
  return rows
}

function contentOf({ value, declared }: Entry, page: Page, depth: number): Child {
  const entries = depth < MAX_DEPTH ? entriesOf(value, declared, page.models) : null
  if (entries !== null) {
    const rows = rowsOf(entries, page, depth + 1)
    return (
      <>
        <dl>{rows}</dl>
        {rows.length < entries.length && <a href={page.jsonHref}>all of it</a>}
      </>
    )
  }
  const { text, isCut } = shown(value, page.room)
  if (declared?.['type'] === 'date' && typeof value === 'number')
    return <time datetime={isoOf(value)}>{isoOf(value)}</time>
  return (
    <>
      <code>{text}</code>
      {isCut && <a href={page.jsonHref}> all of it</a>}
    </>
  )
}

/** What is within a value; null: it stands in a line. */
function entriesOf(value: Json, declared: JsonObject | null, models: JsonObject): readonly Entry[] | null {
  if (typeof value !== 'object' || value === null) return null
  const fields = fieldsOf(declared, models)
  const isPlain = fields.size === 0 && declared?.['type'] !== 'date'
  if (isPlain && !jsonText(value, MAX_LINE_CHARACTERS).isCut) return null
  if (Array.isArray(value)) return value.map((item, index) => entryOf(String(index), item, declared))
  return Object.entries(value).map(([name, item]) => entryOf(name, item, fields.get(name) ?? null))
}

/** The fields of a model, by name. */
function fieldsOf(declared: JsonObject | null, models: JsonObject): ReadonlyMap<Json | undefined, JsonObject> {
  const reference = declared?.['reference']
  const model = typeof reference === 'string' && Object.hasOwn(models, reference) ? models[reference] : declared
  const fields = isObject(model) ? model['gloopProperties'] : null
  return new Map(Array.isArray(fields) ? fields.filter(isObject).map((field) => [field['name'], field]) : [])
}

/** The beginning of a value, for which the room is taken. */
function shown(value: Json | object, room: Room): { readonly text: string; readonly isCut: boolean } {
  const { text, isCut } =
    typeof value === 'string'
      ? { text: value.slice(0, MAX_VALUE_CHARACTERS), isCut: value.length > MAX_VALUE_CHARACTERS }
      : jsonText(value, MAX_VALUE_CHARACTERS)
  room.values -= 1
  room.characters -= text.length
  return { text: isCut ? `${text}…` : text, isCut }
}
