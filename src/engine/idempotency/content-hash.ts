// engine/idempotency: the hash by which contents under a key are distinguished: that of their JSON text with sorted names,
// made in one pass. For a large content the event loop is served in between.
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { SortedNames } from './sorted-names.ts'

/** Values hashed in one turn of the event loop, about 2 ms, and characters that count as one. */
const VALUES_PER_TURN = 5_000
const CHARACTERS_PER_VALUE = 64
/** Characters that are given to the hash at once. */
const PIECE_CHARACTERS = 16 * 1024

/**
 * The same for contents of plain data that differ only in the order of names, and in what is undefined. A promise where
 * the content is large. Stored: it must stay the same for ever.
 */
export function contentHashOf(content: object): string | Promise<string> {
  const hash = new ContentHash(content)
  return hash.goOn() ? hash.hex() : later(hash)
}

async function later(hash: ContentHash): Promise<string> {
  do await nextTurn()
  while (!hash.goOn())
  return hash.hex()
}

/** A list that is begun and has not ended. */
interface OpenList {
  readonly list: readonly unknown[]
  at: number
}

/** An object that is. */
interface OpenObject {
  readonly object: object
  readonly names: SortedNames
  at: number
  isEmpty: boolean
}

class ContentHash {
  readonly #hash = createHash('sha256')
  readonly #open: (OpenList | OpenObject)[] = []
  #text = ''
  #spent = 0

  constructor(content: object) {
    this.#begin(content)
  }

  hex(): string {
    return this.#hash.update(this.#text).digest('hex')
  }

  /** Works as long as a turn may; true: it is done. */
  goOn(): boolean {
    this.#spent = 0
    for (let last = this.#open.at(-1); last !== undefined; last = this.#open.at(-1)) {
      if (this.#spent >= VALUES_PER_TURN) return false
      this.#spent += 1
      if ('list' in last) this.#item(last)
      else if (last.names.isSorted) this.#member(last)
      else this.#spent += last.names.sort()
    }
    return true
  }

  #item(open: OpenList): void {
    const place = open.at
    if (place >= open.list.length) return this.#end(']')
    open.at += 1
    if (place > 0) this.#write(',')
    this.#value(open.list[place])
  }

  #member(open: OpenObject): void {
    const name = open.names.all[open.at]
    if (name === undefined) return this.#end('}')
    open.at += 1
    const value: unknown = Reflect.get(open.object, name)
    if (value === undefined) return
    this.#write(`${open.isEmpty ? '' : ','}${JSON.stringify(name)}:`)
    open.isEmpty = false
    this.#value(value)
  }

  #value(value: unknown): void {
    if (typeof value === 'object' && value !== null) this.#begin(value)
    else this.#write(JSON.stringify(value) ?? 'null')
  }

  #begin(value: object): void {
    const isList = Array.isArray(value)
    this.#write(isList ? '[' : '{')
    this.#open.push(
      isList
        ? { list: value, at: 0 }
        : { object: value, names: new SortedNames(Object.keys(value)), at: 0, isEmpty: true },
    )
  }

  #end(bracket: string): void {
    this.#open.pop()
    this.#write(bracket)
  }

  #write(text: string): void {
    this.#text += text
    this.#spent += Math.floor(text.length / CHARACTERS_PER_VALUE)
    if (this.#text.length < PIECE_CHARACTERS) return
    this.#hash.update(this.#text)
    this.#text = ''
  }
}
