// model: plain JSON data, and the few careful ways to touch it. A key is always data here, `__proto__` too.
import { SizeCount } from './size.ts'

export type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [key: string]: Json
}

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
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
  else object[key] = value
}

/** Nesting beyond which a value is refused (it would overflow the stack of whoever walks it). */
const MAX_DEPTH = 200

/** What a conversion is held to. */
interface Bounds {
  readonly notFinite: (value: number) => Json
  /** Counts the values. */
  readonly tally: { values: number } | null
  /** Counts JSON text as it is made, and throws when there is too much of it; null: there may be any amount. */
  readonly size: SizeCount | null
}

/**
 * Turns what a function returned into data: dates become epoch milliseconds, Map an object, Set and typed arrays of
 * numbers a list, bytes (Buffer, Uint8Array, ArrayBuffer, DataView) base64 text, bigint a number where that is exact
 * and text where not, NaN and infinities null unless `notFinite` says otherwise. Functions, symbols and undefined
 * vanish from objects and are null elsewhere.
 * @param tally counts the values
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
 * The same of at most so many bytes as JSON text. The work is bounded by them, too, however large or shared the value
 * is.
 * @throws TypeError as `toJson`; ResultTooLarge
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
  // Not its entries: a pair for each key of a large object costs as much as the copy.
  else if (isObject(value)) for (const key of Object.keys(value)) add(key, value[key])
  return result
}

/** Typed arrays among them: of bytes there is none left where this is asked. */
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
  return `{${Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(getOwn(value, key) ?? null)}`)
    .join(',')}}`
}
