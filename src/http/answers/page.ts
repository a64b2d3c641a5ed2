// http: writes a page of a list. The page ends before the item with which it would exceed its size.
import type { Context } from 'hono'
import type { BudgetShare } from '../../model/byte-budget.ts'
import { bytesOf } from '../../model/json/weight.ts'
import type { Codec, ListMarkup } from '../formats/codecs.ts'
import type { Env } from '../request/incoming.ts'
import { ownTurn } from '../request/turns.ts'
import { bytesOfNext, SMALL_BYTES, withLength, type AnswerHeaders, type Answers } from './answers.ts'
import type { TextPieces } from '../formats/json/pieces.ts'

/** Most bytes of a page. An item that is larger is a page of its own. */
export const PAGE_BYTES = 2 * 1024 * 1024

export class PageWriter {
  readonly #answers: Answers
  readonly #format: Codec
  readonly #markup: ListMarkup
  readonly #hold: BudgetShare
  /** The parts of the page that are written. */
  readonly #parts: Uint8Array[] = []
  #bytes = 0
  #count = 0
  /** Bytes written in the present turn of the event loop. */
  #turn = 0
  /** The rest of a single item that is larger than a page. */
  #rest: TextPieces | null = null

  constructor(answers: Answers, format: Codec, root: string) {
    this.#answers = answers
    this.#format = format
    this.#markup = format.list(root)
    this.#hold = answers.hold()
  }

  /** The number of items of the page. */
  get count(): number {
    return this.#count
  }

  /**
   * Writes an item if the page has space for it; true if so. The first item is always written.
   * @throws FluxError `overloaded` when the page becomes large and the budget of large answers is used up
   */
  async add(item: unknown): Promise<boolean> {
    const { start, between } = this.#markup
    if (this.#rest !== null) return false
    const first = Buffer.from(this.#count === 0 ? start : between)
    const parts = [first]
    let bytes = first.length
    const pieces = this.#format.itemPieces(item)
    for (let next = pieces.next(); !next.done; next = pieces.next()) {
      const part = Buffer.from(next.value)
      parts.push(part)
      bytes += part.length
      await this.#grow(this.#bytes + bytes, part.length)
      if (this.#bytes + bytes <= PAGE_BYTES) continue
      if (this.#count > 0) return false
      // The rest is written while the answer is sent.
      this.#rest = pieces
      this.#hold.resize(bytes + bytesOf(item, Infinity))
      break
    }
    for (const part of parts) this.#parts.push(part)
    this.#bytes += bytes
    this.#count += 1
    return true
  }

  /** Releases its share of the budget, when the page is not sent. */
  drop(): void {
    this.#hold.release()
  }

  respond(c: Context<Env>, headers: AnswerHeaders): Response {
    const { empty, end } = this.#markup
    if (this.#count === 0) return new Response(empty, { headers })
    const last = Buffer.from(end)
    if (this.#rest === null) this.#parts.push(last)
    const length = this.#bytes + last.length
    if (this.#rest === null && length <= SMALL_BYTES) return new Response(Buffer.concat(this.#parts), { headers })
    if (this.#rest === null) this.#hold.resize(Math.min(length, PAGE_BYTES))
    const init = this.#rest === null ? withLength({ headers }, length) : { headers }
    return this.#answers.stream(c, () => this.#next(last), this.#hold, init)
  }

  #next(last: Uint8Array): Uint8Array | null {
    let [count, bytes] = [0, 0]
    while (count < this.#parts.length && bytes < SMALL_BYTES) bytes += this.#parts[count++]?.length ?? 0
    if (count > 0) return Buffer.concat(this.#parts.splice(0, count))
    if (this.#rest === null) return null
    const next = bytesOfNext(this.#rest)
    if (next === null) this.#rest = null
    return next ?? last
  }

  /**
   * Lets the event loop serve others from time to time. A page that exceeds the size of small answers is charged as a
   * full page.
   */
  async #grow(bytes: number, more: number): Promise<void> {
    if (bytes > SMALL_BYTES) this.#hold.resize(PAGE_BYTES)
    this.#turn += more
    if (this.#turn < SMALL_BYTES) return
    this.#turn = 0
    await ownTurn()
  }
}
