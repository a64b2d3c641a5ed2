// definitions: compiles lists of declared properties, and reports what is wrong with them.
import { canonical, getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { DefinitionError } from '../definition-error.ts'
import { Declaration, type DeclarationNotes } from './declaration.ts'
import { PropertyReader } from './reader.ts'
import { NOW, type PropertyType } from './types.ts'
import type { Property, Shape } from './property.ts'
import type { Report } from '../report.ts'
import { TooMuchWork } from '../work-budget.ts'

export interface ShapeOptions {
  /** Whether names that are not declared are kept. */
  readonly extra: boolean
  /** The content of a `.model` file, by its dotted name. */
  readonly models: (reference: string) => JsonObject | undefined
  /** JSON pointer of the list in its file. */
  readonly pointer: string
  readonly report: Report
}

/**
 * Compiles a list of properties, and the models they contain or refer to. What is wrong goes to the report; the rest is
 * compiled all the same.
 */
export function compileShape(list: readonly JsonObject[], { extra, models, pointer, report }: ShapeOptions): Shape {
  const compiler = new ShapeCompiler(models)
  const shape = compiler.shape(list, extra, pointer, report)
  compiler.checkDefaults()
  return shape
}

type Fields = () => Shape | null

const ANYTHING: Fields = () => null

class ShapeCompiler {
  readonly #models: ShapeOptions['models']
  /** By reference; entered before its fields are compiled, so that a model may contain itself. */
  readonly #referenced = new Map<string, { fields: Fields }>()
  readonly #defaults: (() => void)[] = []

  constructor(models: ShapeOptions['models']) {
    this.#models = models
  }

  shape(list: readonly Json[], extra: boolean, pointer: string, notes: DeclarationNotes): Shape {
    const properties = new Map<string, Property>()
    for (const [index, source] of list.entries()) {
      const at = `${pointer}/${index}`
      const { value, fault } = notes.part(() => this.#property(source, at, notes))
      if (value === null) continue
      const property = fault === null ? value : { ...value, fault }
      if (properties.has(property.name))
        notes.fault(`${at}/name`, `two properties of this list are named "${property.name}"`)
      else properties.set(property.name, property)
    }
    return { properties, extra }
  }

  /** Only when everything is compiled: a default of a recursive model needs the whole of it. */
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
      fault: null,
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
        notes.warn(`${pointer}/reference`, `there is no model "${reference}"`)
      if (list !== null && list.length > 0)
        notes.warn(
          `${pointer}/gloopProperties`,
          `only a model has fields: they play no part in a property of type ${type}`,
        )
      return ANYTHING
    }
    const model = reference === null ? null : this.#model(reference, `${pointer}/reference`, notes)
    if (reference !== null && model === null) {
      if (list === null) notes.fault(`${pointer}/reference`, `there is no model "${reference}"`)
      else notes.warn(`${pointer}/reference`, `there is no model "${reference}": gloopProperties stand in`)
    }
    if (model !== null) return once(() => withExtra(model.fields(), own === null ? null : extra))
    const shape = list === null ? null : this.shape(list, extra, `${pointer}/gloopProperties`, notes)
    return () => shape
  }

  /** The fields of a `.model` file. What is wrong in it is reported where it is referred to. */
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
      part: (compile) => notes.part(compile),
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

  /** A model without fields of its own may refer to another. null: it leads nowhere, or round in a circle. */
  #follow(reference: string): JsonObject | null {
    const passed = new Set<string>()
    for (let name = reference; !passed.has(name);) {
      passed.add(name)
      const source = this.#models(name)
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

/** A default may be coerced; one that can't be has no value to give. */
function checkDefault(property: Property, pointer: string, notes: DeclarationNotes): void {
  try {
    checkReadable(property, pointer, notes)
  } catch (error) {
    // A field of it has a fault, which is reported already.
    if (error instanceof DefinitionError) return
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
  if (error !== undefined) return notes.fault(pointer + error.pointer, `the default ${error.detail}`)
  if (canonical(defaultValue).includes(`"${NOW}"`)) return
  const strict = new PropertyReader(0, '')
  strict.value(property, defaultValue, 'json')
  const [doubt] = strict.errors
  if (doubt !== undefined) notes.warn(pointer + doubt.pointer, `the default ${doubt.detail}: it is used all the same`)
}
