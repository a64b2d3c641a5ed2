// http: adds to a JSON schema how XML represents its values (XML Object of OpenAPI), for generators of clients.
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'

/** The schema, in which each list says how XML names its elements. */
export function withListHints(schema: JsonObject, item = 'item'): JsonObject {
  const hinted = (part: Json): Json => (isObject(part) ? withListHints(part, item) : part)
  const result: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties' && isObject(value))
      result[key] = Object.fromEntries(Object.entries(value).map(([name, field]) => [name, hinted(field)]))
    else if (key === 'items' || key === 'additionalProperties') result[key] = hinted(value)
    else result[key] = key === 'anyOf' && Array.isArray(value) ? value.map(hinted) : value
  }
  if (schema['type'] !== 'array') return result
  return {
    ...result,
    items: { ...objectOf(result['items']), xml: { name: item } },
    xml: { ...objectOf(schema['xml']), wrapped: true },
  }
}

const objectOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
