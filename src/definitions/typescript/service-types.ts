// definitions: the types of services for programs that call them: a file that exports `Services`, made of the JSON Schemas
// that the API shows. What a type can not say, such as bounds, it leaves to the server, so a type accepts a little more
// than its schema, and nothing less.
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import type { CompiledFlux } from '../flux.ts'
import { eventSchema, outputSchema, startSchema } from '../json-schema/values-schema.ts'
import { DATE_TEXT } from '../values/dates.ts'
import { WHOLE_TEXT } from '../values/types.ts'

export type TypedService = Pick<
  CompiledFlux,
  'package' | 'fluxName' | 'input' | 'output' | 'states' | 'triggers' | 'source'
>

const HEAD = `// The services of a folder, as types for \`createClient<Services>\` of actorflux/client.
// Written by \`actorflux types\`: write it again when the services change.
`

/** The text of the file; it is the same for the same services, in any order. */
export function serviceTypes(services: readonly TypedService[]): string {
  let declarations = ''
  const taken = new Set(['Services'])
  /** The names of the types of models, by what the schema says of the models. */
  const known = new Map<string, ReadonlyMap<string, string>>()

  /** An identifier that nothing else has: the words, each with a capital. */
  function identifierOf(wanted: string) {
    const words = wanted.split(/[^A-Za-z\d]+/).filter((word) => word !== '')
    const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
    const base = `${/^[A-Z]/.test(joined) ? '' : 'Model'}${joined}`.slice(0, MAX_NAME_CHARACTERS)
    let name = base
    for (let count = 2; taken.has(name); count += 1) name = `${base}_${count}`
    taken.add(name)
    return name
  }

  /** Declares the types of models, which may refer to each other. */
  function declare(service: string, models: JsonObject, isSent: boolean) {
    const content = `${isSent ? 'sent' : 'held'} ${service} ${JSON.stringify(models)}`
    const earlier = known.get(content)
    if (earlier) return earlier
    const entries = Object.entries(models)
    const names = new Map(entries.map(([name]) => [name, identifierOf(`${service} ${name} ${isSent ? '' : 'shown'}`)]))
    known.set(content, names)
    for (const [name, schema] of entries)
      declarations += `\nexport type ${names.get(name) ?? ''} = ${typeText(schema, { isSent, depth: 0, names })}\n`
    return names
  }

  const members = services
    .map((service) => ({ name: `${service.package}/${service.fluxName}`, service }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, service }) =>
      memberOf(name, service, ({ $defs, ...schema }, use) =>
        typeText(schema, { ...use, names: declare(name, isObject($defs) ? $defs : {}, use.isSent) }),
      ),
    )
  return `${HEAD}\nexport type Services = {\n${members.join('')}}\n${declarations}`
}

/** `typeOf`: the type of the values of a schema. */
function memberOf(name: string, service: TypedService, typeOf: (schema: JsonObject, use: Use) => string) {
  const { source, triggers, states } = service
  const start = startSchema(service)
  /** Types of the inputs, by event. */
  const events = new Map<string, Set<string>>()
  const add = (event: string, type: string) => events.set(event, (events.get(event) ?? new Set()).add(type))
  const others = new Set<string>()
  for (const { choice, input, waiting } of states) {
    const taken = [...choice.events.keys()].filter((event) => !event.startsWith('$'))
    if (!waiting || (taken.length === 0 && choice.otherwise === null)) continue
    // Names that are not declared are accepted and ignored, unless the state keeps them: to send them is a mistake.
    const type = typeOf(eventSchema({ input }), { isSent: true, depth: 3, isOpen: input.extra })
    for (const event of taken) add(event, type)
    if (choice.otherwise !== null) others.add(type)
  }
  for (const { event } of triggers) add(event, typeOf(start, { isSent: true, depth: 3 }))
  const list = [...events]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([event, types]) => `      readonly ${quoted(event)}: ${[...types].join(' | ')}\n`)
  return [
    commentText(source['comment'], '  '),
    `  readonly ${quoted(name)}: {\n`,
    `    readonly input: ${typeOf(start, { isSent: true, depth: 2 })}\n`,
    `    readonly output: ${typeOf(outputSchema(service), { isSent: false, depth: 2 })}\n`,
    `    readonly events: ${list.length === 0 ? 'Record<never, never>' : `{\n${list.join('')}    }`}\n`,
    others.size === 0
      ? ''
      : `    /** The inputs of any other event. */\n    readonly otherEvents: ${[...others].join(' | ')}\n`,
    '  }\n',
  ].join('')
}

interface Use {
  /** Whether the values are sent: those that become the right text in JSON are accepted as well. */
  readonly isSent: boolean
  /** How far the lines of the text are indented. */
  readonly depth: number
  /** Whether the outermost object accepts names that are not declared. */
  readonly isOpen?: boolean
}

const REFERENCE = '#/$defs/'
const MAX_NAME_CHARACTERS = 100

interface Context extends Use {
  /** The types of models, by their names in the schema. */
  readonly names: ReadonlyMap<string, string>
}

function typeText(schema: Json | undefined, context: Context): string {
  if (!isObject(schema)) return 'unknown'
  const { $ref: reference, enum: choices, anyOf, not, type } = schema
  if (typeof reference === 'string') return context.names.get(reference.slice(REFERENCE.length)) ?? 'unknown'
  if (Array.isArray(choices)) return union(choices.map(literal))
  if (type !== undefined) return union([type].flat().map((each) => ofType(each, schema, context)))
  if (Array.isArray(anyOf)) return union(anyOf.map((each) => typeText(each, context)))
  return not === undefined ? 'unknown' : 'NonNullable<unknown>'
}

function union(types: readonly string[]) {
  return types.includes('unknown') ? 'unknown' : [...new Set(types)].join(' | ')
}

function ofType(type: Json, schema: JsonObject, context: Context) {
  switch (type) {
    case 'integer':
      return 'number'
    case 'string':
      return context.isSent ? textType(schema) : type
    case 'object':
      return objectType(schema, context)
    case 'array':
      return `readonly (${typeText(schema['items'], context)})[]`
    default:
      return String(type)
  }
}

/** Texts that the client makes of other values. */
function textType({ pattern }: JsonObject) {
  if (pattern === WHOLE_TEXT.source) return 'string | bigint'
  return pattern === DATE_TEXT.source ? 'string | Date' : 'string'
}

function objectType(schema: JsonObject, { isOpen, ...outer }: Context) {
  const { properties, required, additionalProperties } = schema
  const context = { ...outer, depth: outer.depth + 1 }
  const needed = new Set(Array.isArray(required) ? required : [])
  const indent = INDENT.repeat(context.depth)
  const lines = Object.entries(isObject(properties) ? properties : {}).map(([name, property]) => {
    const type = typeText(property, context)
    const declared = needed.has(name) ? `: ${type}` : `?: ${type}${inheritedType(name)} | undefined`
    const comment = isObject(property) ? commentText(property['description'], indent) : ''
    return `${comment}${indent}readonly ${nameText(name)}${declared}\n`
  })
  const takesOthers = isOpen ?? additionalProperties !== false
  // An object without any names is not the type `{}`, which accepts everything.
  if (takesOthers || lines.length === 0)
    lines.push(`${indent}readonly [name: string]: ${takesOthers ? 'unknown' : 'never'}\n`)
  return `{\n${lines.join('')}${INDENT.repeat(outer.depth)}}`
}

const INDENT = '  '

/** Where a property of such a name is left out, the compiler sees the one that every object has. */
const inheritedType = (name: string) => (name in {} && !name.startsWith('__') ? ` | Object['${name}']` : '')

/** A comment before what it describes; empty if there is no text. */
function commentText(text: Json | undefined, indent: string) {
  if (typeof text !== 'string') return ''
  const lines = text.replaceAll('*/', '*\\/').split(/[\n\r\u2028\u2029]+/)
  const [first, ...more] = lines.map((line) => line.trim()).filter((line) => line !== '')
  if (more.length === 0) return first === undefined ? '' : `${indent}/** ${first} */\n`
  return `${indent}/**\n${[first, ...more].map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`
}

/** The name of a property, quoted where it is no identifier. */
const nameText = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name))

/** A literal of TypeScript. Some editors take the separators of lines for the end of one. */
const quoted = (text: string) => JSON.stringify(text).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')

/** The type of one value. */
function literal(value: Json): string {
  if (typeof value === 'string') return quoted(value)
  if (Array.isArray(value)) return `readonly [${value.map(literal).join(', ')}]`
  if (!isObject(value)) return String(value)
  const fields = Object.entries(value).map(([name, each]) => `readonly ${nameText(name)}: ${literal(each)}`)
  return fields.length === 0 ? '{ readonly [name: string]: never }' : `{ ${fields.join('; ')} }`
}
