// definitions: parses JSON files, and knows the line and column of each of their parts.
import { escapedKey } from '../../model/failure.ts'
import type { Json } from '../../model/json/value.ts'
import { characterAt, positionOf, scanJson, type TextPosition } from '../../model/json/scan.ts'

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
  /** Offsets of the parts of the text, by their JSON pointers. */
  const places = new Map<string, { readonly value: number; readonly key: number }>()
  /** Keys that occur more than once in their object. */
  const repeated = new Set<string>()
  /** The lists and objects that are open, each with its current index or key, and where that key is. */
  const levels: { part: string | number; key: number | null }[] = []
  let isTooDeep = false
  const pointer = () => levels.map(({ part }) => `/${escapedKey(String(part))}`).join('')
  const at = scanJson(text, {
    open(isList) {
      const depth = levels.push({ part: isList ? -1 : '', key: null })
      isTooDeep ||= depth > MAX_DEPTH
    },
    key(at, token) {
      const part: string = JSON.parse(token)
      levels.push({ ...levels.pop(), part, key: at })
      if (!isTooDeep && places.has(pointer())) repeated.add(pointer())
    },
    value(at) {
      const level = levels.at(-1)
      if (typeof level?.part === 'number') level.part += 1
      if (!isTooDeep) places.set(pointer(), { value: at, key: level?.key ?? at })
    },
    close: () => void levels.pop(),
  })
  if (isTooDeep) throw new JsonFault(`nested deeper than ${MAX_DEPTH}`)
  if (at >= 0) {
    const position = positionOf(text, at)
    const found = characterAt(text, at) ?? 'the end of the file'
    const { line, column } = position
    throw new JsonFault(`not valid JSON: unexpected ${found} at line ${line}, column ${column}`, position)
  }
  const value: Json = JSON.parse(text)
  /**
   * Where the value that a pointer refers to begins, or its key; for something that is missing, the position of the
   * nearest part around it. null: the file as a whole has no single position.
   */
  const placeOf = (pointer: string, part: 'key' | 'value' = 'value') => {
    let nearest = pointer
    while (!places.has(nearest)) nearest = nearest.slice(0, nearest.lastIndexOf('/'))
    return pointer === '' ? null : positionOf(text, places.get(nearest)?.[part] ?? 0)
  }
  // A repeated key has its last value.
  return { value, repeated, placeOf }
}

function decoded(bytes: Uint8Array) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new JsonFault('not text in UTF-8')
  }
}
