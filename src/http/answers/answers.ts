// http: answers of any size. A small one is one text. A large one is written in pieces, as fast as its reader takes
// them, and counts against a budget until it is gone.
import type { Context } from 'hono'
import { ByteBudget } from '../../model/byte-budget.ts'
import type { Log } from '../../ports/log.ts'
import type { Env } from '../request/incoming.ts'
import { ownTurn } from './turns.ts'
import { weighing } from '../formats/json/encode.ts'
import type { TextPieces } from './pieces.ts'

/** Bytes, or characters, up to which an answer is sent as one. */
export const SMALL_BYTES = 65_536

export type AnswerHeaders = [string, string][] | { [name: string]: string }
export interface AnswerInit {
  readonly status?: number
  readonly headers: AnswerHeaders
}

/** Bytes of a large answer that are kept for a reader; null: an end. */
type Source = () => Uint8Array | null | Promise<Uint8Array | null>

export class Answers {
  readonly #budget: ByteBudget
  readonly #log: Log

  /** `bytes`: that all large answers under way may hold together. */
  constructor({ bytes, log }: { readonly bytes: number; readonly log: Log }) {
    this.#budget = new ByteBudget({ bytes, what: 'large answers' })
    this.#log = log
  }

  /**
   * Answers with a value, as the pieces tell it.
   * @throws FluxError `overloaded` when it is large and there are too many of them
   */
  send(c: Context<Env>, value: unknown, pieces: TextPieces, init: AnswerInit): Response | Promise<Response> {
    let text = ''
    for (let next = pieces.next(); !next.done; next = pieces.next()) {
      text += next.value
      // Nothing, of a text that is long.
      if (text.length > SMALL_BYTES || next.value === '') return this.#sendLarge(c, { value, text, pieces }, init)
    }
    return new Response(text, init)
  }

  /** Answers with bytes. `shared`: they are in memory anyway. @throws FluxError `overloaded` */
  bytes(c: Context<Env>, bytes: Uint8Array<ArrayBuffer>, init: AnswerInit, { shared = false } = {}): Response {
    if (bytes.length <= SMALL_BYTES) return new Response(bytes, init)
    const hold = this.hold()
    if (!shared) hold.set(bytes.length)
    let at = 0
    return this.stream(
      c,
      () => (at < bytes.length ? bytes.subarray(at, (at += SMALL_BYTES)) : null),
      hold,
      withLength(init, bytes.length),
    )
  }

  /** A share of the budget, nothing at first. */
  hold(): AnswerShare {
    return new AnswerShare(this.#budget)
  }

  /**
   * Answers with what the source gives, each time when the reader has taken what came before. A fault ends the
   * connection: what has been sent can't be taken back.
   */
  stream(c: Context<Env>, source: Source, hold: AnswerShare, init: AnswerInit): Response {
    if (c.req.method === 'HEAD') {
      hold.release()
      return new Response(null, init)
    }
    // Without a socket, in tests, there is none.
    const outgoing = c.env?.outgoing
    outgoing?.once('close', () => hold.release())
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      try {
        await ownTurn()
        const bytes = await source()
        if (bytes !== null) return controller.enqueue(bytes)
        hold.release()
        controller.close()
      } catch (error) {
        hold.release()
        this.#log.error('an answer broke off', { method: c.req.method, path: c.req.path, error })
        if (!outgoing) return controller.error(error)
        outgoing.destroy()
        controller.close()
      }
    }
    return new Response(
      new ReadableStream<Uint8Array>({ pull, cancel: () => hold.release() }, { highWaterMark: 0 }),
      init,
    )
  }

  /**
   * Holds about as much as a value takes in memory, and what is written of it. @throws FluxError `overloaded`: then it
   * holds nothing
   */
  async charge(hold: AnswerShare, value: unknown, written: number): Promise<void> {
    try {
      for (const bytes of weighing(value)) {
        hold.set(written + bytes)
        await ownTurn()
      }
    } catch (error) {
      hold.release()
      throw error
    }
  }

  async #sendLarge(
    c: Context<Env>,
    { value, text, pieces }: { value: unknown; text: string; pieces: TextPieces },
    init: AnswerInit,
  ): Promise<Response> {
    const hold = this.hold()
    await this.charge(hold, value, SMALL_BYTES)
    let begun: string | null = text === '' ? null : text
    return this.stream(
      c,
      async () => {
        const start = begun
        begun = null
        if (start !== null) return Buffer.from(start)
        for (let next = pieces.next(); !next.done; next = pieces.next()) {
          if (next.value !== '') return Buffer.from(next.value)
          await ownTurn()
        }
        return null
      },
      hold,
      init,
    )
  }
}

/** What one answer has of the budget. */
export class AnswerShare {
  readonly #budget: ByteBudget
  #give: (() => void) | null = null

  constructor(budget: ByteBudget) {
    this.#budget = budget
  }

  get isHeld(): boolean {
    return this.#give !== null
  }

  /**
   * Holds so many bytes instead of those before. @throws FluxError `overloaded` when there is no room for them: then it
   * holds none
   */
  set(bytes: number): void {
    this.release()
    this.#give = this.#budget.take(bytes)
  }

  release(): void {
    this.#give?.()
    this.#give = null
  }
}

export function withLength({ headers, ...init }: AnswerInit, bytes: number): AnswerInit {
  const length = String(bytes)
  return {
    ...init,
    headers: Array.isArray(headers)
      ? [...headers, ['content-length', length]]
      : { ...headers, 'content-length': length },
  }
}
