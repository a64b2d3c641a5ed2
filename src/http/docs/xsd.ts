// http: derives the XML Schema of the answers from the schemas of the calls.
//
// - The XML Schema is made from the calls (`docs/xsd.ts`). The tests validate every kind of answer against it with
//   xmllint, and the problems against RFC 9457's schema.
import type { z } from 'zod'
import { rootOf } from '../../api/call.ts'
import { CALL_LIST } from '../../api/calls.ts'
import { componentSchemas, fieldSchema, referenceTo } from '../../api/call.ts'
import { pausedAnswer } from '../../api/server.ts'
import { isObject, type JsonObject } from '../../model/json/value.ts'
import { VALUE_TYPES } from './xsd-values.ts'

const START = `<?xml version="1.0" encoding="UTF-8"?>
<!-- The XML of the answers under /flux-api, and of a webhook that is answered before its workflow ends. It is the JSON,
     field by field: a list holds <item>s, and \`type\` tells what the text alone can't. What a workflow itself answers
     may be any data. -->
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
`

/** Lines of markup. */
type Lines = readonly string[]

/** The type of an element: the name of a type, or markup that defines it inside the element. */
type Type = string | Lines

interface Field {
  readonly name: string
  readonly schema: JsonObject
  readonly isRequired: boolean
}

export function xmlSchema(): string {
  const answers = new Map<string, Set<z.ZodType>>()
  for (const answer of [
    ...CALL_LIST.flatMap(({ call: { answer, accepted, one } }) => [answer, accepted?.answer ?? [], one ?? []].flat()),
    pausedAnswer,
  ]) {
    const root = rootOf(answer)
    answers.set(root, (answers.get(root) ?? new Set()).add(answer))
  }
  const types = new Types()
  const roots = [...answers].flatMap(([root, some]) => element(root, types.ofAnswers([...some])))
  return [START, ...indented(roots), '', VALUE_TYPES, ...indented(types.named()), '', '</xs:schema>', ''].join('\n')
}

class Types {
  readonly #components = componentSchemas()
  /** Types that are defined once, by their names. */
  readonly #named = new Map<string, Lines>()

  named(): Lines {
    return [...this.#named.values()].flatMap((lines) => ['', ...lines])
  }

  /** The type of the answers that share a root. */
  ofAnswers(answers: readonly z.ZodType[]): Type {
    const [schema, ...others] = answers.map(schemaOf)
    if (schema && others.length === 0) return this.#typeOf(schema)
    return wrap(
      'xs:complexType',
      this.#particle([schema, ...others].map((each) => fieldsOf(this.#resolve(each ?? {}).schema))),
    )
  }

  #resolve(schema: JsonObject): { readonly schema: JsonObject; readonly component: string | null } {
    const { $ref: reference } = schema
    if (typeof reference !== 'string') return { schema, component: null }
    const component = reference.slice(reference.lastIndexOf('/') + 1)
    return { schema: this.#components[component] ?? {}, component }
  }

  #typeOf(given: JsonObject): Type {
    const { schema: alone, canBeNull } = withoutNull(given)
    const { schema, component } = this.#resolve(alone)
    const { type, properties, items, enum: values } = schema
    const name = nameOf(schema) ?? component?.replace(/^./, (letter) => letter.toLowerCase())
    if (isObject(properties)) return this.#define(name, this.#objectOf(schema, canBeNull))
    if (Array.isArray(values)) return this.#define(name, enumerationOf(values.map(String)))
    if (type === 'array') return this.#listOf(name, this.#typeOf(isObject(items) ? items : {}))
    const orNull = canBeNull ? 'OrNull' : ''
    if (type === 'string') return `text${orNull}`
    if (type === 'integer') return `number${orNull}`
    return type === 'boolean' ? 'boolean' : 'data'
  }

  #define(name: string | undefined, [first = '', ...lines]: Lines): Type {
    if (name === undefined) return [first, ...lines]
    const named = [first.replace('>', ` name="${name}">`), ...lines]
    const earlier = this.#named.get(name)
    // A type that allows null and one that does not cannot share a name.
    if (earlier && earlier.join() !== named.join())
      throw new TypeError(`the XML Schema has two types of the name ${name}`)
    this.#named.set(name, named)
    return name
  }

  #objectOf(schema: JsonObject, canBeNull: boolean): Lines {
    const fields = fieldsOf(schema)
    const content =
      hint(schema, 'anyOrder') === true
        ? wrap('xs:all', this.#elements(fields))
        : this.#particle(canBeNull ? [fields, []] : [fields])
    return wrap('xs:complexType', [...content, ...(canBeNull ? ['<xs:attribute name="type" type="nullType"/>'] : [])])
  }

  #listOf(name: string | undefined, type: Type): Type {
    if (type === 'text' || type === 'data') return `${type}List`
    const items = element('item', type, ' minOccurs="0" maxOccurs="unbounded"')
    return this.#define(
      name,
      wrap('xs:complexType', [
        ...wrap('xs:sequence', items),
        '<xs:attribute name="type" type="arrayType" use="required"/>',
      ]),
    )
  }

  #elements(fields: readonly Field[]): Lines {
    return fields.flatMap(({ name, schema, isRequired }) =>
      element(name, this.#typeOf(schema), isRequired ? '' : ' minOccurs="0"'),
    )
  }

  /**
   * A choice of several sequences of fields. Sequences with the same first field share it, because a validator must
   * know from the next element which sequence applies.
   */
  #particle(sequences: readonly (readonly Field[])[]): Lines {
    const some = sequences.filter(({ length }) => length > 0)
    const optional = some.length < sequences.length ? ' minOccurs="0"' : ''
    const [only, ...others] = some
    if (only && others.length === 0) return wrap(`xs:sequence${optional}`, this.#elements(only))
    const names = new Set(some.map(([first]) => first?.name))
    const branches = [...names].map((name) => {
      const branch = some.filter(([first]) => first?.name === name)
      const [[first] = []] = branch
      return branch.length === 1 || !first
        ? this.#particle(branch)
        : wrap('xs:sequence', [...this.#elements([first]), ...this.#particle(branch.map(([, ...rest]) => rest))])
    })
    return branches.length === 1 && optional === '' ? branches.flat() : wrap(`xs:choice${optional}`, branches.flat())
  }
}

/** The schema of an answer, as a reference if it is a component. */
const schemaOf = (answer: z.ZodType): JsonObject =>
  answer === pausedAnswer ? fieldSchema(answer) : referenceTo(answer)

function withoutNull(schema: JsonObject): { readonly schema: JsonObject; readonly canBeNull: boolean } {
  const { anyOf, type } = schema
  if (Array.isArray(type))
    return {
      schema: { ...schema, type: type.find((each) => each !== 'null') ?? null },
      canBeNull: type.includes('null'),
    }
  if (!Array.isArray(anyOf)) return { schema, canBeNull: false }
  const other = anyOf.find((each) => isObject(each) && each['type'] !== 'null')
  return { schema: isObject(other) ? other : {}, canBeNull: true }
}

function fieldsOf({ properties, required }: JsonObject): readonly Field[] {
  const names: readonly unknown[] = Array.isArray(required) ? required : []
  return Object.entries(isObject(properties) ? properties : {}).map(([name, given]) => {
    const schema = isObject(given) ? given : {}
    return { name, schema, isRequired: names.includes(name) && hint(schema, 'optional') !== true }
  })
}

const hint = ({ xsd }: JsonObject, key: string): unknown => (isObject(xsd) ? xsd[key] : undefined)

function nameOf(schema: JsonObject): string | undefined {
  const { xml } = schema
  const name = hint(schema, 'type') ?? (isObject(xml) ? xml['name'] : undefined)
  return typeof name === 'string' ? name : undefined
}

const enumerationOf = (values: Lines): Lines =>
  wrap(
    'xs:simpleType',
    wrap(
      'xs:restriction base="xs:string"',
      values.map((value) => `<xs:enumeration value="${value}"/>`),
    ),
  )

const element = (name: string, type: Type, occurrence = ''): Lines =>
  typeof type === 'string'
    ? [`<xs:element name="${name}" type="${type}"${occurrence}/>`]
    : wrap(`xs:element name="${name}"${occurrence}`, type)

const wrap = (start: string, content: Lines): Lines => [
  `<${start}>`,
  ...indented(content),
  `</${start.split(' ', 1)[0] ?? ''}>`,
]

const indented = (lines: Lines): Lines => lines.map((line) => (line === '' ? '' : `  ${line}`))
