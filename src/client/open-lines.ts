// client: the lines of a batch that are to be sent, or were sent and have no answer yet. It takes no more from its source
// than may be without an answer, and keeps these lines, so that they can be sent again.
//
// - `open-lines.ts` has the lines of a batch that have no answer. Its bound is the backpressure: it does not depend on
//   buffers of sockets. `batch.ts` sends them in one request that is answered meanwhile, or in parts. A request whose
//   answer does not begin before the bound is reached is ended, and requests are complete from then on, since
//   something on the way holds the answer back.
// - A line that is sent again may meet the attempt before (`idempotency-in-progress`). It and all behind it are then
//   sent once more.

/** Lines, and their characters, that may be without an answer. */
const MAX_OPEN_LINES = 1024
const MAX_OPEN_CHARACTERS = 4_194_304

/** Of one piece. */
const MAX_PIECE_LINES = 512
const MAX_PIECE_CHARACTERS = 262_144

export interface TakeOptions {
  /** Aborted when nobody wants them any more. */
  readonly unwanted: AbortSignal
  /** Milliseconds for which more lines are waited for when there is one. */
  readonly gather: number
  /** Milliseconds after which null is given while there is no room; undefined: room is waited for. */
  readonly patience?: (() => number | undefined) | undefined
  /** Milliseconds after which an empty line is given while the source has none; undefined: it is waited for. */
  readonly idle?: number | undefined
}

export class OpenLines<Item> {
  readonly #iterator: AsyncIterator<Item> | Iterator<Item>
  readonly #textOf: (item: Item) => string
  readonly #open: string[] = []
  #openCharacters = 0
  /** Of the open ones, those that were taken since the last `rewind`. */
  #taken = 0
  /** Of the open ones, those that were sent before the last `rewind`. */
  #repeated = 0
  #arriving: Promise<void> | null = null
  #hasRoom: (() => void) | null = null
  #isOver = false
  #fault: { readonly error: unknown } | null = null

  /** @param textOf the line of an item, without its end */
  constructor(items: Iterable<Item> | AsyncIterable<Item>, textOf: (item: Item) => string) {
    this.#iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
    this.#textOf = textOf
  }

  /** Whether the source has no more lines, and each has its answer. */
  get isDone(): boolean {
    return this.#isOver && this.#open.length === 0
  }

  /** Whether the source has no more lines. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Whether the first line without an answer was sent before. */
  get isRepeated(): boolean {
    return this.#repeated > 0
  }

  /** What the source has thrown. */
  get fault(): { readonly error: unknown } | null {
    return this.#fault
  }

  /** The first line without an answer has got one. `false`: no line was sent for it. */
  answered(): boolean {
    const line = this.#taken > 0 ? this.#open.shift() : undefined
    if (line === undefined) return false
    this.#openCharacters -= line.length
    this.#taken -= 1
    this.#repeated = Math.max(0, this.#repeated - 1)
    this.#hasRoom?.()
    return true
  }

  /** All lines without an answer are to be taken again. */
  rewind(): void {
    this.#repeated = Math.max(this.#repeated, this.#taken)
    this.#taken = 0
    this.#hasRoom?.()
  }

  /** Ends the source. */
  async close(): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    const ended = this.#iterator.return?.()
    // A source that is asked for its next line ends when it has that one.
    if (this.#arriving === null) await ended
    else Promise.resolve(ended).catch(() => undefined)
  }

  /** The next lines, with their ends; null: there are no more, or they are not wanted. */
  async take({ unwanted, gather, patience, idle }: TakeOptions): Promise<string | null> {
    while (!unwanted.aborted && this.#taken === this.#open.length && this.#isFull)
      if (!(await this.#room(patience?.(), unwanted))) return null
    if (this.#taken === this.#open.length && !this.#isOver)
      if (!(await within(this.#arrival(), { limit: idle, unwanted }))) return unwanted.aborted ? null : '\n'
    const end = within(new Promise<void>(() => {}), { limit: gather, unwanted })
    while (!this.#isOver && !this.#isFull && this.#open.length - this.#taken < MAX_PIECE_LINES)
      if (!(await Promise.race([this.#arrival().then(() => true), end]))) break
    return unwanted.aborted ? null : this.#piece()
  }

  get #isFull(): boolean {
    return this.#open.length >= MAX_OPEN_LINES || this.#openCharacters >= MAX_OPEN_CHARACTERS
  }

  #piece(): string | null {
    let text = ''
    const end = Math.min(this.#open.length, this.#taken + MAX_PIECE_LINES)
    while (this.#taken < end && text.length < MAX_PIECE_CHARACTERS) {
      text += `${this.#open[this.#taken] ?? ''}\n`
      this.#taken += 1
    }
    return text === '' ? null : text
  }

  #room(limit: number | undefined, unwanted: AbortSignal): Promise<boolean> {
    const room = new Promise<void>((resolve) => {
      this.#hasRoom = resolve
    })
    return within(room, { limit, unwanted })
  }

  /** Resolves when the next line is open, or the source has no more. */
  #arrival(): Promise<void> {
    this.#arriving ??= this.#next().finally(() => {
      this.#arriving = null
    })
    return this.#arriving
  }

  async #next(): Promise<void> {
    try {
      const { done, value } = await this.#iterator.next()
      if (this.#isOver) return
      if (done === true) this.#isOver = true
      else await this.#add(value)
    } catch (error) {
      this.#isOver = true
      this.#fault = { error }
    }
  }

  /** @throws TypeError for an item that no line can have, after which the source is asked for no more */
  async #add(item: Item): Promise<void> {
    try {
      const line = this.#textOf(item)
      this.#open.push(line)
      this.#openCharacters += line.length
    } catch (error) {
      this.#isOver = true
      await this.#iterator.return?.()
      throw error
    }
  }
}

interface Waiting {
  /** Milliseconds; undefined: as long as it takes. */
  readonly limit: number | undefined
  readonly unwanted: AbortSignal
}

/** Whether it is there within the limit, and while it is wanted. */
function within(event: Promise<void>, { limit, unwanted }: Waiting): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isThere: boolean) => {
      clearTimeout(timer)
      unwanted.removeEventListener('abort', giveUp)
      resolve(isThere)
    }
    const giveUp = () => settle(false)
    const timer = limit === undefined ? undefined : setTimeout(giveUp, limit)
    unwanted.addEventListener('abort', giveUp)
    if (unwanted.aborted) giveUp()
    else void event.then(() => settle(true))
  })
}
