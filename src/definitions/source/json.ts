// definitions: parses JSON files, and knows the line and column of each of their parts.
import { escapedKey } from '../../model/failure.ts'
import type { Json } from '../../model/json/value.ts'
import { characterAt, positionOf, scanJson, type JsonVisitor, type TextPosition } from '../../model/json/scan.ts'

/** Nesting beyond which a file is refused, since recursive functions would overflow the stack. */
const MAX_DEPTH = 100

/** The file is not valid JSON. */
export class JsonFault extends Error {
  override readonly name = 'JsonFault'
  /** null if the fault is not at a single place. */
  readonly position: TextPosition | null
  constructor(message: string, position: TextPosition | null = null) {
    super(message)
    this.position = position
  }
}

/**
 * Parses the content of a file, which is UTF-8 with or without a byte order mark.
 * @throws JsonFault with the position of the first error, or when the text is nested too deeply
 */
export function readJson(bytes: Uint8Array) {
  const text = decoded(bytes)
  const outline = new Outline()
  const at = scanJson(text, outline)
  if (outline.depth > MAX_DEPTH) throw new JsonFault(`nested deeper than ${MAX_DEPTH}`)
  if (at >= 0) {
    const { line, column } = positionOf(text, at)
    const found = characterAt(text, at) ?? 'the end of the file'
    throw new JsonFault(`not valid JSON: unexpected ${found} at line ${line}, column ${column}`, { line, column })
  }
  const value: Json = JSON.parse(text)
  const { places, repeated } = outline
  /**
   * Where the value that a pointer refers to begins, or its key; of something that is missing, the position of the nearest
   * part around it. null: the file as a whole has no single position.
   */
  const placeOf = (pointer: string, part: 'key' | 'value' = 'value') => {
    let nearest = pointer
    while (!places.has(nearest)) nearest = nearest.slice(0, nearest.lastIndexOf('/'))
    return pointer === '' ? null : positionOf(text, places.get(nearest)?.[part] ?? 0)
  }
  // A repeated key has its last value.
  return { value, repeated, placeOf }
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new JsonFault('not text in UTF-8')
  }
}

/** Notes the offsets of all parts of a text by their JSON pointers. */
class Outline implements JsonVisitor {
  readonly places = new Map<string, { readonly value: number; readonly key: number }>()
  /** Keys that occur more than once in their object. */
  readonly repeated = new Set<string>()
  /** The deepest nesting so far. */
  depth = 0
  /** The lists and objects that are open, each with its current index or key, and where that key is. */
  readonly #levels: { part: string | number; key: number | null }[] = []

  open(isList: boolean): void {
    this.depth = Math.max(this.depth, this.#levels.push({ part: isList ? -1 : '', key: null }))
  }

  key(at: number, token: string): void {
    const part: string = JSON.parse(token)
    this.#levels.push({ ...this.#levels.pop(), part, key: at })
    if (this.depth <= MAX_DEPTH && this.places.has(this.#pointer())) this.repeated.add(this.#pointer())
  }

  value(at: number): void {
    const level = this.#levels.at(-1)
    if (typeof level?.part === 'number') level.part += 1
    // Of a text that is nested too deeply, only that is told.
    if (this.depth <= MAX_DEPTH) this.places.set(this.#pointer(), { value: at, key: level?.key ?? at })
  }

  close(): void {
    this.#levels.pop()
  }

  #pointer(): string {
    return this.#levels.map(({ part }) => `/${escapedKey(String(part))}`).join('')
  }
}
