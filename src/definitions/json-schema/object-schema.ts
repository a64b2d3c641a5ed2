// definitions: the JSON Schema of an object with declared properties, and what fills a property that is absent.
import { canonical, type Json, type JsonObject } from '../../model/json/value.ts'
import type { Property } from '../values/property.ts'
import { PropertyReader } from '../values/reader.ts'
import { TooMuchWork } from '../work-budget.ts'

const PROTO = '__proto__'

/** `extra`: whether other names are allowed. */
export function objectSchema(
  schemas: ReadonlyMap<string, JsonObject>,
  { required, extra }: { readonly required: readonly string[]; readonly extra: boolean },
): JsonObject {
  const properties: { [name: string]: JsonObject } = {}
  for (const [name, schema] of schemas) if (name !== PROTO) properties[name] = schema
  // Validators that keep properties in objects of their language miss one of this name.
  const proto = schemas.get(PROTO)
  return {
    type: 'object',
    properties,
    ...(proto && { patternProperties: { [`^${PROTO}$`]: proto } }),
    ...(required.length > 0 && { required: [...required] }),
    ...(!extra && { additionalProperties: false }),
  }
}

/** What an absent property gets. */
export interface FilledValue {
  readonly value: Json
  /** Whether it is another one at another time. */
  readonly isTimed: boolean
}

/** What fills the property where it is absent; null: it has no default, or one that can't be read any more. */
export function filledValueOf(property: Property): FilledValue | null {
  if (property.defaultValue === undefined) return null
  const [value, later] = [readDefault(property, 0), readDefault(property, 1)]
  if (value === null || later === null) return null
  return { value: value.json, isTimed: canonical(value.json) !== canonical(later.json) }
}

/** `now`: epoch milliseconds. */
function readDefault(property: Property, now: number): { readonly json: Json } | null {
  const reader = new PropertyReader(now, '')
  try {
    const json = reader.defaultOf(property)
    return json === undefined || reader.errors.length > 0 ? null : { json }
  } catch (error) {
    if (error instanceof TooMuchWork) return null
    throw error
  }
}
