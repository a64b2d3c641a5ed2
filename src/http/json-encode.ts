// http: data as JSON text, in pieces, so that others are served in between.
import { isObject } from '../model/json.ts'
import { PIECE, slices } from './pieces.ts'

/** Levels of nesting beyond which a value is taken apart whatever its size: what looks at it as a whole uses the stack. */
const DEEPEST = 100

/** A list or an object that is being written. */
interface Open { readonly value: object; readonly keys: readonly string[] | null; next: number; first: boolean }

/** JSON text of a value, as `JSON.stringify` has it. Small data comes in one piece, other in pieces that are made when they are asked for. */
export function* jsonPieces(value: unknown): Generator<string, void> {
  const open: Open[] = []
  let text = ''
  /** Writes what is small at once. What isn't is left to the loop, strings aside. */
  function* write(item: unknown): Generator<string, void> {
    if (weight(item, PIECE) <= PIECE) text += JSON.stringify(item) ?? 'null'
    else if (typeof item === 'string') {
      text += '"'
      for (const slice of slices(item)) {
        yield text + JSON.stringify(slice).slice(1, -1)
        text = ''
      }
      text += '"'
    } else if (typeof item === 'object' && item !== null) {
      const keys = Array.isArray(item) ? null : Object.keys(item)
      text += keys === null ? '[' : '{'
      open.push({ value: item, keys, next: 0, first: true })
    }
  }
  yield* write(value)
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const { value: whole, keys, next } = top
    top.next += 1
    if (keys === null && Array.isArray(whole) && next < whole.length) {
      if (next > 0) text += ','
      yield* write(whole[next])
    } else if (keys !== null && isObject(whole) && next < keys.length) {
      const key = keys[next] ?? ''
      const item: unknown = whole[key]
      if (item === undefined) continue
      text += `${top.first ? '' : ','}${JSON.stringify(key)}:`
      top.first = false
      yield* write(item)
    } else {
      text += keys === null ? ']' : '}'
      open.pop()
    }
    if (text.length > PIECE) {
      yield text
      text = ''
    }
  }
  if (text !== '') yield text
}

/** About the length of its JSON text; stops counting beyond the limit. */
export function weight(value: unknown, limit: number, depth = 0): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 8
  if (depth > DEEPEST) return Infinity
  let size = 2
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && size <= limit; at++) size += 1 + weight(value[at], limit - size, depth + 1)
    return size
  }
  if (!isObject(value)) return size
  for (const key of Object.keys(value)) {
    if (size > limit) break
    size += key.length + 4 + weight(value[key], limit - size, depth + 1)
  }
  return size
}
