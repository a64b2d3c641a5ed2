// inspector/pages: the data of a context: its inputs and outputs, and those of its states.
import type { Child, FC } from 'hono/jsx'
import type { ContextView } from '../../../api/contexts.ts'
import { isObject, type Json, type JsonObject } from '../../../model/json/value.ts'
import { objectsIn } from '../../diagram/graph.ts'
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

export const DataTab: FC<ShownContext> = (shown) => {
  const { input, output, stateContexts } = shown.context
  const sheet = sheetOf(shown)
  return (
    <>
      {modelOf(<h2>Inputs</h2>, input, sheet) ?? <p class="faint">Inputs: none.</p>}
      {modelOf(<h2>Outputs</h2>, output, sheet) ?? <p class="faint">Outputs: none.</p>}
      {stateContexts.map((state) => stateOf(state, sheet))}
    </>
  )
}

export const StateValues: FC<ShownContext & { readonly state: StateView }> = ({ state, ...shown }) =>
  stateOf(state, sheetOf(shown))

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
  const entries = properties.map((declared) => ({
    name: String(declared['name']),
    value: declared['value'] ?? null,
    declared,
  }))
  const rows = rowsOf(entries, sheet, 0)
  return (
    <section>
      {title}
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
  /** Its property: the type, and the fields of a model; undefined: it has none. */
  readonly declared: JsonObject | undefined
}

function rowsOf(entries: readonly Entry[], sheet: Sheet, depth: number): readonly Child[] {
  const rows: Child[] = []
  for (const entry of entries) {
    if (sheet.room <= 0) break
    rows.push(
      <>
        <dt>{entry.name.slice(0, MAX_VALUE_CHARACTERS)}</dt>
        <dd>{valueOf(entry, sheet, depth)}</dd>
      </>,
    )
  }
  return rows
}

function valueOf({ value, declared }: Entry, sheet: Sheet, depth: number): Child {
  const entries = depth < MAX_DEPTH ? entriesOf(value, declared, sheet) : null
  if (entries === null) {
    if (declared?.['type'] !== 'date' || typeof value !== 'number') return lineOf(value, sheet)
    sheet.room -= 1
    return <time datetime={isoOf(value)}>{isoOf(value)}</time>
  }
  const rows = rowsOf(entries, sheet, depth + 1)
  return (
    <>
      <dl>{rows}</dl>
      {rows.length < entries.length && <a href={sheet.jsonHref}>all of it</a>}
    </>
  )
}

/** What is within a value; null: it stands in a line. */
function entriesOf(value: Json, declared: JsonObject | undefined, { models }: Sheet): readonly Entry[] | null {
  if (typeof value !== 'object' || value === null) return null
  const fields = fieldsOf(declared, models)
  const isPlain = fields.size === 0 && declared?.['type'] !== 'date'
  if (isPlain && !jsonText(value, MAX_LINE_CHARACTERS).isCut) return null
  if (Array.isArray(value)) return value.map((item, index) => ({ name: String(index), value: item, declared }))
  return Object.entries(value).map(([name, item]) => ({ name, value: item, declared: fields.get(name) }))
}

/** The fields of a model, by name. */
function fieldsOf(
  declared: JsonObject | undefined,
  models: Json | undefined,
): ReadonlyMap<Json | undefined, JsonObject> {
  const reference = declared?.['reference']
  const isNamed = typeof reference === 'string' && isObject(models) && Object.hasOwn(models, reference)
  const model = isNamed ? models[reference] : declared
  return new Map(objectsIn(isObject(model) ? model['gloopProperties'] : null).map((field) => [field['name'], field]))
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
