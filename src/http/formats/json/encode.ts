// http: encodes data as JSON text in pieces, so that other requests are served in between.
import { isObject } from '../../../model/json/value.ts'
import { PIECE_CHARACTERS, slices } from '../../answers/pieces.ts'

/**
 * Levels of nesting beyond which a value is written part by part whatever its size, because `JSON.stringify` and
 * `weight` recurse.
 */
const DEEPEST = 100

/** Names beyond which an object's are remembered: they are gathered in a time that grows with their number. */
const MANY_NAMES = 1000

/** The names of large objects, which each level around them asks for, and all answers that show one object share. */
const names = new WeakMap<object, readonly string[]>()

function namesOf(value: object): readonly string[] {
  const known = names.get(value)
  if (known) return known
  const own = Object.keys(value)
  if (own.length > MANY_NAMES) names.set(value, own)
  return own
}

/** A list or an object that is being written. `next`: the index of its next item. */
interface Open {
  readonly value: object
  readonly keys: readonly string[] | null
  next: number
  empty: boolean
}

/**
 * The JSON text of a value, as `JSON.stringify` writes it. Small data is one piece; otherwise each piece is made when
 * it is asked for.
 */
export const jsonPieces = (value: unknown): IterableIterator<string, void> =>
  weight(value, PIECE_CHARACTERS) <= PIECE_CHARACTERS ? [JSON.stringify(value) ?? 'null'].values() : piecesOf(value)

function* piecesOf(value: unknown): Generator<string, void> {
  const writer = new Writer()
  writer.write(value)
  for (;;) {
    if (writer.long !== null) yield* longText(writer)
    const more = writer.advance()
    if (writer.text !== '') yield writer.text
    writer.text = ''
    if (!more) return
  }
}

function* longText(writer: Writer): Generator<string, void> {
  const text = writer.long ?? ''
  writer.long = null
  writer.text += '"'
  for (const slice of slices(text)) {
    yield writer.text + JSON.stringify(slice).slice(1, -1)
    writer.text = ''
  }
  writer.text = '"'
}

class Writer {
  text = ''
  /** A text that is too long for one piece, and is written next. */
  long: string | null = null
  readonly #open: Open[] = []

  /** Writes a small value, and begins a large one. */
  write(value: unknown): void {
    if (weight(value, PIECE_CHARACTERS) <= PIECE_CHARACTERS) this.text += JSON.stringify(value) ?? 'null'
    else if (typeof value === 'string') this.long = value
    else if (typeof value === 'object' && value !== null) {
      const keys = Array.isArray(value) ? null : namesOf(value)
      this.text += keys === null ? '[' : '{'
      this.#open.push({ value, keys, next: 0, empty: true })
    }
  }

  /** Continues until there is a piece or a long text. False at the end. */
  advance(): boolean {
    for (let open = this.#open.at(-1); open !== undefined; open = this.#open.at(-1)) {
      if (this.long !== null || this.text.length >= PIECE_CHARACTERS) return true
      const { value, keys } = open
      if (keys === null && Array.isArray(value) && open.next < value.length) this.#items(open, value)
      else if (keys !== null && isObject(value) && open.next < keys.length)
        this.#field(open, keys[open.next++] ?? '', value)
      else {
        this.text += keys === null ? ']' : '}'
        this.#open.pop()
      }
    }
    return this.long !== null
  }

  /** Writes as many items as are small together, or begins a single large one. */
  #items(open: Open, list: readonly unknown[]): void {
    const start = open.next
    this.text += start === 0 ? '' : ','
    for (let size = 0; open.next < list.length; open.next++) {
      size += 1 + weight(list[open.next], PIECE_CHARACTERS)
      if (size > PIECE_CHARACTERS) break
    }
    if (open.next > start) this.text += JSON.stringify(list.slice(start, open.next)).slice(1, -1)
    else this.write(list[open.next++])
  }

  #field(open: Open, key: string, value: { readonly [key: string]: unknown }): void {
    const item = value[key]
    if (item === undefined) return
    this.text += `${open.empty ? '' : ','}${JSON.stringify(key)}:`
    open.empty = false
    this.write(item)
  }
}

/** The approximate length of the JSON text of a value; stops counting beyond the limit. */
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
  for (const key of namesOf(value)) {
    if (size > limit) break
    size += key.length + 4 + weight(value[key], limit - size, depth + 1)
  }
  return size
}

/** Values weighed in one turn of the event loop: about a millisecond. */
const STRIDE = 20_000
/** Memory of one value, without its characters. */
const VALUE_BYTES = 64

/**
 * The approximate bytes that data takes in memory: yields the count so far from time to time, and finally the whole. A
 * list or an object is counted with the number of its values when it is come upon.
 */
export function* weighing(value: unknown): Generator<number, void> {
  const left: Iterator<unknown, void>[] = [[value].values()]
  let [bytes, count] = [VALUE_BYTES, 0]
  for (let top = left.at(-1); top !== undefined; top = left.at(-1)) {
    const { value: item, done } = top.next()
    if (done) {
      left.pop()
      continue
    }
    if (typeof item === 'string') bytes += item.length
    else if (Array.isArray(item)) {
      bytes += item.length * VALUE_BYTES
      left.push(item.values())
    } else if (isObject(item)) {
      const keys = namesOf(item)
      bytes += keys.length * VALUE_BYTES
      left.push(fieldsOf(item, keys))
    }
    if (++count % STRIDE === 0) yield bytes
  }
  yield bytes
}

function* fieldsOf(value: { readonly [key: string]: unknown }, keys: readonly string[]): Generator<unknown, void> {
  for (const key of keys) yield value[key]
}
