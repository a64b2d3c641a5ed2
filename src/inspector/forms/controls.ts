// inspector/forms: which control a property of a JSON Schema gets, and how what was typed there becomes an input.
import { escapedKey, invalid, type FieldError } from '../../model/failure.ts'
import { isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import type { FormValues } from '../host.ts'
import { objectOf, skeletonOf } from './skeleton.ts'

export interface Control {
  /** Name of the property. */
  readonly name: string
  /** How a value is typed: as text, as one of some texts, as yes or no, or as JSON. */
  readonly kind: 'text' | 'number' | 'choice' | 'flag' | 'json'
  readonly isRequired: boolean
  /** Whether an empty text is a value that it takes. */
  readonly takesEmpty: boolean
  /** Without the empty text, which has a box. */
  readonly choices: readonly string[]
  readonly description: string | null
  /** What is taken if it is left empty; null: nothing. */
  readonly initial: string | null
  /** For JSON: what a model looks like; null: it is none. */
  readonly skeleton: string | null
}

/** Names of the fields of a form. */
export const fieldNameOf = (property: string): string => `input.${property}`
export const emptyBoxOf = (property: string): string => `empty.${property}`

export function controlsOf({ properties, required, $defs: models }: JsonObject): readonly Control[] {
  const needed = new Set([required].flat())
  return Object.entries(objectOf(properties)).map(([name, property]) =>
    controlOf(name, objectOf(property), needed.has(name), objectOf(models)),
  )
}

function controlOf(name: string, schema: JsonObject, isRequired: boolean, models: JsonObject): Control {
  const { description, default: initial, minLength, enum: values } = schema
  const types = typesOf(schema)
  const choices = [values].flat().filter((choice) => typeof choice === 'string')
  const kind = kindOf(types, choices.length > 0)
  return {
    name,
    kind,
    isRequired,
    takesEmpty: kind === 'text' ? types.includes('string') && !minLength : kind === 'choice' && choices.includes(''),
    choices: choices.filter((choice) => choice !== ''),
    description: typeof description === 'string' ? description : null,
    initial: initial === undefined ? null : typeof initial === 'string' ? initial : JSON.stringify(initial),
    skeleton: skeletonOf(schema, models),
  }
}

function kindOf(types: readonly string[], hasChoices: boolean): Control['kind'] {
  if (types.length === 0 || types.includes('object') || types.includes('array')) return 'json'
  if (hasChoices) return 'choice'
  if (types.includes('boolean')) return 'flag'
  return types.includes('number') || types.includes('integer') ? 'number' : 'text'
}

/** The types of a value that is not null. Numbers may also be given as text, and references are to objects. */
function typesOf({ type, anyOf, oneOf, $ref: reference }: JsonObject): readonly string[] {
  if (typeof reference === 'string') return ['object']
  const own = [type].flat().filter((each) => typeof each === 'string')
  const nested = [anyOf, oneOf].flat().filter(isObject).flatMap(typesOf)
  return [...own, ...nested].filter((each) => each !== 'null')
}

/**
 * The input that was typed. An empty field means that there is no value; texts are coerced to the declared type when
 * the input is checked.
 * @throws FluxError `invalid` for fields that are no JSON
 */
export function inputOf(controls: readonly Control[], form: FormValues): JsonObject {
  const input: JsonObject = {}
  const errors: FieldError[] = []
  for (const { name, kind } of controls) {
    const text = form.get(fieldNameOf(name))?.[0] ?? ''
    if (text === '') {
      if (form.has(emptyBoxOf(name))) setOwn(input, name, '')
      continue
    }
    const value = kind === 'json' ? jsonOf(text) : text
    if (value === undefined) errors.push({ pointer: pointerOf(name), detail: 'must be JSON' })
    else setOwn(input, name, value)
  }
  if (errors.length > 0) throw invalid('the input can not be read', errors)
  return input
}

/** undefined: it is no JSON. */
export function jsonOf(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

/** RFC 6901, of a property of the input. */
export const pointerOf = (name: string): string => `/input/${escapedKey(name)}`
