// http: the streams of moves of this server. All of them share one reader of the feed; what is written to readers who ask
// for the same is made once.
import type { CommittedMove } from '../../model/committed-move.ts'
import { Turnstile } from '../../model/turnstile.ts'
import { overloaded } from '../../model/failure.ts'
import type { Clock } from '../../ports/clock.ts'
import type { FeedItem, MoveFeed } from '../../ports/move-feed.ts'
import { asksForAll, type MoveFilters } from '../../api/stream-moves.ts'
import { Batch, gapOf, heartbeatOf, openingOf, type Piece, type ReaderSelection } from './encode.ts'
import { LiveStream, queueBound, shareOf, type Sink } from './stream.ts'

export interface HubOptions {
  readonly feed: MoveFeed
  /** Whether that service is secured now. */
  readonly isSecured: (service: { readonly package: string; readonly fluxName: string }) => boolean
  readonly clock: Pick<Clock, 'after' | 'now'>
  /** Streams at once. */
  readonly maxReaders: number
}

export interface OpenRequest {
  readonly filters: MoveFilters
  /** Where the reader goes on; null: from now on. */
  readonly from: string | null
  /** Whether the reader may see secured services. It throws when it may not read any more. */
  readonly mayReadAll: () => boolean
  /** Called when all servers tell of their commits, with the first bytes. Null: the reader is gone. */
  readonly begin: (opening: string) => Sink | null
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
/** Ticks between two heartbeats. */
const HEARTBEAT_TICKS = 15
/** Items, and characters of them, read at once of what came before, and streams that read such at once. */
const CATCH_UP_ITEMS = 500
const CATCH_UP_CHARACTERS = 262_144
const MAX_CATCHING_UP = 8

/** Milliseconds between two writes to the streams: each write costs more than the bytes of some moves. */
const paceOf = (streams: number): number => Math.min(50 + streams, 250)

export class MoveHub {
  readonly #options: HubOptions
  readonly #readers = new Set<Reader>()
  /** Streams that are being opened. */
  #opening = 0
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
  }

  /**
   * Opens a stream. Resolves with it once its first bytes are written: it has every later commit of any server. Null:
   * the reader was gone by then.
   * @throws FluxError `overloaded` when there are as many as may be; `unavailable`; what `mayReadAll` throws
   */
  async open(request: OpenRequest): Promise<LiveStream | null> {
    const { feed, maxReaders } = this.#options
    if (this.#ended !== null) throw overloaded(this.#ended)
    if (this.#readers.size + this.#opening >= maxReaders) throw overloaded('there are too many streams of moves')
    const shown = this.#shownTo(request)
    this.#opening += 1
    let place
    try {
      place = await feed.activate()
    } finally {
      this.#opening -= 1
    }
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
    for (const reader of this.#readers) if (reader.stream === stream) this.#readers.delete(reader)
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
    const last = items.at(-1)
    if (last === undefined) return
    const { feed } = this.#options
    const batch = new Batch(items, this.#place)
    const before = this.#place
    this.#place = last.id
    const bounds = {
      queued: queueBound(new Set([...this.#readers].map(({ group }) => group)).size),
      share: shareOf(this.#readers.size, this.#sinceLast()),
    }
    const made = new Map<string, readonly Piece[]>()
    for (const { stream, selection, group, isLive } of this.#readers) {
      if (!isLive) continue
      if (feed.isBefore(before, stream.place)) {
        // It was opened where the feed is by now.
        stream.give(batch.piecesFor(selection, batch.indexBehind(stream.place, feed.isBefore)), bounds)
        if (feed.isBefore(stream.place, last.id)) stream.place = last.id
        continue
      }
      const pieces = made.get(group) ?? batch.piecesFor(selection)
      made.set(group, pieces)
      stream.give(pieces, bounds)
      stream.place = last.id
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

  async #readInTurn(reader: Reader): Promise<boolean> {
    await this.#catchingUp.enter()
    try {
      return reader.stream.isOver || (await this.#readOn(reader))
    } catch {
      // The reader comes again, with the place that it knows.
      reader.stream.end('the server can not read what came before')
      this.close(reader.stream)
      return true
    } finally {
      this.#catchingUp.leave()
    }
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

  /** A reader of few moves learns where the feed is, so that it can resume there though it was given nothing for long. */
  #beat({ stream, selection, isLive }: Reader): void {
    stream.tell(heartbeatOf(isLive && !selection.isAll ? stream.place : null))
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
      reader.stream.tellDropped()
      if (this.#ticks % HEARTBEAT_TICKS === 0) this.#beat(reader)
    }
  }
}
