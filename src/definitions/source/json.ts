// definitions: JSON text as people write it into files; what is wrong with it is told by line and column.
import type { Json } from '../../model/json/value.ts'
import { characterAt, positionOf, scanJson, type TextPosition } from '../../model/json/scan.ts'

/** Nesting beyond which a file is refused: whoever walks it would overflow the stack. */
const MAX_DEPTH = 100

/** Repeated keys beyond which no more are told. */
const MAX_REPEATED = 20

export interface JsonText {
  /** Of a repeated key, the last value. */
  readonly value: Json
  /** JSON pointers (RFC 6901) of keys that stand more than once in their object. */
  readonly repeated: readonly string[]
}

/** A file that isn't JSON. */
export class JsonFault extends Error {
  override readonly name = 'JsonFault'
  /** null: not at one place. */
  readonly position: TextPosition | null
  constructor(message: string, position: TextPosition | null = null) {
    super(message)
    this.position = position
  }
}

/**
 * Decodes UTF-8, with or without a byte order mark.
 * @throws JsonFault
 */
export function decodeFile(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new JsonFault('not text in UTF-8')
  }
}

/** @throws JsonFault that says where the text goes wrong */
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

/** Where in a text something stands that a pointer names. */
export interface Located {
  readonly value: number
  /** The same as `value` for what is no member. */
  readonly key: number
}

/** Where the pointers lead in a JSON text; those that lead nowhere are left out. */
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

/** An object or a list that is still open, and which of its parts is being read. */
interface Level {
  readonly isList: boolean
  readonly keys: Set<string>
  part: string | number
  keyAt: number
}

/** Follows where in the tree a scan is. */
class Outline {
  /** The deepest nesting met. */
  depth = 0
  readonly #levels: Level[] = []
  readonly #listener: Listener

  constructor(listener: Listener) {
    this.#listener = listener
  }

  open(_: number, isList: boolean): void {
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

  readonly #pointer = () =>
    this.#levels.map(({ part }) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}
