// inspector/forms: which control a property of a JSON Schema gets, and how what was typed there becomes an input.
import { escapedKey } from '../../model/failure.ts'
import { isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import type { FieldError } from '../../model/failure.ts'
import type { FormValues } from '../host.ts'
import { skeletonOf } from './skeleton.ts'

/** How a value is typed: as text, as one of some texts, as yes or no, or as JSON. */
export type ControlKind = 'text' | 'number' | 'choice' | 'flag' | 'json'

export interface Control {
  /** Of the property. */
  readonly name: string
  readonly kind: ControlKind
  readonly isRequired: boolean
  /** Whether an empty text is a value that it takes. */
  readonly takesEmpty: boolean
  /** Without the empty text, which has a box. */
  readonly choices: readonly string[]
  readonly description: string | null
  /** What is taken if it is left empty; null: nothing. */
  readonly initial: string | null
  /** Of JSON: what a model looks like; null: it is none. */
  readonly skeleton: string | null
}

/** Names of the fields of a form. */
export const fieldNameOf = (property: string): string => `input.${property}`
export const emptyBoxOf = (property: string): string => `empty.${property}`

export function controlsOf(schema: JsonObject): readonly Control[] {
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const models = isObject(schema['$defs']) ? schema['$defs'] : {}
  return Object.entries(properties).map(([name, property]) => {
    const own = isObject(property) ? property : {}
    return { ...controlOf(name, own, required.includes(name)), skeleton: skeletonOf(own, models) }
  })
}

function controlOf(name: string, schema: JsonObject, isRequired: boolean): Omit<Control, 'skeleton'> {
  const types = typesOf(schema)
  const choices = Array.isArray(schema['enum']) ? schema['enum'].filter((choice) => typeof choice === 'string') : []
  const kind = kindOf(types, choices.length > 0)
  const { description, default: initial, minLength } = schema
  return {
    name,
    kind,
    isRequired,
    takesEmpty:
      (kind === 'text' && types.has('string') && (typeof minLength !== 'number' || minLength === 0)) ||
      (kind === 'choice' && choices.includes('')),
    choices: choices.filter((choice) => choice !== ''),
    description: typeof description === 'string' ? description : null,
    initial: initial === undefined ? null : typeof initial === 'string' ? initial : JSON.stringify(initial),
  }
}

function kindOf(types: ReadonlySet<string>, hasChoices: boolean): ControlKind {
  if (types.size === 0 || types.has('object') || types.has('array')) return 'json'
  if (hasChoices) return 'choice'
  if (types.has('boolean')) return 'flag'
  return types.has('number') || types.has('integer') ? 'number' : 'text'
}

/** The types of a value that is not null. Numbers may also be given as text, and references are to objects. */
function typesOf(schema: JsonObject): Set<string> {
  const { type, anyOf, oneOf, $ref: reference } = schema
  if (typeof reference === 'string') return new Set(['object'])
  const own = (Array.isArray(type) ? type : [type]).filter((each) => typeof each === 'string')
  const nested = [anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? list : [])).filter(isObject)
  const types = new Set([...own, ...nested.flatMap((each) => [...typesOf(each)])])
  types.delete('null')
  return types
}

export interface ReadInput {
  readonly input: JsonObject
  /** By fields that can't be read at all. */
  readonly errors: readonly FieldError[]
}

/** An empty field means that there is no value; texts are coerced to the declared type when the input is checked. */
export function inputOf(controls: readonly Control[], form: FormValues): ReadInput {
  const input: JsonObject = {}
  const errors: FieldError[] = []
  for (const { name, kind } of controls) {
    const text = form.get(fieldNameOf(name))?.[0] ?? ''
    if (text === '') {
      if (form.has(emptyBoxOf(name))) setOwn(input, name, '')
      continue
    }
    const value = kind === 'json' ? parsed(text) : text
    if (value === undefined) errors.push({ pointer: pointerOf(name), detail: 'must be JSON' })
    else setOwn(input, name, value)
  }
  return { input, errors }
}

function parsed(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

/** RFC 6901, of a property of the input. */
export const pointerOf = (name: string): string => `/input/${escapedKey(name)}`
