// definitions: compiles lists of property declarations, and reports their faults.
import { canonical, getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { suggestion } from '../../model/nearest.ts'
import type { Report } from '../report.ts'
import { TooMuchWork } from '../work-budget.ts'
import { keysOf, propertyOf, type DeclarationNotes, type Keys } from './declaration.ts'
import type { Property, Shape } from './property.ts'
import { PropertyReader } from './reader.ts'
import { NOW } from './types.ts'

export interface ShapeOptions {
  /** Whether names that are not declared are kept. */
  readonly extra: boolean
  /** Contents of the .model files, by dotted name. */
  readonly models: ReadonlyMap<string, JsonObject>
  /** JSON pointer of the list in its file. */
  readonly pointer: string
  readonly report: Report
}

/** What is compiled, and where it is. */
interface Place extends Pick<ShapeOptions, 'models' | 'pointer'> {
  readonly notes: DeclarationNotes
  /** Fields of models, by reference. A model is added before its fields are compiled, since it may contain itself. */
  readonly compiled: Map<string, Shape | null>
  /** The checks of defaults. A default of a recursive model needs the whole model. */
  readonly checks: (() => void)[]
}

/**
 * Compiles a list of properties, and the models that they contain or refer to. Faults go to the report; the rest is
 * compiled.
 */
export function compileShape(list: readonly JsonObject[], { extra, report, ...options }: ShapeOptions): Shape {
  const checks: Place['checks'] = []
  const shape = shapeOf(list, extra, { ...options, notes: report, compiled: new Map(), checks })
  for (const check of checks) check()
  return shape
}

function shapeOf(list: readonly Json[], extra: boolean, place: Place): Shape {
  const { notes, checks } = place
  const properties = new Map<string, Property>()
  for (const [index, source] of list.entries()) {
    const pointer = `${place.pointer}/${index}`
    if (!isObject(source)) {
      notes.fault(pointer, 'a property must be an object')
      continue
    }
    const keys = keysOf(source, pointer, notes)
    const bare = propertyOf(keys)
    const property = { ...bare, fields: fieldsOf(bare.type, keys, { ...place, pointer }) }
    checks.push(() => checkDefault(property, `${pointer}/defaultValue`, notes))
    if (properties.has(property.name))
      notes.fault(`${pointer}/name`, `two properties of this list are named "${property.name}"`)
    else if (property.name !== '') properties.set(property.name, property)
  }
  return { properties, extra }
}

function fieldsOf(type: Property['type'], { get, text, ...keys }: Keys, place: Place): Property['fields'] {
  const { pointer, notes, models, compiled } = place
  const reference = text('reference')
  const list = keys.list('gloopProperties')
  const extra = keys.flag('allowExtraProperties')
  const at = `${pointer}/reference`
  const model = reference === undefined ? null : follow(reference, models)
  if (reference !== undefined && model === null) {
    const missing = `there is no model "${reference}"${suggestion(reference, models.keys())}`
    if (type === 'model' && list === undefined) notes.fault(at, missing)
    else notes.warn(at, missing)
  }
  if (type !== 'model') {
    if (list !== undefined && list.length > 0)
      notes.warn(`${pointer}/gloopProperties`, `it has no effect on a property of type ${type}: no model`)
    return () => null
  }
  if (reference === undefined || model === null) {
    const shape = list === undefined ? null : shapeOf(list, extra, { ...place, pointer: `${pointer}/gloopProperties` })
    return () => shape
  }
  if (!compiled.has(reference)) compileModel(reference, model, { ...place, pointer: at })
  const fields = () => compiled.get(reference) ?? null
  if (get('allowExtraProperties') === undefined) return fields
  let own: Shape | null = null
  return () => {
    const shared = fields()
    return (own ??= shared && { ...shared, extra })
  }
}

/** Compiles a `.model` file. Its faults are reported at the reference. */
function compileModel(reference: string, source: JsonObject, place: Place) {
  const { pointer: at, notes: outer, compiled } = place
  compiled.set(reference, null)
  const notes: DeclarationNotes = {
    fault: (pointer, reason) => outer.fault(at, `model "${reference}" at ${pointer}: ${reason}`),
    warn: (pointer, reason) => outer.warn(at, `model "${reference}" at ${pointer}: ${reason}`),
  }
  const keys = keysOf(source, '', notes)
  const list = keys.list('gloopProperties')
  const extra = keys.flag('allowExtraProperties')
  if (list) compiled.set(reference, shapeOf(list, extra, { ...place, pointer: '/gloopProperties', notes }))
}

/**
 * Follows a reference to the model that has the fields, since a model without fields may refer to another. null if a
 * model does not exist or the references form a cycle.
 */
function follow(reference: string, models: ShapeOptions['models']) {
  const passed = new Set<string>()
  for (let name = reference; !passed.has(name);) {
    passed.add(name)
    const source = models.get(name)
    if (source === undefined) return null
    const next = getOwn(source, 'reference')
    if (Array.isArray(getOwn(source, 'gloopProperties')) || typeof next !== 'string' || next === '') return source
    name = next
  }
  return null
}

/** Checks a default. One that can't be coerced is a fault; one that only needs coercion is a warning. */
function checkDefault(property: Property, pointer: string, notes: DeclarationNotes) {
  const { defaultValue } = property
  if (defaultValue === undefined) return
  try {
    const reader = new PropertyReader(0)
    reader.defaultOf(property)
    const [error] = reader.errors
    if (error !== undefined) return void notes.fault(pointer + error.pointer, `the default ${error.detail}`)
    if (canonical(defaultValue).includes(`"${NOW}"`)) return
    reader.value(property, defaultValue, 'json')
    const [mismatch] = reader.errors
    if (mismatch !== undefined)
      notes.warn(pointer + mismatch.pointer, `the default ${mismatch.detail}: it is used all the same`)
  } catch (error) {
    if (!(error instanceof TooMuchWork)) throw error
    notes.fault(pointer, 'the default makes too much work: it has too many values')
  }
}
