// model: plain JSON data, and functions that access it safely. Any key, even `__proto__`, is treated as data.
import { SizeCount } from './size.ts'

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

/** Sets an own property. Assigning `__proto__` directly would change the prototype instead. */
export function setOwn<T>(object: { [key: string]: T }, key: string, value: T): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
  else object[key] = value
}

/** Nesting beyond which a value is refused, since recursive functions would overflow the stack. */
const MAX_DEPTH = 200

/** Options and limits of a conversion. */
interface Bounds {
  readonly notFinite: (value: number) => Json
  /** Counts the values. */
  readonly tally: { values: number } | null
  /** Counts the bytes of the JSON text, and throws when there are too many; null: there is no limit. */
  readonly size: SizeCount | null
}

/**
 * Converts any value, such as the result of a function, to JSON data. A Date becomes epoch milliseconds; a Map an
 * object; a Set or a typed array of numbers a list; bytes (Buffer, Uint8Array, ArrayBuffer, DataView) base64 text; a
 * bigint a number if that is exact, else text; NaN and infinities the result of `notFinite`, by default null.
 * Functions, symbols and undefined are left out of objects and are null elsewhere.
 * @param tally is incremented for each value
 * @throws TypeError for cycles and values nested deeper than 200
 */
export function toJson(
  value: unknown,
  notFinite: (value: number) => Json = () => null,
  tally: { values: number } | null = null,
): Json {
  return convert(value, { notFinite, tally, size: null }, 0)
}

/**
 * As `toJson`, for at most `maxBytes` bytes of JSON text. The work is bounded by `maxBytes`, too, however large the
 * value is or however often parts of it are shared.
 * @throws TypeError as `toJson`; ResultTooLarge beyond `maxBytes`
 */
export function toBoundedJson(value: unknown, maxBytes: number): Json {
  return convert(value, { notFinite: () => null, tally: null, size: new SizeCount(maxBytes) }, 0)
}

function convert(value: unknown, bounds: Bounds, depth: number): Json {
  const { size, notFinite, tally } = bounds
  if (tally) tally.values += 1
  switch (typeof value) {
    case 'string':
    case 'boolean':
      size?.scalar(value)
      return value
    case 'number':
      return counted(Number.isFinite(value) ? value : notFinite(value), size)
    case 'bigint':
      return counted(Number.isSafeInteger(Number(value)) ? Number(value) : value.toString(), size)
    case 'object':
      break
    default:
      return counted(null, size)
  }
  if (value === null) return counted(null, size)
  if (depth >= MAX_DEPTH) throw new TypeError(`the value is cyclic or nested deeper than ${MAX_DEPTH}`)
  if (value instanceof Date) return convert(value.getTime(), bounds, depth)
  const bytes = bytesOf(value)
  if (bytes !== null) {
    size?.text(Math.ceil(bytes.length / 3) * 4)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  }
  if (value instanceof Set || isList(value)) {
    size?.list(value instanceof Set ? value.size : value.length)
    return Array.from(value, (item) => convert(item, bounds, depth + 1))
  }
  if (!(value instanceof Map) && 'toJSON' in value && typeof value.toJSON === 'function') {
    return convert(JSON.parse(JSON.stringify(value, size?.replacer()) ?? 'null'), bounds, depth + 1)
  }
  return convertObject(value, bounds, depth)
}

function convertObject(value: object, bounds: Bounds, depth: number): JsonObject {
  const { size } = bounds
  const result: JsonObject = {}
  size?.text(0)
  let isFirst = true
  const add = (key: string, item: unknown) => {
    if (item === undefined || typeof item === 'function' || typeof item === 'symbol') return
    size?.key(key, isFirst)
    isFirst = false
    setOwn(result, key, convert(item, bounds, depth + 1))
  }
  if (value instanceof Map) for (const [key, item] of value) add(String(key), item)
  // `Object.entries` is avoided: making a pair for each key of a large object costs as much as the copy.
  else if (isObject(value)) for (const key of Object.keys(value)) add(key, value[key])
  return result
}

/** True for arrays and typed arrays. Views of bytes have been handled by `bytesOf` before. */
const isList = (value: object): value is { readonly length: number } & Iterable<unknown> =>
  Array.isArray(value) || ArrayBuffer.isView(value)

function bytesOf(value: object): Uint8Array | null {
  if (value instanceof Uint8Array) return value
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  return value instanceof DataView ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : null
}

function counted<T extends Json>(value: T, size: SizeCount | null): T {
  size?.scalar(value)
  return value
}

/** As `toJson`, but returns null for a value that can't be converted. */
export function tryJson(value: unknown): Json {
  try {
    return toJson(value)
  } catch {
    return null
  }
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
