// http: sends answers of any size. A small answer is one text. A large one is made in pieces, each when its reader has
// taken the one before, and is charged to a budget until it is sent.
//
// - An answer is encoded in pieces (`encode.ts` of each format), each when the client has taken the previous one
//   (`answers/answers.ts`). In a turn of the event loop, one piece of all answers is encoded. A small answer is one
//   text and bypasses this. A page of a list is written before its first byte is sent, because its `Link` depends on
//   its size (`answers/page.ts`): the runtime asks for each context whether it fits before it makes the next one.
import type { Context } from 'hono'
import { ByteBudget, type BudgetShare } from '../../model/byte-budget.ts'
import { bytesOf } from '../../model/json/weight.ts'
import type { Log } from '../../ports/log.ts'
import type { Env } from '../request/incoming.ts'
import { ownTurn } from '../request/turns.ts'
import type { TextPieces } from '../formats/json/pieces.ts'

/** Bytes, or characters, up to which an answer is sent in one piece. */
export const SMALL_BYTES = 65_536

export type AnswerHeaders = [string, string][] | { [name: string]: string }
export interface AnswerInit {
  readonly status?: number
  readonly headers: AnswerHeaders
}

/** Produces the next bytes of a large answer; null at its end. */
type Source = () => Uint8Array | null | Promise<Uint8Array | null>

export class Answers {
  readonly #budget: ByteBudget
  readonly #log: Log

  /** `bytes`: the budget of all large answers under way. */
  constructor({ bytes, log }: { readonly bytes: number; readonly log: Log }) {
    this.#budget = new ByteBudget({ bytes, what: 'large answers' })
    this.#log = log
  }

  /**
   * Answers with a value; `pieces` is its text.
   * @throws FluxError `overloaded` when it is large and the budget of large answers is used up
   */
  send(c: Context<Env>, value: unknown, pieces: TextPieces, init: AnswerInit): Response {
    let text = ''
    for (let next = pieces.next(); !next.done; next = pieces.next()) {
      text += next.value
      if (text.length > SMALL_BYTES) return this.#sendLarge(c, { value, text, pieces }, init)
    }
    return new Response(text, init)
  }

  /**
   * Answers with bytes. `shared`: they are in memory anyway, so they are not charged. @throws FluxError `overloaded`
   */
  bytes(c: Context<Env>, bytes: Uint8Array<ArrayBuffer>, init: AnswerInit, { shared = false } = {}): Response {
    if (bytes.length <= SMALL_BYTES) return new Response(bytes, init)
    const hold = this.hold()
    if (!shared) hold.resize(bytes.length)
    let at = 0
    return this.stream(
      c,
      () => (at < bytes.length ? bytes.subarray(at, (at += SMALL_BYTES)) : null),
      hold,
      withLength(init, bytes.length),
    )
  }

  /** A share of the budget, empty at first. */
  hold(): BudgetShare {
    return this.#budget.hold()
  }

  /**
   * Answers with the bytes of the source, and asks for the next ones when the reader has taken those before. On an
   * error the connection is closed, because part of the answer has been sent.
   */
  stream(c: Context<Env>, source: Source, hold: BudgetShare, init: AnswerInit): Response {
    if (c.req.method === 'HEAD') {
      hold.release()
      return new Response(null, init)
    }
    // In tests without a socket, there is no `outgoing`.
    const outgoing = c.env?.outgoing
    let isGone = false
    const leave = () => {
      isGone = true
      hold.release()
    }
    outgoing?.once('close', leave)
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      try {
        await ownTurn()
        if (isGone) return
        const bytes = await source()
        if (bytes !== null) return controller.enqueue(bytes)
        hold.release()
        controller.close()
      } catch (error) {
        hold.release()
        // Nobody reads any more what could not be written.
        if (isGone || outgoing?.destroyed === true) return
        this.#log.error('an answer was aborted', { method: c.req.method, path: c.req.path, error })
        if (!outgoing) return controller.error(error)
        outgoing.destroy()
        controller.close()
      }
    }
    return new Response(new ReadableStream<Uint8Array>({ pull, cancel: leave }, { highWaterMark: 0 }), init)
  }

  #sendLarge(
    c: Context<Env>,
    { value, text, pieces }: { value: unknown; text: string; pieces: TextPieces },
    init: AnswerInit,
  ): Response {
    const hold = this.hold()
    hold.resize(SMALL_BYTES + bytesOf(value, Infinity))
    // Bytes: a text that was put together of small ones takes many times as much while it waits.
    let begun: Buffer | null = Buffer.from(text)
    return this.stream(
      c,
      () => {
        const start = begun
        begun = null
        return start ?? bytesOfNext(pieces)
      },
      hold,
      init,
    )
  }
}

/** The bytes of the next piece; null: that was all. */
export function bytesOfNext(pieces: TextPieces): Buffer | null {
  const next = pieces.next()
  return next.done ? null : Buffer.from(next.value)
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
