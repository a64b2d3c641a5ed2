// definitions: compiles lists of property declarations, and reports their faults.
import { canonical, getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { suggestion } from '../../model/nearest.ts'
import type { Report } from '../report.ts'
import { TooMuchWork } from '../work-budget.ts'
import { Declaration, type DeclarationNotes } from './declaration.ts'
import type { Property, Shape } from './property.ts'
import { PropertyReader } from './reader.ts'
import { NOW } from './types.ts'

interface Models {
  /** Returns the content of a `.model` file by its dotted name. */
  readonly models: (reference: string) => JsonObject | undefined
  /** The names of all models; left out: none is suggested. */
  readonly modelNames?: () => Iterable<string>
}

export interface ShapeOptions extends Models {
  /** Whether names that are not declared are kept. */
  readonly extra: boolean
  /** JSON pointer of the list in its file. */
  readonly pointer: string
  readonly report: Report
}

/** Finds models in a map by their dotted names. */
export const lookUpIn = (all: ReadonlyMap<string, JsonObject>): Models => ({
  models: (reference) => all.get(reference),
  modelNames: () => all.keys(),
})

/**
 * Compiles a list of properties, and the models that they contain or refer to. Faults go to the report; the rest is
 * compiled.
 */
export function compileShape(list: readonly JsonObject[], { extra, pointer, report, ...models }: ShapeOptions): Shape {
  const compiler = new ShapeCompiler(models)
  const shape = compiler.shape(list, extra, pointer, report)
  // A default of a recursive model needs the whole model.
  for (const check of compiler.defaults) check()
  return shape
}

type Fields = () => Shape | null

class ShapeCompiler {
  /** The checks of defaults, which are made when everything is compiled. */
  readonly defaults: (() => void)[] = []
  readonly #models: Models
  /** Models by reference. A model is added before its fields are compiled, since it may contain itself. */
  readonly #referenced = new Map<string, { fields: Fields }>()

  constructor(models: Models) {
    this.#models = models
  }

  shape(list: readonly Json[], extra: boolean, pointer: string, notes: DeclarationNotes): Shape {
    const properties = new Map<string, Property>()
    for (const [index, source] of list.entries()) {
      const at = `${pointer}/${index}`
      if (!isObject(source)) {
        notes.fault(at, 'a property must be an object')
        continue
      }
      const declaration = new Declaration(source, at, notes)
      const bare = declaration.property()
      const property = { ...bare, fields: this.#fields(bare, declaration, at, notes) }
      this.defaults.push(() => checkDefault(property, `${at}/defaultValue`, notes))
      if (properties.has(property.name))
        notes.fault(`${at}/name`, `two properties of this list are named "${property.name}"`)
      else if (property.name !== '') properties.set(property.name, property)
    }
    return { properties, extra }
  }

  #fields({ type, source }: Property, declaration: Declaration, pointer: string, notes: DeclarationNotes): Fields {
    const reference = declaration.text('reference')
    const list = declaration.list('gloopProperties')
    const extra = declaration.flag('allowExtraProperties')
    const at = `${pointer}/reference`
    if (reference !== undefined && this.#follow(reference) === null) {
      const missing = `there is no model "${reference}"${suggestion(reference, this.#models.modelNames?.() ?? [])}`
      if (type === 'model' && list === undefined) notes.fault(at, missing)
      else notes.warn(at, missing)
    }
    if (type !== 'model') {
      if (list !== undefined && list.length > 0)
        notes.warn(`${pointer}/gloopProperties`, `it has no effect on a property of type ${type}: no model`)
      return () => null
    }
    const model = reference === undefined ? null : this.#model(reference, at, notes)
    if (model === null) {
      const shape = list === undefined ? null : this.shape(list, extra, `${pointer}/gloopProperties`, notes)
      return () => shape
    }
    if ((getOwn(source, 'allowExtraProperties') ?? null) === null) return () => model.fields()
    let own: Shape | null | undefined
    return () => {
      const fields = model.fields()
      return (own ??= fields && { ...fields, extra })
    }
  }

  /** Compiles a `.model` file. Its faults are reported at the reference. */
  #model(reference: string, at: string, notes: DeclarationNotes): { fields: Fields } | null {
    const known = this.#referenced.get(reference)
    if (known !== undefined) return known
    const source = this.#follow(reference)
    if (source === null) return null
    const model: { fields: Fields } = { fields: () => null }
    this.#referenced.set(reference, model)
    const inside: DeclarationNotes = {
      fault: (pointer, reason) => notes.fault(at, `model "${reference}" at ${pointer}: ${reason}`),
      warn: (pointer, reason) => notes.warn(at, `model "${reference}" at ${pointer}: ${reason}`),
    }
    const declaration = new Declaration(source, '', inside)
    const list = declaration.list('gloopProperties')
    const extra = declaration.flag('allowExtraProperties')
    const shape = list === undefined ? null : this.shape(list, extra, '/gloopProperties', inside)
    model.fields = () => shape
    return model
  }

  /**
   * Follows a reference to the model that has the fields, since a model without fields may refer to another. null if a
   * model does not exist or the references form a cycle.
   */
  #follow(reference: string): JsonObject | null {
    const passed = new Set<string>()
    for (let name = reference; !passed.has(name);) {
      passed.add(name)
      const source = this.#models.models(name)
      if (source === undefined) return null
      const next = getOwn(source, 'reference')
      if (Array.isArray(getOwn(source, 'gloopProperties')) || typeof next !== 'string' || next === '') return source
      name = next
    }
    return null
  }
}

/** Checks a default. One that can't be coerced is a fault; one that only needs coercion is a warning. */
function checkDefault(property: Property, pointer: string, notes: DeclarationNotes): void {
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
