// http: the stream of moves as text: server-sent events, in the form that the WHATWG HTML standard gives them.
import { type CommittedMove, matchesMove, type MoveFilters } from '../../api/streams.ts'
import type { FeedItem } from '../../ports/feeds.ts'

/** Milliseconds after which a browser whose stream has ended opens it again. */
const RETRY_MS = 1000

/**
 * The first bytes. `place`: the present one, so that who loses the stream at once misses nothing; null: the reader has one.
 */
export const openingOf = (place: string | null): string =>
  `: moves\nretry: ${RETRY_MS}\n${place === null ? '' : `id: ${place}\n`}\n`
/** `place`: the present one, which a browser keeps although no event comes with it; null: the reader has one. */
export const heartbeatOf = (place: string | null): string => `: heartbeat\n${place === null ? '' : `id: ${place}\n`}\n`
export const byeOf = (reason: string): string => `event: bye\ndata: ${JSON.stringify({ reason })}\n\n`
export const droppedOf = (count: number): string => `event: dropped\ndata: ${JSON.stringify({ count })}\n\n`

/** Messages are missing behind `from`; what follows begins with `to`. `place`: to go on from; null: at the next message. */
export const gapOf = (from: string, to: string, place: string | null): string =>
  `${place === null ? '' : `id: ${place}\n`}event: gap\ndata: ${JSON.stringify({ from, to })}\n\n`

const moveTextOf = ({ id, text }: FeedItem): string => `id: ${id}\nevent: move\ndata: ${text}\n\n`

/** Some events that are written at once. Their text is made when the first reader takes them. */
export class Piece {
  /** Moves among them. */
  readonly count: number
  readonly #texts: () => string
  #bytes: Buffer | null = null

  constructor(texts: () => string, count: number) {
    this.#texts = texts
    this.count = count
  }

  get bytes(): Buffer {
    return (this.#bytes ??= Buffer.from(this.#texts()))
  }
}

/** Bytes of a piece, about. */
export const PIECE_BYTES = 32_768

/** What a reader asks for, and may see. */
export interface ReaderSelection {
  readonly filters: MoveFilters
  /** Whether it sees every move that fits. */
  readonly isAll: boolean
  readonly sees: (move: CommittedMove) => boolean
}

/** Items of the feed, of which each is made text once, for all readers. */
export class Batch {
  readonly #items: readonly FeedItem[]
  readonly #texts: (string | undefined)[] = []
  readonly #before: string

  /** `before`: the place before the first of them. */
  constructor(items: readonly FeedItem[], before: string) {
    this.#items = items
    this.#before = before
  }

  get size(): number {
    return this.#items.length
  }

  /** The events for those who ask for these, and may see these. `from`: index of the first item that counts. */
  piecesFor({ filters, isAll, sees }: ReaderSelection, from = 0): readonly Piece[] {
    const pieces: Piece[] = []
    let [places, count, characters]: [number[], number, number] = [[], 0, 0]
    const cut = () => {
      const all = places
      if (all.length > 0) pieces.push(new Piece(() => all.map((at) => this.#textOf(at)).join(''), count))
      ;[places, count, characters] = [[], 0, 0]
    }
    for (let at = from; at < this.#items.length; at += 1) {
      const item = this.#items[at]
      if (item === undefined) continue
      const { move } = item
      if (move !== null && !isAll && !(matchesMove(filters, move) && sees(move))) continue
      places.push(at)
      characters += item.text.length + item.id.length
      if (move !== null) count += 1
      if (characters >= PIECE_BYTES) cut()
    }
    cut()
    return pieces
  }

  /** Index of the first item behind that place. */
  indexBehind(place: string, isBefore: (one: string, other: string) => boolean): number {
    const index = this.#items.findIndex(({ id }) => isBefore(place, id))
    return index < 0 ? this.#items.length : index
  }

  #textOf(at: number): string {
    const [known, item] = [this.#texts[at], this.#items[at]]
    if (known !== undefined || item === undefined) return known ?? ''
    const before = this.#items[at - 1]?.id ?? this.#before
    const text = item.move === null ? gapOf(before, this.#items[at + 1]?.id ?? item.id, item.id) : moveTextOf(item)
    this.#texts[at] = text
    return text
  }
}
