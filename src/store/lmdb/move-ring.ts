// store/lmdb: the feed of moves where there is one server: the newest 10,000 to 20,000 messages, in memory. They are gone
// when the process ends.
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../ports/clock.ts'
import {
  KEPT_MOVES,
  sizeOfMove,
  UNREAD_MS,
  type CommittedMove,
  type FeedItem,
  type FeedListener,
  type FeedPage,
  type FeedQuery,
  type MoveFeed,
} from '../../ports/feeds.ts'

/** Characters that all may take: where they are large, fewer are kept. */
const MAX_CHARACTERS = 134_217_728

/** An item whose text is made when it is first asked for: perhaps never. */
class RingItem implements FeedItem {
  readonly id: string
  readonly move: CommittedMove | null
  #text: string | null = null

  constructor(id: string, move: CommittedMove | null) {
    this.id = id
    this.move = move
  }

  get text(): string {
    this.#text ??= JSON.stringify(this.move?.message ?? null)
    return this.#text
  }
}

/** Ids are the name of this ring, and a number. */
const ID = /^([\w-]{8})\.\d{1,15}$/
const numberOf = (id: string) => Number(id.slice(id.indexOf('.') + 1))

export class MoveRing implements MoveFeed {
  readonly #clock: Pick<Clock, 'after'>
  /** Identifies this process, and the time for which it is active: ids from before are not known. */
  #name = ''
  readonly #items: RingItem[] = []
  /** Number of the first item that is kept. Those before are gone. */
  #first = 1
  #characters = 0
  #listener: FeedListener | null = null
  /** Number of the first item that the listener was not given. */
  #unheard = 1
  /** Whether the listener will be called, or was called lately. */
  #isScheduled = false
  #callOff: (() => void) | null = null

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock
  }

  get isActive(): boolean {
    return this.#name !== ''
  }

  get #end(): number {
    return this.#first + this.#items.length
  }

  miss(): void {
    this.publish(null)
  }

  async activate(): Promise<string> {
    if (!this.isActive) this.#name = randomBytes(6).toString('base64url')
    if (this.#listener === null) this.#endLater()
    return this.#idOf(this.#end - 1)
  }

  listen(from: string, listener: FeedListener): () => void {
    this.#callOff?.()
    this.#listener = listener
    this.#unheard = (this.#numberIn(from) ?? this.#end - 1) + 1
    if (this.#unheard < this.#end) this.#tellSoon()
    return () => {
      if (this.#listener !== listener) return
      this.#listener = null
      this.#endLater()
    }
  }

  async read({ after, limit, characters }: FeedQuery): Promise<FeedPage> {
    const number = this.#numberIn(after)
    const from = number === null ? 0 : number + 1 - this.#first
    const items: RingItem[] = []
    for (let left = characters; items.length < limit && left > 0;) {
      const item = this.#items[from + items.length]
      if (item === undefined) break
      items.push(item)
      left -= item.text.length
    }
    const newest = this.#idOf(this.#end - 1)
    const end = items.at(-1)?.id ?? newest
    return { items, end, isGap: number === null, isCut: end !== newest }
  }

  isBefore(one: string, other: string): boolean {
    return numberOf(one) < numberOf(other)
  }

  async close(): Promise<void> {
    this.#listener = null
    this.#callOff?.()
  }

  #idOf(number: number): string {
    return `${this.#name}.${number}`
  }

  /** The number in an id; null: what is behind it is not known, or kept no more. */
  #numberIn(id: string): number | null {
    const number = numberOf(id)
    return ID.exec(id)?.[1] === this.#name && number >= this.#first - 1 && number < this.#end ? number : null
  }

  /** null: messages are missing. */
  publish(move: CommittedMove | null): void {
    this.#items.push(new RingItem(this.#idOf(this.#end), move))
    this.#characters += sizeOfMove(move)
    const { length } = this.#items
    if (length >= 2 * KEPT_MOVES || (this.#characters > MAX_CHARACTERS && length > 1)) this.#keep(Math.ceil(length / 2))
    if (this.#listener !== null) this.#tellSoon()
  }

  /** Drops the others. Seldom, and many at once: removing from the front of a long list is slow. */
  #keep(count: number): void {
    const dropped = this.#items.splice(0, this.#items.length - count)
    for (const { move } of dropped) this.#characters -= sizeOfMove(move)
    this.#first += dropped.length
  }

  /** At the end of this turn of the event loop, or when the last call is long enough ago. */
  #tellSoon(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#tell())
  }

  #tell(): void {
    this.#isScheduled = false
    if (this.#listener === null || this.#unheard === this.#end) return
    const items = this.#items.slice(Math.max(0, this.#unheard - this.#first))
    if (this.#unheard < this.#first) items.unshift(new RingItem(this.#idOf(this.#first - 1), null))
    this.#unheard = this.#end
    this.#isScheduled = true
    this.#clock.after(this.#listener(items), () => this.#tell())
  }

  /** When there was no reader for a while, commits are not published any more, and what was kept is dropped. */
  #endLater(): void {
    this.#callOff?.()
    this.#callOff = this.#clock.after(UNREAD_MS, () => {
      this.#name = ''
      this.#keep(0)
    })
  }
}
