// model: plain JSON data, and functions that access it safely. Any key, even `__proto__`, is treated as data.

export type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [key: string]: Json
}

/** True for an object that is neither null nor a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The object's own property; undefined if there is none. The prototype is ignored. */
export function getOwn<T>(object: { readonly [key: string]: T }, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/**
 * Sets an own property. Assigning `__proto__` directly would change the prototype instead; and for the name `1000` alone,
 * V8 would keep room for all whole numbers up to it, 12 KB, but for a property that was read-only it doesn't.
 */
export function setOwn<T>(object: { [key: string]: T }, key: string, value: T): void {
  if ((key === '__proto__' || mayBeSparse(key)) && !Object.hasOwn(object, key)) {
    Object.defineProperty(object, key, { value, writable: false, enumerable: true, configurable: true })
    Object.defineProperty(object, key, { writable: true })
  } else object[key] = value
}

/** Holds for whole numbers from 100 to 9999. V8 keeps less room for others, and none up to larger ones. */
const mayBeSparse = (key: string) => key.length > 2 && key.length < 5 && key < ':'

/** A copy that shares nothing. Not `structuredClone`, which has no such care for names that are numbers. */
export const copyOf = (object: JsonObject): JsonObject => JSON.parse(JSON.stringify(object))

/** Nesting beyond which a value is refused, since recursive functions would overflow the stack. */
const MAX_DEPTH = 200

/** The JSON text of a value would have more bytes than is allowed. */
export class ResultTooLarge extends Error {
  override readonly name = 'ResultTooLarge'
  constructor(maxBytes: number) {
    super(`the result has more than ${maxBytes} bytes as JSON`)
  }
}

/**
 * Converts any value, such as the result of a function, to JSON data. A Date becomes epoch milliseconds; a Map an
 * object; a Set or a typed array of numbers a list; bytes (Buffer, Uint8Array, ArrayBuffer, DataView) base64 text; a
 * bigint a number if that is exact, else text; NaN and infinities the result of `notFinite`, by default null.
 * Functions, symbols and undefined are left out of objects and are null elsewhere.
 * @param count is called before each value and name, with the least number of bytes that its JSON text has by itself; may
 *   throw
 * @param depth of the value within another
 * @throws TypeError for cycles and values nested deeper than 200
 */
export function toJson(
  given: unknown,
  notFinite: (value: number) => Json = () => null,
  count: (bytes: number) => void = () => {},
  depth = 0,
): Json {
  const value = given instanceof Date ? given.getTime() : given
  count(leastBytes(value))
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : notFinite(value)
    case 'bigint':
      return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString()
    case 'object':
      break
    default:
      return null
  }
  if (value === null) return null
  if (depth >= MAX_DEPTH) throw new TypeError(`the value is cyclic or nested deeper than ${MAX_DEPTH}`)
  const bytes = bytesOf(value)
  if (bytes !== null) {
    if (!isList(value)) count(bytes.length)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  }
  if (value instanceof Set || isList(value))
    return Array.from(value, (item) => toJson(item, notFinite, count, depth + 1))
  if (!(value instanceof Map) && 'toJSON' in value && typeof value.toJSON === 'function') {
    const text = JSON.stringify(value, (key, item: unknown) => {
      // The outermost value is counted already.
      count(leastBytes(item) - (key === '' ? 2 : 0))
      return item
    })
    return toJson(JSON.parse(text ?? 'null'), notFinite, () => {}, depth + 1)
  }
  const result: JsonObject = {}
  const add = (key: string, item: unknown) => {
    if (item === undefined || typeof item === 'function' || typeof item === 'symbol') return
    count(key.length + 3)
    setOwn(result, key, toJson(item, notFinite, count, depth + 1))
  }
  if (value instanceof Map) for (const [key, item] of value) add(String(key), item)
  // `Object.entries` is avoided: making a pair for each key of a large object costs as much as the copy.
  else if (isObject(value)) for (const key of Object.keys(value)) add(key, value[key])
  return result
}

/**
 * As `toJson`, for at most `maxBytes` bytes of JSON text. The work is bounded by `maxBytes`, too, however large the
 * value is or however often parts of it are shared.
 * @throws TypeError as `toJson`; ResultTooLarge beyond `maxBytes`
 */
export function toBoundedJson(value: unknown, maxBytes: number): Json {
  let least = 0
  const json = toJson(value, undefined, (bytes) => {
    least += bytes
    if (least > maxBytes) throw new ResultTooLarge(maxBytes)
  })
  if (Buffer.byteLength(JSON.stringify(json)) > maxBytes) throw new ResultTooLarge(maxBytes)
  return json
}

/** Bytes of the JSON text of a value, at least: its quotes, or its brackets and commas, are counted. */
function leastBytes(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 1
  const items = value instanceof Set ? value.size : isList(value) ? value.length : 0
  return 1 + Math.max(1, items)
}

/** True for arrays and typed arrays. */
const isList = (value: object): value is { readonly length: number } & Iterable<unknown> =>
  Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))

function bytesOf(value: object): Uint8Array | null {
  if (value instanceof Uint8Array) return value
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  return value instanceof DataView ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : null
}

/** As `toJson`, but returns null for a value that can't be converted. */
export function tryJson(value: unknown): Json {
  try {
    return toJson(value)
  } catch {
    return null
  }
}

/**
 * A copy with other scalar values at all depths, and other names of objects; the value itself where nothing differs.
 */
export function mapJson(value: Json, scalar: (value: Json) => Json, name = (key: string) => key): Json {
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => mapJson(item, scalar, name))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  if (!isObject(value)) return scalar(value)
  const copy: JsonObject = {}
  let isSame = true
  for (const key of Object.keys(value)) {
    const item = value[key] ?? null
    const [newKey, newItem] = [name(key), mapJson(item, scalar, name)]
    isSame &&= newKey === key && newItem === item
    setOwn(copy, newKey, newItem)
  }
  return isSame ? value : copy
}

/** Freezes a value and everything in it. */
export function freeze(value: Json): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const item of Object.values(value)) freeze(item)
}

/** JSON text with sorted keys, so that equal data gives equal text. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  return `{${Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(getOwn(value, key) ?? null)}`)
    .join(',')}}`
}
