// http: the answers to lines, in the order of the lines, whenever each is known. They are taken as fast as the client
// reads them.
import type { TextPieces } from '../formats/json/pieces.ts'
import { nextTurn } from '../request/turns.ts'
import { sizeOf } from '../../model/json/weight.ts'
import { jsonPieces } from '../formats/json/encode.ts'

/** Characters of answers that are sent at a time. */
const CHUNK_CHARACTERS = 65_536

/** Of a small answer its text. */
interface Answered {
  readonly text: string | TextPieces
  readonly size: number
}

const NOTHING: Answered = { text: '', size: 0 }

export class AnswerLines {
  readonly #onTaken: () => void
  /** By the place of their line. */
  readonly #answered = new Map<number, Answered>()
  /** The place whose answer comes next. */
  #next = 0
  #places = 0
  /** Characters, about, of those that are known and not taken. */
  #size = 0
  #last: string | null = null
  #isDone = false
  #wake: (() => void) | null = null

  /** @param onTaken called each time when the client takes some */
  constructor(onTaken: () => void) {
    this.#onTaken = onTaken
  }

  /** Lines whose answers aren't taken yet, known or not. */
  get open(): number {
    return this.#places - this.#next
  }

  /** Characters, about, of answers that are known and not taken. */
  get size(): number {
    return this.#size
  }

  /** A place for the answer to the next line. */
  place(): number {
    return this.#places++
  }

  /** @param value null: the line has no answer */
  answer(place: number, value: object | null): void {
    const answered = value === null ? NOTHING : answeredBy(value)
    this.#answered.set(place, answered)
    this.#size += answered.size
    if (place === this.#next) this.#wake?.()
  }

  /** What stands at the end, once all places have their answer. */
  end(last: object): void {
    this.#last = `${JSON.stringify(last)}\n`
    this.#wake?.()
  }

  /** The next piece, as soon as there is one; null: that was all. */
  async take(): Promise<Buffer | null> {
    for (;;) {
      if (this.#isDone) return null
      if (!this.#answered.has(this.#next) && this.#last === null)
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      this.#wake = null
      // Those that were committed with it come along.
      await nextTurn()
      const text = this.#collect()
      if (text !== '') return Buffer.from(text)
    }
  }

  #collect(): string {
    let text = ''
    const before = this.#next
    while (text.length < CHUNK_CHARACTERS) {
      const answered = this.#answered.get(this.#next)
      if (answered === undefined) break
      if (typeof answered.text === 'string') text += answered.text
      else if (text !== '') break
      else {
        const { value, done } = answered.text.next()
        if (!done) return value
        text = '\n'
      }
      this.#answered.delete(this.#next)
      this.#size -= answered.size
      this.#next += 1
    }
    if (this.#next !== before) this.#onTaken()
    if (this.open === 0 && this.#last !== null && text.length < CHUNK_CHARACTERS) {
      this.#isDone = true
      text += this.#last
    }
    return text
  }
}

function answeredBy(value: object): Answered {
  const size = sizeOf(value, CHUNK_CHARACTERS)
  if (size > CHUNK_CHARACTERS) return { text: jsonPieces(value), size: sizeOf(value, Infinity) }
  const text = `${JSON.stringify(value)}\n`
  return { text, size: text.length }
}
