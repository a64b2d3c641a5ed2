// http: how XML has what a JSON schema describes, told in the schema itself (XML Object of OpenAPI): clients are made
// from that.
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'

/** The schema, which tells of each list what XML calls its elements. */
export function withListHints(schema: JsonObject, item = 'item'): JsonObject {
  const hinted = (part: Json): Json => (isObject(part) ? withListHints(part, item) : part)
  const result: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'xsd') continue
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
