// definitions: types of TypeScript from the JSON Schemas of values. What a type can not say, such as bounds, it leaves to
// the server, so a type accepts a little more than its schema, and nothing less.
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { DATE_TEXT } from '../values/dates.ts'
import { WHOLE_TEXT } from '../values/numbers.ts'

export interface TypeOptions {
  /** Of values that are sent: those that become the right text in JSON are accepted as well. */
  readonly isSent: boolean
  /** The type that a reference names. */
  readonly nameOf: (reference: string) => string
  /** Of the outermost object: whether names that are not declared are accepted. */
  readonly isOpen?: boolean
}

const INDENT = '  '

/** @param depth how far the lines of the text are indented */
export function typeText(schema: Json | undefined, options: TypeOptions, depth = 0): string {
  if (!isObject(schema)) return 'unknown'
  const { $ref: reference, const: constant, enum: choices, anyOf, allOf, not } = schema
  if (typeof reference === 'string') return options.nameOf(reference)
  if (constant !== undefined) return literal(constant)
  if (Array.isArray(choices)) return union(choices.map(literal))
  const types = listOf(schema['type'])
  if (types.length > 0) return union(types.map((type) => ofType(type, schema, { options, depth })))
  if (Array.isArray(anyOf)) return union(anyOf.map((each) => typeText(each, options, depth)))
  // The second part only chooses among the values of the first.
  if (Array.isArray(allOf)) return typeText(allOf[0], options, depth)
  if (isObject(not)) return Object.keys(not).length === 0 ? 'never' : 'NonNullable<unknown>'
  return 'unknown'
}

const listOf = (type: Json | undefined): readonly Json[] => (type === undefined ? [] : [type].flat())

function union(types: readonly string[]): string {
  const several = new Set(types)
  if (several.has('unknown')) return 'unknown'
  return several.size === 0 ? 'never' : [...several].join(' | ')
}

interface Place {
  readonly options: TypeOptions
  readonly depth: number
}

function ofType(type: Json, schema: JsonObject, { options, depth }: Place): string {
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'boolean' || type === 'null') return type
  if (type === 'string') return options.isSent ? textType(schema) : 'string'
  if (type === 'object') return objectType(schema, { options, depth })
  const { prefixItems, items } = schema
  if (Array.isArray(prefixItems))
    return `readonly [${prefixItems.map((each) => typeText(each, options, depth)).join(', ')}]`
  return `readonly (${typeText(items, options, depth)})[]`
}

/** Texts that the client makes of other values. */
function textType({ pattern }: JsonObject): string {
  if (pattern === WHOLE_TEXT.source) return 'string | bigint'
  return pattern === DATE_TEXT.source ? 'string | Date' : 'string'
}

function objectType(schema: JsonObject, { options, depth }: Place): string {
  const { properties, patternProperties, required, additionalProperties } = schema
  const { isOpen = additionalProperties !== false, ...inner } = options
  const needed = new Set(Array.isArray(required) ? required : [])
  const proto = isObject(patternProperties) ? Object.values(patternProperties)[0] : undefined
  const all = [
    ...Object.entries(isObject(properties) ? properties : {}),
    ...(proto === undefined ? [] : [['__proto__', proto] as const]),
  ]
  const indent = INDENT.repeat(depth + 1)
  const lines = all.map(([name, property]) => {
    const type = typeText(property, inner, depth + 1)
    const declared = needed.has(name) ? `: ${type}` : `?: ${type}${inheritedType(name)} | undefined`
    return `${commentOf(property, indent)}${indent}readonly ${nameText(name)}${declared}\n`
  })
  // An object without any names is not the type `{}`, which accepts everything.
  const others = isOpen ? 'unknown' : 'never'
  if (isOpen || lines.length === 0) lines.push(`${indent}readonly [name: string]: ${others}\n`)
  return `{\n${lines.join('')}${INDENT.repeat(depth)}}`
}

const INHERITED = new Set([
  'constructor',
  'toString',
  'toLocaleString',
  'valueOf',
  'hasOwnProperty',
  'isPrototypeOf',
  'propertyIsEnumerable',
])

/** Where a property of that name is left out, the compiler sees the one that every object has. */
const inheritedType = (name: string): string => (INHERITED.has(name) ? ` | Object['${name}']` : '')

function commentOf(property: Json, indent: string): string {
  const { description }: { description?: Json } = isObject(property) ? property : {}
  return typeof description === 'string' ? commentText(description, indent) : ''
}

/** A comment before what it is of. */
export function commentText(text: string, indent = ''): string {
  const lines = text.replaceAll('*/', '*\\/').split(/[\n\r\u2028\u2029]+/)
  const [first = '', ...more] = lines.map((line) => line.trim()).filter((line) => line !== '')
  if (more.length === 0) return first === '' ? '' : `${indent}/** ${first} */\n`
  return `${indent}/**\n${[first, ...more].map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`
}

/** The name of a property, quoted where it is no identifier. */
const nameText = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name))

/** A literal of TypeScript. Some editors take the separators of lines for the end of one. */
export const quoted = (text: string): string =>
  JSON.stringify(text).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')

/** The type of one value. */
function literal(value: Json): string {
  if (typeof value === 'string') return quoted(value)
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'number'
  if (Array.isArray(value)) return `readonly [${value.map(literal).join(', ')}]`
  if (!isObject(value)) return String(value)
  const fields = Object.entries(value).map(([name, each]) => `readonly ${nameText(name)}: ${literal(each)}`)
  return fields.length === 0 ? '{ readonly [name: string]: never }' : `{ ${fields.join('; ')} }`
}
