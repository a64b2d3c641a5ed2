// inspector/pages: the data of a context: its inputs and outputs, and those of its states.
import type { FC } from 'hono/jsx'
import type { ContextView } from '../../../api/get-context.ts'
import type { Json } from '../../../model/json/value.ts'

type Model = ContextView['input']

/** Characters of one value; the rest is in the JSON. */
const MAX_VALUE_CHARACTERS = 2000

export const DataTab: FC<{ readonly context: ContextView; readonly jsonHref: string }> = ({ context, jsonHref }) => (
  <>
    <Values title="Inputs" model={context.input} jsonHref={jsonHref} />
    <Values title="Outputs" model={context.output} jsonHref={jsonHref} />
    {context.stateContexts.map((state) => (
      <StateValues state={state} jsonHref={jsonHref} />
    ))}
  </>
)

export const StateValues: FC<{ readonly state: ContextView['stateContexts'][number]; readonly jsonHref: string }> = ({
  state,
  jsonHref,
}) => (
  <section>
    <h2>{state.name}</h2>
    <Values title="inputs" model={state.input} jsonHref={jsonHref} small />
    <Values title="outputs" model={state.output} jsonHref={jsonHref} small />
    {state.transitionContexts.length > 0 && (
      <>
        <h3 class="faint">carried on</h3>
        <dl>
          {state.transitionContexts.slice(-20).map(({ event, to, values }) => (
            <>
              <dt>{`${event ?? ''} → ${to}`}</dt>
              <dd>
                <code>{shortened(JSON.stringify(values))}</code>
              </dd>
            </>
          ))}
        </dl>
      </>
    )}
  </section>
)

const Values: FC<{
  readonly title: string
  readonly model: Model
  readonly jsonHref: string
  readonly small?: boolean
}> = ({ title, model, jsonHref, small = false }) => {
  const properties = model.gloopProperties
  if (properties.length === 0) return small ? null : <p class="faint">{`${title}: none.`}</p>
  return (
    <section>
      {small ? <h3 class="faint">{title}</h3> : <h2>{title}</h2>}
      <dl>
        {properties.map((property) => {
          const text = textOf(property['value'] ?? null)
          return (
            <>
              <dt>{String(property['name'])}</dt>
              <dd>
                <code>{shortened(text)}</code>
                {text.length > MAX_VALUE_CHARACTERS && <a href={jsonHref}> all of it</a>}
              </dd>
            </>
          )
        })}
      </dl>
    </section>
  )
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

const shortened = (text: string): string =>
  text.length <= MAX_VALUE_CHARACTERS ? text : `${text.slice(0, MAX_VALUE_CHARACTERS)}…`
