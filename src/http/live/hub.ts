// http: the streams of moves of this server. All of them share one reader of the feed; what is written to readers who ask
// for the same is made once.
//
// - A server with readers has one connection that blocks on the stream of Redis (`tail.ts`). `http/live/hub.ts` fans
//   out: what readers with the same filters and rights get is one buffer.
// - A stream that resumes reads pages of the feed, as fast as its reader takes them and eight streams at a time, until
//   it is where the others are.
import { Turnstile } from '../../model/turnstile.ts'
import { CountBound } from '../../model/count-bound.ts'
import { overloaded } from '../../model/failure.ts'
import type { Clock } from '../../ports/clock.ts'
import type { FeedItem, MoveFeed } from '../../ports/feeds.ts'
import { asksForAll, type CommittedMove, meaningOf } from '../../api/streams.ts'
import { Batch, gapOf, heartbeatOf, openingOf, type Piece, type ReaderSelection } from './encode.ts'
import { LiveStream, paceOf, queueBound, shareOf, type OpenRequest } from './stream.ts'

export interface HubOptions {
  readonly feed: MoveFeed
  /** Whether that service is secured now. */
  readonly isSecured: (service: { readonly package: string; readonly fluxName: string }) => boolean
  readonly clock: Pick<Clock, 'after' | 'now'>
  /** Streams at once. */
  readonly maxReaders: number
}

/** An open stream, and what it shows. */
interface Reader {
  readonly stream: LiveStream
  readonly request: OpenRequest
  /** The same for readers who are shown the same. */
  group: string
  selection: ReaderSelection
  /** Whether it sees secured services. */
  seesAll: boolean
  /** Whether it is given what the feed gives; else it still reads what came before. */
  isLive: boolean
}

const TICK_MS = 1000
const HEARTBEAT_TICKS = 15
/** Items, and characters of them, read at once of what came before, and streams that read such at once. */
const CATCH_UP_ITEMS = 500
const CATCH_UP_CHARACTERS = 262_144
const MAX_CATCHING_UP = 8

export class MoveHub {
  readonly #options: HubOptions
  readonly #readers = new Set<Reader>()
  readonly #bound: CountBound
  /** Of what the streams were given. */
  #place = ''
  #stopListening: (() => void) | null = null
  #callOff: (() => void) | null = null
  #ticks = 0
  /** When the streams were last given something: epoch milliseconds. */
  #gaveAt = 0
  readonly #catchingUp = new Turnstile(MAX_CATCHING_UP)
  /** Why there are no streams any more; null: there may be. */
  #ended: string | null = null

  constructor(options: HubOptions) {
    this.#options = options
    this.#bound = new CountBound({ limit: options.maxReaders, what: 'streams of moves' })
  }

  /**
   * Opens a stream. Resolves with it once its first bytes are written: it has every later commit of any server. Null:
   * the reader was gone by then.
   * @throws FluxError `overloaded` when there are as many as may be; `unavailable`; what `mayReadAll` throws
   */
  async open(given: OpenRequest): Promise<LiveStream | null> {
    const request = { ...given, filters: meaningOf(given.filters) }
    if (this.#ended !== null) throw overloaded(this.#ended)
    this.#bound.take(request.scope)
    let stream: LiveStream | null = null
    try {
      stream = await this.#open(request)
      return stream
    } finally {
      if (stream === null) this.#bound.release(request.scope)
    }
  }

  async #open(request: OpenRequest): Promise<LiveStream | null> {
    const { feed } = this.#options
    const shown = this.#shownTo(request)
    const place = await feed.activate()
    if (this.#ended !== null) throw overloaded(this.#ended)
    const sink = request.begin(openingOf(request.from === null ? place : null))
    if (sink === null) return null
    const stream = new LiveStream(sink, request.from ?? place)
    const reader: Reader = { stream, request, ...shown, isLive: false }
    this.#readers.add(reader)
    this.#listen(place)
    if (request.from === null && !feed.isBefore(place, this.#place)) reader.isLive = true
    else void this.#catchUp(reader)
    return stream
  }

  /** To be called when the reader is gone, or its stream has ended. */
  close(stream: LiveStream): void {
    stream.close()
    for (const reader of this.#readers)
      if (reader.stream === stream) {
        this.#readers.delete(reader)
        this.#bound.release(reader.request.scope)
      }
  }

  /** Ends all streams, and opens no more. */
  end(reason: string): void {
    this.#ended = reason
    for (const { stream } of this.#readers) stream.end(reason)
    this.#readers.clear()
    this.#rest()
  }

  #shownTo({ filters, mayReadAll }: OpenRequest): Pick<Reader, 'group' | 'selection' | 'seesAll'> {
    const seesAll = mayReadAll()
    const sees = ({ message, facts }: CommittedMove) => seesAll || (!facts.secured && !this.#options.isSecured(message))
    const isAll = seesAll && asksForAll(filters)
    return { group: JSON.stringify([seesAll, filters]), selection: { filters, isAll, sees }, seesAll }
  }

  #listen(place: string): void {
    if (this.#stopListening !== null) return
    this.#place = place
    this.#stopListening = this.#options.feed.listen(place, (items) => {
      this.#give(items)
      return paceOf(this.#readers.size)
    })
    this.#tickLater()
  }

  /** Not as soon as the last reader has gone: on Redis it takes a connection to listen again. */
  #rest(): void {
    this.#stopListening?.()
    this.#stopListening = null
    this.#callOff?.()
  }

  #give(items: readonly FeedItem[]): void {
    const last = items.at(-1)?.id
    if (last === undefined) return
    const { feed } = this.#options
    const before = this.#place
    const batch = new Batch(items, before)
    this.#place = last
    const queued = queueBound(new Set([...this.#readers].map(({ group }) => group)).size)
    const bounds = { queued, share: shareOf(this.#readers.size, { elapsed: this.#sinceLast(), queued }) }
    const made = new Map<string, readonly Piece[]>()
    for (const { stream, selection, group, isLive } of this.#readers) {
      if (!isLive) continue
      if (feed.isBefore(before, stream.place)) {
        // It was opened where the feed is by now.
        stream.give(batch.piecesFor(selection, batch.indexBehind(stream.place, feed.isBefore)), bounds)
        if (feed.isBefore(stream.place, last)) stream.place = last
        continue
      }
      const pieces = made.get(group) ?? batch.piecesFor(selection)
      made.set(group, pieces)
      stream.give(pieces, bounds)
      stream.place = last
    }
  }

  /** Milliseconds since the streams were last given something. */
  #sinceLast(): number {
    const before = this.#gaveAt
    this.#gaveAt = this.#options.clock.now()
    // A clock may be set back.
    return Math.max(0, this.#gaveAt - before)
  }

  /** Gives the stream what came before, as fast as its reader takes it, until it is where the others are. */
  async #catchUp(reader: Reader): Promise<void> {
    const { stream } = reader
    for (let isLive = false; !stream.isOver && !isLive;) {
      isLive = await this.#readInTurn(reader)
      // Without a place in line: a reader that takes nothing holds up nobody.
      if (!isLive) await stream.taken()
    }
  }

  #readInTurn(reader: Reader): Promise<boolean> {
    return this.#catchingUp.run(async () => {
      try {
        return reader.stream.isOver || (await this.#readOn(reader))
      } catch {
        // The reader comes again, with the place that it knows.
        reader.stream.end('the server can not read what came before')
        this.close(reader.stream)
        return true
      }
    })
  }

  /** Reads a page; resolves with whether the stream is live now. */
  async #readOn(reader: Reader): Promise<boolean> {
    const { feed } = this.#options
    const { stream, selection } = reader
    const place = this.#place
    const query = { after: stream.place, limit: CATCH_UP_ITEMS, characters: CATCH_UP_CHARACTERS }
    const { items, end, isGap } = await feed.read(query)
    if (isGap) stream.tell(gapOf(stream.place, items[0]?.id ?? end, items.length > 0 ? null : end))
    stream.give(new Batch(items, stream.place).piecesFor(selection), null)
    stream.place = end
    // Of what the others were given meanwhile, an empty page may be too old to tell.
    if ((items.length > 0 || this.#place !== place) && feed.isBefore(end, this.#place)) return false
    reader.isLive = true
    return true
  }

  #tickLater(): void {
    this.#callOff?.()
    this.#callOff = this.#options.clock.after(TICK_MS, () => {
      this.#tickLater()
      this.#tick()
    })
  }

  #tick(): void {
    this.#ticks += 1
    if (this.#readers.size === 0) return this.#rest()
    for (const reader of this.#readers) {
      try {
        // Filters may be long, so their text is made only when the rights are others than before.
        if (reader.request.mayReadAll() !== reader.seesAll) Object.assign(reader, this.#shownTo(reader.request))
      } catch {
        reader.stream.end('the token is not valid any more')
        this.close(reader.stream)
        continue
      }
      const { stream, selection, isLive } = reader
      stream.tellDropped()
      // A reader of few moves learns where the feed is, so that it can resume there though it was given nothing for long.
      if (this.#ticks % HEARTBEAT_TICKS === 0)
        stream.tell(heartbeatOf(isLive && !selection.isAll ? stream.place : null))
    }
  }
}
