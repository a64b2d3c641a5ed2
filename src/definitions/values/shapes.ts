// definitions: compiles lists of property declarations, and reports their faults.
import { canonical, getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { suggestion } from '../../model/nearest.ts'
import { Declaration, type DeclarationNotes } from './declaration.ts'
import { PropertyReader } from './reader.ts'
import { NOW, type PropertyType } from './types.ts'
import type { Property, Shape } from './property.ts'
import type { Report } from '../report.ts'
import { TooMuchWork } from '../work-budget.ts'

export interface ShapeOptions {
  /** Whether names that are not declared are kept. */
  readonly extra: boolean
  /** Returns the content of a `.model` file by its dotted name. */
  readonly models: (reference: string) => JsonObject | undefined
  /** The names of all models; left out: none is suggested. */
  readonly modelNames?: () => Iterable<string>
  /** JSON pointer of the list in its file. */
  readonly pointer: string
  readonly report: Report
}

/** Finds models in a map by their dotted names. */
export const lookUpIn = (all: ReadonlyMap<string, JsonObject>): Pick<ShapeOptions, 'models' | 'modelNames'> => ({
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
  compiler.checkDefaults()
  return shape
}

type Fields = () => Shape | null

const ANYTHING: Fields = () => null

class ShapeCompiler {
  readonly #models: Pick<ShapeOptions, 'models' | 'modelNames'>
  /** Models by reference. A model is added before its fields are compiled, since it may contain itself. */
  readonly #referenced = new Map<string, { fields: Fields }>()
  readonly #defaults: (() => void)[] = []

  constructor(models: Pick<ShapeOptions, 'models' | 'modelNames'>) {
    this.#models = models
  }

  shape(list: readonly Json[], extra: boolean, pointer: string, notes: DeclarationNotes): Shape {
    const properties = new Map<string, Property>()
    for (const [index, source] of list.entries()) {
      const at = `${pointer}/${index}`
      const property = this.#property(source, at, notes)
      if (property === null) continue
      if (properties.has(property.name))
        notes.fault(`${at}/name`, `two properties of this list are named "${property.name}"`)
      else properties.set(property.name, property)
    }
    return { properties, extra }
  }

  /**
   * Checks the defaults. Everything must be compiled before, since a default of a recursive model needs the whole
   * model.
   */
  checkDefaults(): void {
    for (const check of this.#defaults) check()
  }

  #property(source: Json, pointer: string, notes: DeclarationNotes): Property | null {
    if (!isObject(source)) {
      notes.fault(pointer, 'a property must be an object')
      return null
    }
    const declaration = new Declaration(source, pointer, notes)
    const type = declaration.type()
    const bare: Property = {
      name: declaration.name(),
      type,
      array: declaration.flag('array', false),
      required: declaration.flag('required', false),
      allowNull: declaration.flag('allowNull', true),
      defaultValue: declaration.defaultValue(type),
      fields: this.#fields(type, source, declaration, pointer, notes),
      ...declaration.bounds(type),
      choices: undefined,
      allowOtherValues: declaration.flag('allowOtherValues', false),
      sensitive: declaration.flag('sensitive', false),
      source,
    }
    const property = { ...bare, choices: declaration.choices(bare) }
    if (property.defaultValue !== undefined)
      this.#defaults.push(() => checkDefault(property, `${pointer}/defaultValue`, notes))
    return bare.name === '' ? null : property
  }

  #fields(
    type: PropertyType,
    source: JsonObject,
    declaration: Declaration,
    pointer: string,
    notes: DeclarationNotes,
  ): Fields {
    const reference = declaration.text('reference')
    const list = declaration.list('gloopProperties')
    const own = getOwn(source, 'allowExtraProperties') ?? null
    const extra = declaration.flag('allowExtraProperties', false)
    if (type !== 'model') {
      if (reference !== null && this.#follow(reference) === null)
        notes.warn(`${pointer}/reference`, this.#noModel(reference))
      if (list !== null && list.length > 0)
        notes.warn(
          `${pointer}/gloopProperties`,
          `only a model has fields: they have no effect on a property of type ${type}`,
        )
      return ANYTHING
    }
    const model = reference === null ? null : this.#model(reference, `${pointer}/reference`, notes)
    if (reference !== null && model === null) {
      if (list === null) notes.fault(`${pointer}/reference`, this.#noModel(reference))
      else notes.warn(`${pointer}/reference`, `${this.#noModel(reference)}; gloopProperties stand in`)
    }
    if (model !== null) return once(() => withExtra(model.fields(), own === null ? null : extra))
    const shape = list === null ? null : this.shape(list, extra, `${pointer}/gloopProperties`, notes)
    return () => shape
  }

  /** Compiles a `.model` file. Its faults are reported at the reference. */
  #model(reference: string, at: string, notes: DeclarationNotes): { fields: Fields } | null {
    const known = this.#referenced.get(reference)
    if (known !== undefined) return known
    const source = this.#follow(reference)
    if (source === null) return null
    const model = { fields: ANYTHING }
    this.#referenced.set(reference, model)
    const inside: DeclarationNotes = {
      fault: (pointer, reason) => notes.fault(at, `model "${reference}" at ${pointer}: ${reason}`),
      warn: (pointer, reason) => notes.warn(at, `model "${reference}" at ${pointer}: ${reason}`),
    }
    const declaration = new Declaration(source, '', inside)
    const list = declaration.list('gloopProperties')
    const shape =
      list === null
        ? null
        : this.shape(list, declaration.flag('allowExtraProperties', false), '/gloopProperties', inside)
    model.fields = () => shape
    return model
  }

  #noModel(reference: string): string {
    return `there is no model "${reference}"${suggestion(reference, this.#models.modelNames?.() ?? [])}`
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

const withExtra = (shape: Shape | null, extra: boolean | null): Shape | null =>
  shape === null || extra === null ? shape : { ...shape, extra }

function once(fields: Fields): Fields {
  let found: Shape | null | undefined
  return () => (found === undefined ? (found = fields()) : found)
}

/** Checks a default. One that can't be coerced is a fault; one that only needs coercion is a warning. */
function checkDefault(property: Property, pointer: string, notes: DeclarationNotes): void {
  try {
    checkReadable(property, pointer, notes)
  } catch (error) {
    if (!(error instanceof TooMuchWork)) throw error
    notes.fault(pointer, 'the default makes too much work: it has too many values')
  }
}

function checkReadable(property: Property, pointer: string, notes: DeclarationNotes): void {
  const { defaultValue } = property
  if (defaultValue === undefined) return
  const reader = new PropertyReader(0, '')
  reader.defaultOf(property)
  const [error] = reader.errors
  if (error !== undefined) return void notes.fault(pointer + error.pointer, `the default ${error.detail}`)
  if (canonical(defaultValue).includes(`"${NOW}"`)) return
  const strict = new PropertyReader(0, '')
  strict.value(property, defaultValue, 'json')
  const [mismatch] = strict.errors
  if (mismatch !== undefined)
    notes.warn(pointer + mismatch.pointer, `the default ${mismatch.detail}: it is used all the same`)
}
