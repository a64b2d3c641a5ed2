// inspector/pages: the data of a context: its inputs and outputs, and those of its states.
import type { Child } from 'hono/jsx'
import type { ContextView } from '../../../api/contexts.ts'
import { isObject, type Json, type JsonObject } from '../../../model/json/value.ts'
import { objectsIn } from '../../diagram/graph.ts'
import { faint } from '../../parts/blocks.tsx'
import { cut, jsonText } from '../../parts/cut-text.tsx'
import { contextHref } from '../../parts/links.tsx'
import { isoOf } from '../../parts/time.tsx'
import type { ShownContext } from './shown.ts'

/** Characters of one value; the rest is in the JSON. */
const MAX_VALUE_CHARACTERS = 1000
/** Values on one page. */
const MAX_VALUES = 1000
/** Values within values that are shown as a tree. */
const MAX_DEPTH = 5
/** A list or an object that is no longer stands in a line. */
const MAX_LINE_CHARACTERS = 60
const MAX_TRANSITIONS = 20

interface Sheet {
  /** Values that there is still room for. Values are written in the order in which they are shown. */
  room: number
  /** Models of the definition, by name. */
  readonly models: Json | undefined
  readonly jsonHref: string
}

const sheetOf = ({ context, definition }: ShownContext): Sheet => ({
  room: MAX_VALUES,
  models: definition?.['models'],
  jsonHref: contextHref(context.id, 'JSON'),
})

type StateView = ContextView['stateContexts'][number]

export function dataTab(shown: ShownContext) {
  const { input, output, stateContexts } = shown.context
  const sheet = sheetOf(shown)
  return (
    <>
      {modelOf(<h2>Inputs</h2>, input, sheet) ?? faint('Inputs: none.')}
      {modelOf(<h2>Outputs</h2>, output, sheet) ?? faint('Outputs: none.')}
      {stateContexts.map((state) => stateOf(state, sheet))}
    </>
  )
}

/** The data of one state. */
export const stateValues = (shown: ShownContext, state: StateView) => stateOf(state, sheetOf(shown))

const stateOf = ({ name, input, output, transitionContexts: left }: StateView, sheet: Sheet) => (
  <section>
    <h2>{name}</h2>
    {modelOf(<h3 class="faint">inputs</h3>, input, sheet)}
    {modelOf(<h3 class="faint">outputs</h3>, output, sheet)}
    {left.length > 0 && (
      <>
        <h3 class="faint">carried on</h3>
        <dl>
          {left.slice(-MAX_TRANSITIONS).map(({ event, to, values }) => (
            <>
              <dt>{`${event ?? ''} → ${to}`}</dt>
              <dd>{lineOf(values, sheet)}</dd>
            </>
          ))}
        </dl>
      </>
    )}
  </section>
)

/** null: it has no values. */
function modelOf(title: Child, { gloopProperties: properties }: ContextView['input'], sheet: Sheet) {
  if (properties.length === 0) return null
  const rows = rowsOf(properties, sheet, 0)
  const leftOut = properties.length - rows.length
  return (
    <section>
      {title}
      <dl>{rows}</dl>
      {leftOut > 0 && faint(`${leftOut} more are left out here: the API shows them.`)}
    </section>
  )
}

/** @param properties as they are declared, with `name` and `value` */
function rowsOf(properties: readonly JsonObject[], sheet: Sheet, depth: number) {
  const rows: Child[] = []
  for (const property of properties) {
    if (sheet.room <= 0) break
    rows.push(
      <>
        <dt>{String(property['name']).slice(0, MAX_VALUE_CHARACTERS)}</dt>
        <dd>{valueOf(property, sheet, depth)}</dd>
      </>,
    )
  }
  return rows
}

function valueOf(property: JsonObject, sheet: Sheet, depth: number): Child {
  const { type, value = null } = property
  const inside = depth < MAX_DEPTH ? propertiesIn(property, sheet) : null
  if (inside) {
    const rows = rowsOf(inside, sheet, depth + 1)
    return (
      <>
        <dl>{rows}</dl>
        {rows.length < inside.length && <a href={sheet.jsonHref}>all of it</a>}
      </>
    )
  }
  if (type !== 'date' || typeof value !== 'number') return lineOf(value, sheet)
  sheet.room -= 1
  return <time datetime={isoOf(value)}>{isoOf(value)}</time>
}

/** What is within the value of a property, as far as there is room, and one more; null: it stands in a line. */
function propertiesIn({ value, ...declared }: JsonObject, { models, room }: Sheet): readonly JsonObject[] | null {
  const { type, reference } = declared
  if (typeof value !== 'object' || value === null) return null
  const isNamed = typeof reference === 'string' && isObject(models) && Object.hasOwn(models, reference)
  const model = isNamed ? models[reference] : declared
  const fields = objectsIn(isObject(model) ? model['gloopProperties'] : null)
  const isPlain = fields.length === 0 && type !== 'date'
  if (isPlain && !jsonText(value, MAX_LINE_CHARACTERS).isCut) return null
  const byName = new Map(fields.map((field) => [field['name'], field]))
  return Object.entries(value)
    .slice(0, room + 1)
    .map(([name, item]) => ({ ...(Array.isArray(value) ? declared : byName.get(name)), name, value: item }))
}

/** The beginning of a value. */
function lineOf(value: Json, sheet: Sheet): Child {
  if (sheet.room <= 0) return '…'
  sheet.room -= 1
  const { text, isCut } =
    typeof value === 'string' ? cut(value, MAX_VALUE_CHARACTERS) : jsonText(value, MAX_VALUE_CHARACTERS)
  return (
    <>
      <code>{isCut ? `${text}…` : text}</code>
      {isCut && <a href={sheet.jsonHref}> all of it</a>}
    </>
  )
}
