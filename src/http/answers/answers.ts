// http: sends answers of any size. A large one is made in a turn of the event loop of its own, charged to a budget until
// it is sent, and given to its reader piece by piece, as fast as the reader takes them.
import type { Context } from 'hono'
import { ByteBudget, type BudgetShare } from '../../model/byte-budget.ts'
import { bytesOf, sizeOf } from '../../model/json/weight.ts'
import type { Codec } from '../formats/codecs.ts'
import type { Env } from '../request/incoming.ts'
import { ownTurn } from '../request/turns.ts'

/** Bytes, or characters, up to which an answer is sent in one piece. */
const SMALL_BYTES = 65_536

export interface AnswerInit {
  readonly status?: number
  readonly headers: [string, string][] | { [name: string]: string }
}

/** Produces the next bytes of a large answer; null at its end. */
type Source = () => Uint8Array | null | Promise<Uint8Array | null>

export class Answers {
  readonly #budget: ByteBudget

  /** `bytes`: the budget of all large answers under way. */
  constructor(bytes: number) {
    this.#budget = new ByteBudget({ bytes, what: 'large answers' })
  }

  /**
   * Answers with a value, as the format writes it. `root`: the name of the root element in XML.
   * @throws FluxError `overloaded` when it is large and the budget of large answers is used up
   */
  send(c: Context<Env>, value: unknown, format: Codec, root: string, init: AnswerInit): Response | Promise<Response> {
    if (sizeOf(value, SMALL_BYTES) <= SMALL_BYTES) return this.text(c, format.encode(value, root), init)
    return this.#written(value, format, root).then((bytes) => this.bytes(c, bytes, init))
  }

  /** The bytes of a large value. They are made in turns of the event loop of their own. */
  async #written(value: unknown, format: Codec, root: string): Promise<Buffer<ArrayBuffer>> {
    const release = this.#budget.take(bytesOf(value, Infinity))
    try {
      const parts: Buffer[] = []
      let text = ''
      await ownTurn()
      for (const each of format.texts?.(value, root) ?? [format.encode(value, root)]) {
        text += each
        if (text.length < SMALL_BYTES) continue
        parts.push(Buffer.from(text))
        text = ''
        await ownTurn()
      }
      return Buffer.concat([...parts, Buffer.from(text)])
    } finally {
      release()
    }
  }

  /** Answers with a text. @throws FluxError `overloaded`, as `send` */
  text(c: Context<Env>, text: string, init: AnswerInit): Response {
    return text.length <= SMALL_BYTES ? new Response(text, init) : this.bytes(c, Buffer.from(text), init)
  }

  /**
   * Answers with bytes. `shared`: they are in memory anyway, so they are not charged. @throws FluxError `overloaded`
   */
  bytes(c: Context<Env>, bytes: Uint8Array<ArrayBuffer>, init: AnswerInit, { shared = false } = {}): Response {
    if (bytes.length <= SMALL_BYTES) return new Response(bytes, init)
    const hold = this.#budget.hold()
    if (!shared) hold.resize(bytes.length)
    let at = 0
    const next = () => (at < bytes.length ? bytes.subarray(at, (at += SMALL_BYTES)) : null)
    return this.stream(c, next, init, hold)
  }

  /**
   * Answers with the bytes of the source, and asks for the next ones when the reader has taken those before. `hold` is
   * released at the end.
   */
  stream(c: Context<Env>, source: Source, init: AnswerInit, hold?: BudgetShare): Response {
    let isGone = false
    const leave = () => {
      isGone = true
      hold?.release()
    }
    if (c.req.method === 'HEAD') {
      leave()
      return new Response(null, init)
    }
    // In tests without a socket, there is no `outgoing`.
    c.env?.outgoing.once('close', leave)
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      await ownTurn()
      const bytes = isGone ? null : await source()
      if (isGone) return
      if (bytes !== null) return controller.enqueue(bytes)
      hold?.release()
      controller.close()
    }
    return new Response(new ReadableStream<Uint8Array>({ pull, cancel: leave }, { highWaterMark: 0 }), init)
  }
}
