// definitions: an entry of the table of keys as JSON Schema: what zod tells, and what `meta` adds.
import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'

/** The schema of an object, which says nothing of unknown keys. */
export function plainSchema(entry: z.ZodObject): JsonObject {
  const { $schema: _, ...schema }: JsonObject = JSON.parse(
    JSON.stringify(z.toJSONSchema(entry, { io: 'input', unrepresentable: 'any' })),
  )
  const { properties } = schema
  if (!isObject(properties)) return schema
  return {
    ...schema,
    properties: Object.fromEntries(Object.entries(properties).map(([key, facts]) => [key, nullable(facts)])),
  }
}

/** Keys that are not known are accepted. VS Code warns of them, and says which there are. */
export const openSchema = (entry: z.ZodObject): JsonObject => ({
  additionalProperties: { deprecationMessage: `unknown key: ${keysOf(entry)}` },
  ...plainSchema(entry),
})

/** No keys but the known ones. VS Code says which these are. */
export const closedSchema = (entry: z.ZodObject): JsonObject => ({
  ...plainSchema(entry),
  additionalProperties: false,
  errorMessage: `must be an object with known keys: ${keysOf(entry)}`,
})

const keysOf = (entry: z.ZodObject): string => `there are ${Object.keys(entry.shape).join(', ')}`

/** Writes `anyOf` of a type and null as a list of types, which editors show better. */
function nullable(facts: Json): Json {
  if (!isObject(facts) || !Array.isArray(facts['anyOf'])) return facts
  const [given, absent, ...more] = facts['anyOf']
  const { anyOf: _, ...rest } = facts
  const isPair = isObject(given) && isObject(absent) && absent['type'] === 'null' && more.length === 0
  if (!isPair) return facts
  if (Object.keys(given).length === 0) return rest
  return typeof given['type'] === 'string' ? { ...given, type: [given['type'], 'null'], ...rest } : facts
}
