// inspector/pages: the data of a context: its inputs and outputs, and those of its states.
import type { FC } from 'hono/jsx'
import type { ContextView } from '../../../api/get-context.ts'
import type { Json } from '../../../model/json/value.ts'
import { jsonText } from '../../parts/json-text.ts'

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

export const DataTab: FC<{ readonly context: ContextView; readonly jsonHref: string }> = ({ context, jsonHref }) => {
  const room = roomOf()
  return (
    <>
      <Values title="Inputs" model={context.input} jsonHref={jsonHref} room={room} />
      <Values title="Outputs" model={context.output} jsonHref={jsonHref} room={room} />
      {context.stateContexts.map((state) => (
        <StateValues state={state} jsonHref={jsonHref} room={room} />
      ))}
    </>
  )
}

export const StateValues: FC<{
  readonly state: ContextView['stateContexts'][number]
  readonly jsonHref: string
  readonly room?: Room
}> = ({ state, jsonHref, room = roomOf() }) => (
  <section>
    <h2>{state.name}</h2>
    <Values title="inputs" model={state.input} jsonHref={jsonHref} room={room} small />
    <Values title="outputs" model={state.output} jsonHref={jsonHref} room={room} small />
    {state.transitionContexts.length > 0 && <CarriedOn state={state} room={room} />}
  </section>
)

const CarriedOn: FC<{ readonly state: ContextView['stateContexts'][number]; readonly room: Room }> = ({
  state,
  room,
}) => (
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
  readonly jsonHref: string
  readonly room: Room
  readonly small?: boolean
}> = ({ title, model, jsonHref, room, small = false }) => {
  const properties = model.gloopProperties
  if (properties.length === 0) return small ? null : <p class="faint">{`${title}: none.`}</p>
  const values: { readonly name: string; readonly text: string; readonly isCut: boolean }[] = []
  for (const { name, value } of properties) {
    if (isFull(room)) break
    values.push({ name: String(name).slice(0, MAX_VALUE_CHARACTERS), ...shown(value ?? null, room) })
  }
  return (
    <section>
      {small ? <h3 class="faint">{title}</h3> : <h2>{title}</h2>}
      <dl>
        {values.map(({ name, text, isCut }) => (
          <>
            <dt>{name}</dt>
            <dd>
              <code>{text}</code>
              {isCut && <a href={jsonHref}> all of it</a>}
            </dd>
          </>
        ))}
      </dl>
      {values.length < properties.length && (
        <p class="faint">{`${properties.length - values.length} more are left out here: the API shows them.`}</p>
      )}
    </section>
  )
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
