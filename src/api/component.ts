// api: schemas that are named components of the OpenAPI document, and their JSON Schemas. Metadata that only the XML Schema uses is under `xsd`.
import { z } from 'zod'
import type { JsonObject } from '../model/json/value.ts'

export const components = z.registry<{ id: string }>()

/** `xml`: name of its root element in XML. `xsd`: name of its type in the XML Schema, if that differs. */
interface Naming {
  readonly description?: string
  readonly xml?: { readonly name: string; readonly namespace?: string }
  readonly xsd?: { readonly type: string }
}

export function component<T extends z.ZodType>(id: string, schema: T, naming: Naming = {}): T {
  const named = schema.meta({ ...naming })
  components.add(named, { id })
  return named
}

/** Prefix of references to components. */
const COMPONENTS = '#/components/schemas/'

/** The schemas of all components, by name. */
export function componentSchemas(): { [name: string]: JsonObject } {
  const { schemas } = z.toJSONSchema(components, {
    uri: (name) => COMPONENTS + name,
    unrepresentable: 'any',
    override: leaveOpen,
  })
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, plain(schema)]))
}

/** A reference to the component. */
export const referenceTo = (answer: z.ZodType): { $ref: string } => ({
  $ref: COMPONENTS + (components.get(answer)?.id ?? ''),
})

/** The schema of a request field, as clients send it. */
export const fieldSchema = (type: z.core.$ZodType): JsonObject =>
  plain(z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' }))

/** Later versions may add fields to answers, so the schemas allow additional properties. */
function leaveOpen({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.additionalProperties === false) jsonSchema.additionalProperties = {}
}

/** The schema as plain data, without `$schema` and `$id`. */
function plain(schema: object): JsonObject {
  const { $schema: _schema, $id: _id, ...rest }: JsonObject = JSON.parse(JSON.stringify(schema))
  return rest
}
