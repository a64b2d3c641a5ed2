// model: plain JSON data, and the few careful ways to touch it. A key is always data here, `__proto__` too.

export type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject { [key: string]: Json }

/** True for an object that is neither null nor a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The object's own value under the key; undefined where there is none, whatever its prototype holds. */
export function getOwn<T>(object: { readonly [key: string]: T }, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** Sets an own property. Plain assignment of `__proto__` would change the prototype instead. */
export function setOwn<T>(object: { [key: string]: T }, key: string, value: T): void {
  if (key === '__proto__') Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
  else object[key] = value
}

/** Nesting beyond which a value is refused (it would overflow the stack of whoever walks it). */
const MAX_DEPTH = 200

/**
 * Turns what a function returned into data: dates become epoch milliseconds, Map an object, Set a list, bytes base64 text, bigint a number where that is
 * exact and text where not, NaN and infinities null unless `notFinite` says otherwise. Functions, symbols and undefined vanish from objects and are null elsewhere.
 * @param tally counts the values
 * @throws TypeError for cycles and values nested deeper than 200
 */
export function toJson(value: unknown, notFinite: (value: number) => Json = () => null, tally?: { values: number }, depth = 0): Json {
  if (tally) tally.values += 1
  switch (typeof value) {
    case 'string': case 'boolean': return value
    case 'number': return Number.isFinite(value) ? value : notFinite(value)
    case 'bigint': return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString()
    case 'object': break
    default: return null
  }
  if (value === null) return null
  if (depth >= MAX_DEPTH) throw new TypeError(`the value is cyclic or nested deeper than ${MAX_DEPTH}`)
  if (value instanceof Date) return toJson(value.getTime(), notFinite)
  if (value instanceof ArrayBuffer) return toJson(new Uint8Array(value))
  if (value instanceof DataView) return toJson(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (Array.isArray(value) || value instanceof Set) return Array.from(value, (item) => toJson(item, notFinite, tally, depth + 1))
  if (!(value instanceof Map) && 'toJSON' in value && typeof value.toJSON === 'function') return toJson(JSON.parse(JSON.stringify(value) ?? 'null'), notFinite, tally, depth + 1)
  const result: JsonObject = {}
  const set = (key: string, item: unknown) => {
    if (item !== undefined && typeof item !== 'function' && typeof item !== 'symbol') setOwn(result, key, toJson(item, notFinite, tally, depth + 1))
  }
  if (value instanceof Map) for (const [key, item] of value) set(String(key), item)
  // Not its entries: a pair for each key of a large object costs as much as the copy.
  else if (isObject(value)) for (const key of Object.keys(value)) set(key, value[key])
  return result
}

/** The same, with null for what can't be data. */
export function tryJson(value: unknown): Json {
  try {
    return toJson(value)
  } catch {
    return null
  }
}

/** Makes data unchangeable, all the way down. */
export function freeze(value: Json): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const item of Object.values(value)) freeze(item)
}

/** JSON text with sorted keys: equal data gives equal text. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(getOwn(value, key) ?? null)}`).join(',')}}`
}
