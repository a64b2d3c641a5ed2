// definitions: parses JSON files and reports errors by line and column.
import { escapedKey } from '../../model/failure.ts'
import type { Json } from '../../model/json/value.ts'
import { characterAt, positionOf, scanJson, type TextPosition } from '../../model/json/scan.ts'

/** Nesting beyond which a file is refused, since recursive functions would overflow the stack. */
const MAX_DEPTH = 100

/** Maximum number of repeated keys that are reported. */
const MAX_REPEATED = 20

export interface JsonText {
  /** A repeated key has its last value. */
  readonly value: Json
  /** JSON pointers (RFC 6901) of keys that occur more than once in their object. */
  readonly repeated: readonly string[]
}

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
 * Decodes UTF-8, with or without a byte order mark.
 * @throws JsonFault when the bytes are not valid UTF-8
 */
export function decodeFile(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new JsonFault('not text in UTF-8')
  }
}

/**
 * Parses the text of a file.
 * @throws JsonFault with the position of the first error, or when the text is nested too deeply
 */
export function readJson(text: string): JsonText {
  const repeated = new Set<string>()
  const outline = new Outline({
    key(pointer, isRepeated) {
      if (isRepeated && repeated.size < MAX_REPEATED) repeated.add(pointer())
    },
  })
  const at = scanJson(text, outline)
  if (outline.depth > MAX_DEPTH) throw new JsonFault(`nested deeper than ${MAX_DEPTH}`)
  if (at >= 0) throw new JsonFault(`not valid JSON: ${unexpected(text, at)}`, positionOf(text, at))
  const value: Json = JSON.parse(text)
  return { value, repeated: [...repeated] }
}

function unexpected(text: string, at: number): string {
  const { line, column } = positionOf(text, at)
  return `unexpected ${characterAt(text, at) ?? 'the end of the file'} at line ${line}, column ${column}`
}

/** Offsets, in a text, of what a pointer refers to. */
export interface Located {
  readonly value: number
  /** Offset of the key; the same as `value` if it is not a member of an object. */
  readonly key: number
}

/** Finds the offsets of pointers in a JSON text. Pointers that refer to nothing are left out. */
export function locate(text: string, pointers: ReadonlySet<string>): ReadonlyMap<string, Located> {
  const found = new Map<string, Located>()
  scanJson(
    text,
    new Outline({
      value(pointer, value, key) {
        const at = pointer()
        if (pointers.has(at)) found.set(at, { value, key })
      },
    }),
  )
  return found
}

interface Listener {
  key?(pointer: () => string, isRepeated: boolean): void
  value?(pointer: () => string, value: number, key: number): void
}

/** An open object or list, and its current member or element. */
interface Level {
  readonly isList: boolean
  readonly keys: Set<string>
  part: string | number
  keyAt: number
}

/** Tracks the JSON pointer of the current position of a scan. */
class Outline {
  /** The deepest nesting so far. */
  depth = 0
  readonly #levels: Level[] = []
  readonly #listener: Listener

  constructor(listener: Listener) {
    this.#listener = listener
  }

  open(isList: boolean): void {
    this.#levels.push({ isList, keys: new Set(), part: isList ? -1 : '', keyAt: 0 })
    this.depth = Math.max(this.depth, this.#levels.length)
  }

  key(at: number, token: string): void {
    const level = this.#levels.at(-1)
    if (level === undefined) return
    const key: string = JSON.parse(token)
    level.part = key
    level.keyAt = at
    const { size } = level.keys
    this.#listener.key?.(this.#pointer, level.keys.add(key).size === size)
  }

  value(at: number): void {
    const level = this.#levels.at(-1)
    if (level && typeof level.part === 'number') level.part += 1
    this.#listener.value?.(this.#pointer, at, level && !level.isList ? level.keyAt : at)
  }

  close(): void {
    this.#levels.pop()
  }

  readonly #pointer = () => this.#levels.map(({ part }) => `/${escapedKey(String(part))}`).join('')
}
