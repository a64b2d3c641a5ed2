// inspector/forms: a value that has the fields of a model, to begin with.
import { isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'

/** Models may contain themselves, and be of any size. */
const MAX_DEPTH = 6
const MAX_VALUES = 200

/** As JSON; null: the schema is none of a model or of a list of them. `models`: those that it refers to, by name. */
export function skeletonOf(schema: JsonObject, models: JsonObject): string | null {
  let left = MAX_VALUES
  const valueOf = (given: JsonObject, depth: number, isRequired = true): Json => {
    left -= 1
    const type = new Set([given['type']].flat())
    if (given['default'] !== undefined) return given['default']
    if (left < 0 || depth > MAX_DEPTH || (!isRequired && type.has('null'))) return null
    const chosen = [given['enum'], given['anyOf'], given['oneOf'], given['allOf']].find(Array.isArray)?.[0]
    if (given['enum'] === undefined && isObject(chosen)) return valueOf(chosen, depth, isRequired)
    if (chosen !== undefined) return chosen
    if (typeof given['$ref'] === 'string') return valueOf(modelOf(given['$ref'], models), depth + 1)
    if (type.has('array')) return isObject(given['items']) ? [valueOf(given['items'], depth)] : []
    if (type.has('object')) return fieldsOf(given, depth)
    if (type.has('string')) return ''
    if (type.has('boolean')) return false
    return type.has('number') || type.has('integer') ? Math.max(0, Number(given['minimum'] ?? 0)) : null
  }
  const fieldsOf = ({ properties, required }: JsonObject, depth: number): JsonObject => {
    const fields: JsonObject = {}
    const needed = Array.isArray(required) ? required : []
    for (const [name, field] of Object.entries(isObject(properties) ? properties : {}))
      if (left > 0 && isObject(field)) setOwn(fields, name, valueOf(field, depth, needed.includes(name)))
    return fields
  }
  return refersToModel(schema) ? JSON.stringify(valueOf(schema, 0), null, 2) : null
}

function refersToModel({ $ref: reference, anyOf, items }: JsonObject): boolean {
  const nested = [...(Array.isArray(anyOf) ? anyOf : []), items]
  return typeof reference === 'string' || nested.some((each) => isObject(each) && refersToModel(each))
}

function modelOf(reference: string, models: JsonObject): JsonObject {
  const name = reference.slice('#/$defs/'.length)
  const model = Object.hasOwn(models, name) ? models[name] : null
  return isObject(model) ? model : {}
}
