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

/** What a reader is shown: what it asks for, and may see. */
export interface Shown {
  /** The same for readers who are shown the same. */
  readonly group: string
  readonly filters: MoveFilters
  readonly sees: (move: CommittedMove) => boolean
  /** Whether it sees secured services, too. */
  readonly seesAll: boolean
  /** Whether it sees every move. */
  readonly isAll: boolean
}

/** Characters of a chunk, about. */
const CHUNK_CHARACTERS = 32_768

/** Some events that are written at once, to all readers who are shown the same. */
export class SseChunk {
  /** Moves among them. */
  readonly count: number
  readonly bytes: Buffer

  constructor(count: number, text: string) {
    this.count = count
    this.bytes = Buffer.from(text)
  }

  /** The events of those items that a reader asks for, and may see. `before`: the place before the first of them. */
  static of(items: readonly FeedItem[], before: string, { filters, isAll, sees }: Shown): SseChunk[] {
    const chunks: SseChunk[] = []
    let [count, text] = [0, '']
    for (const [at, { id, move, text: data }] of items.entries()) {
      if (move === null) text += gapOf(items[at - 1]?.id ?? before, items[at + 1]?.id ?? id, id)
      else if (isAll || (matchesMove(filters, move) && sees(move))) {
        text += `id: ${id}\nevent: move\ndata: ${data}\n\n`
        count += 1
      }
      if (text.length < CHUNK_CHARACTERS) continue
      chunks.push(new SseChunk(count, text))
      ;[count, text] = [0, '']
    }
    return text === '' ? chunks : [...chunks, new SseChunk(count, text)]
  }
}
