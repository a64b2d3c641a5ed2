// inspector/forms: a value that has the fields of a model, to begin with.
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'

/** Models may contain themselves, and be of any size. */
const MAX_DEPTH = 6
const MAX_VALUES = 200

/** As JSON; null: the schema is none of a model or of a list of them. `models`: those that it refers to, by name. */
export function skeletonOf(schema: JsonObject, models: JsonObject): string | null {
  let left = MAX_VALUES
  const valueOf = (given: JsonObject, depth: number, isRequired = true): Json => {
    const { default: initial, enum: values, $ref: reference, type, anyOf, oneOf, allOf, items, minimum } = given
    const types = new Set([type].flat())
    left -= 1
    if (initial !== undefined) return initial
    if (left < 0 || depth > MAX_DEPTH || (!isRequired && types.has('null'))) return null
    if (Array.isArray(values)) return values[0] ?? null
    const alternative = [anyOf, oneOf, allOf].flat().find(isObject)
    if (alternative) return valueOf(alternative, depth, isRequired)
    if (typeof reference === 'string')
      return valueOf(objectOf(getOwn(models, reference.slice('#/$defs/'.length))), depth + 1)
    if (types.has('array')) return isObject(items) ? [valueOf(items, depth)] : []
    if (types.has('object')) return fieldsOf(given, depth)
    if (types.has('string')) return ''
    if (types.has('boolean')) return false
    return types.has('number') || types.has('integer') ? Math.max(0, Number(minimum ?? 0)) : null
  }
  const fieldsOf = ({ properties, required }: JsonObject, depth: number) => {
    const fields: JsonObject = {}
    const needed = new Set([required].flat())
    for (const [name, field] of Object.entries(objectOf(properties)))
      if (left > 0 && isObject(field)) setOwn(fields, name, valueOf(field, depth, needed.has(name)))
    return fields
  }
  return refersToModel(schema) ? JSON.stringify(valueOf(schema, 0), null, 2) : null
}

const refersToModel = ({ $ref: reference, anyOf, items }: JsonObject): boolean =>
  typeof reference === 'string' || [anyOf, items].flat().filter(isObject).some(refersToModel)

/** An empty one in place of what is none. */
export const objectOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
