// api: the schemas as JSON Schema. What they say for the XML Schema alone is under `xsd`.
import { z } from 'zod'
import type { JsonObject } from '../model/json/value.ts'
import { components } from './component.ts'

/** How schemas refer to a component. */
const COMPONENTS = '#/components/schemas/'

/** What of an answer is the same wherever it occurs, by its name. */
export function componentSchemas(): { [name: string]: JsonObject } {
  const { schemas } = z.toJSONSchema(components, {
    uri: (name) => COMPONENTS + name,
    unrepresentable: 'any',
    override: leaveOpen,
  })
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, plain(schema)]))
}

/** @param answer a component */
export const referenceTo = (answer: z.ZodType): { $ref: string } => ({
  $ref: COMPONENTS + (components.get(answer)?.id ?? ''),
})

/** What a request's field takes, as it is sent. */
export const fieldSchema = (type: z.core.$ZodType): JsonObject =>
  plain(z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' }))

/** Later versions may answer more fields, and clients are to expect that. */
function leaveOpen({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.additionalProperties === false) jsonSchema.additionalProperties = {}
}

/** As data, without what names the whole. */
function plain(schema: object): JsonObject {
  const { $schema: _schema, $id: _id, ...rest }: JsonObject = JSON.parse(JSON.stringify(schema))
  return rest
}
