// api: converts the schemas to JSON Schema. Metadata that only the XML Schema uses is under `xsd`.
import { z } from 'zod'
import type { JsonObject } from '../model/json/value.ts'
import { components } from './component.ts'

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
