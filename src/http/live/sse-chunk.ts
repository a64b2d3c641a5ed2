// http: the stream of moves as text: server-sent events, in the form that the WHATWG HTML standard gives them.
import { type CommittedMove, matchesMove, type MoveFilters } from '../../api/streams.ts'
import type { FeedItem } from '../../ports/feeds.ts'

/** Milliseconds after which a browser whose stream has ended opens it again. */
const RETRY_MS = 1000

/** A place that a browser keeps, although no event comes with it; null: the reader has one. */
const idOf = (place: string | null): string => (place === null ? '' : `id: ${place}\n`)
const eventOf = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

/** The first bytes. `place`: the present one, so that a reader that loses the stream at once misses nothing. */
export const openingOf = (place: string | null): string => `: moves\nretry: ${RETRY_MS}\n${idOf(place)}\n`
export const heartbeatOf = (place: string | null): string => `: heartbeat\n${idOf(place)}\n`
export const byeOf = (reason: string): string => eventOf('bye', { reason })
export const droppedOf = (count: number): string => eventOf('dropped', { count })
/** Messages are missing behind `from`; what follows begins with `to`. `place`: to go on from; null: at the next message. */
export const gapOf = (from: string, to: string, place: string | null): string =>
  idOf(place) + eventOf('gap', { from, to })

/** What a reader asks for, and may see. */
export interface ReaderSelection {
  readonly filters: MoveFilters
  /** Whether it sees every move that fits. */
  readonly isAll: boolean
  readonly sees: (move: CommittedMove) => boolean
}

/** Bytes of a chunk, about. */
const CHUNK_BYTES = 32_768

/** Some events that are written at once, to all readers who are shown the same. */
export class SseChunk {
  /** Moves among them. */
  readonly count: number
  /** Moves, and the texts of gaps. */
  readonly #events: readonly (FeedItem | string)[]
  #bytes: Buffer | null = null

  constructor(events: readonly (FeedItem | string)[]) {
    this.#events = events
    this.count = events.filter((event) => typeof event !== 'string').length
  }

  /** They are made when the first reader takes them. */
  get bytes(): Buffer {
    return (this.#bytes ??= Buffer.from(
      this.#events
        .map((event) => (typeof event === 'string' ? event : `id: ${event.id}\nevent: move\ndata: ${event.text}\n\n`))
        .join(''),
    ))
  }

  /** The events of those items that a reader asks for, and may see. `before`: the place before the first of them. */
  static of(items: readonly FeedItem[], before: string, { filters, isAll, sees }: ReaderSelection): SseChunk[] {
    const chunks: SseChunk[] = []
    let [events, characters]: [(FeedItem | string)[], number] = [[], 0]
    const cut = () => {
      if (events.length > 0) chunks.push(new SseChunk(events))
      ;[events, characters] = [[], 0]
    }
    for (const [at, item] of items.entries()) {
      const { id, move, text } = item
      if (move === null) events.push(gapOf(items[at - 1]?.id ?? before, items[at + 1]?.id ?? id, id))
      else if (isAll || (matchesMove(filters, move) && sees(move))) events.push(item)
      else continue
      characters += text.length + id.length
      if (characters >= CHUNK_BYTES) cut()
    }
    cut()
    return chunks
  }
}
