// definitions: the types of services for programs that call them: a file that exports `Services`, made of the same schemas
// that the API shows.
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import type { CompiledFlux, CompiledState } from '../flux.ts'
import { eventSchema, outputSchema, startSchema } from '../json-schema/values-schema.ts'
import { commentText, quoted, typeText } from './schema-type.ts'

export type TypedService = Pick<
  CompiledFlux,
  'package' | 'fluxName' | 'input' | 'output' | 'states' | 'triggers' | 'source'
>

const HEAD = `// The services of a folder, as types for \`createClient<Services>\` of actorflux/client.
// Written by \`actorflux types\`: write it again when the services change.
`

/** The text of the file; it is the same for the same services, in any order. */
export function serviceTypes(services: readonly TypedService[]): string {
  const models = new ModelTypes()
  const sorted = services
    .map((service) => ({ name: `${service.package}/${service.fluxName}`, service }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
  const members = sorted.map(({ name, service }) => memberOf(name, service, models))
  return `${HEAD}\nexport type Services = {\n${members.join('')}}\n${models.text}`
}

function memberOf(name: string, service: TypedService, models: ModelTypes): string {
  const { input, source, triggers, states } = service
  const { comment } = source
  const start = models.use(name, startSchema(service), { isSent: true, depth: 2 })
  const events = new Map<string, Set<string>>()
  const add = (event: string, type: string) => events.set(event, (events.get(event) ?? new Set()).add(type))
  const others = new Set<string>()
  for (const state of states) {
    const taken = [...state.choice.events.keys()].filter((event) => !event.startsWith('$'))
    if (!state.waiting || (taken.length === 0 && state.choice.otherwise === null)) continue
    const type = eventType(name, state, models)
    for (const event of taken) add(event, type)
    if (state.choice.otherwise !== null) others.add(type)
  }
  const trigger = triggers.length === 0 ? '' : models.use(name, startSchema({ input }), { isSent: true, depth: 3 })
  for (const { event } of triggers) add(event, trigger)
  const list = [...events]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([event, types]) => `      readonly ${quoted(event)}: ${[...types].join(' | ')}\n`)
  return [
    typeof comment === 'string' ? commentText(comment, '  ') : '',
    `  readonly ${quoted(name)}: {\n`,
    `    readonly input: ${start}\n`,
    `    readonly output: ${models.use(name, outputSchema(service), { isSent: false, depth: 2 })}\n`,
    `    readonly events: ${list.length === 0 ? 'Record<never, never>' : `{\n${list.join('')}    }`}\n`,
    others.size === 0 ? '' : `    /** Of any other event. */\n    readonly otherEvents: ${[...others].join(' | ')}\n`,
    '  }\n',
  ].join('')
}

/** Names that are not declared are accepted and ignored, unless the state keeps them: to send them is a mistake. */
const eventType = (name: string, state: CompiledState, models: ModelTypes): string =>
  models.use(name, eventSchema(state), { isSent: true, depth: 3, isOpen: state.input.extra })

interface Use {
  readonly isSent: boolean
  readonly depth: number
  readonly isOpen?: boolean
}

const REFERENCE = '#/$defs/'
const MAX_NAME_CHARACTERS = 100

/** The types of models, each of which has a name in the file. */
class ModelTypes {
  #text = ''
  readonly #taken = new Set(['Services'])
  /** By what the schema says, with the models that it may refer to. */
  readonly #known = new Map<string, Map<string, string>>()

  /** Their declarations. */
  get text(): string {
    return this.#text
  }

  /** The type of the values of a schema; its models are declared. */
  use(service: string, { $defs, ...schema }: JsonObject, { isSent, depth, isOpen }: Use): string {
    const names = isObject($defs) ? this.#declare(service, $defs, isSent) : new Map<string, string>()
    const nameOf = (reference: string) => names.get(reference.slice(REFERENCE.length)) ?? 'unknown'
    return typeText(schema, { isSent, nameOf, ...(isOpen !== undefined && { isOpen }) }, depth)
  }

  #declare(service: string, models: { readonly [name: string]: Json }, isSent: boolean): ReadonlyMap<string, string> {
    const content = `${isSent ? 'sent' : 'held'} ${service} ${JSON.stringify(models)}`
    const known = this.#known.get(content)
    if (known) return known
    const entries = Object.entries(models)
    const names = new Map(entries.map(([name]) => [name, this.#unused(`${service} ${name} ${isSent ? '' : 'shown'}`)]))
    this.#known.set(content, names)
    const nameOf = (reference: string) => names.get(reference.slice(REFERENCE.length)) ?? 'unknown'
    for (const [name, schema] of entries)
      this.#text += `\nexport type ${names.get(name) ?? ''} = ${typeText(schema, { isSent, nameOf })}\n`
    return names
  }

  /** An identifier that nothing else has: its words, each with a capital. */
  #unused(wanted: string): string {
    const words = wanted.split(/[^A-Za-z\d]+/).filter((word) => word !== '')
    const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
    const base = `${/^[A-Z]/.test(joined) ? '' : 'Model'}${joined}`.slice(0, MAX_NAME_CHARACTERS)
    for (let count = 1; ; count += 1) {
      const name = count === 1 ? base : `${base}_${count}`
      if (this.#taken.has(name)) continue
      this.#taken.add(name)
      return name
    }
  }
}
