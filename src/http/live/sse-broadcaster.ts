// http: the streams of moves of this server.
//
// 1. All of them share one reader of the feed, which on Redis is one connection (`tail.ts`). What is written to readers
//    who ask for the same, and may see the same, is made once.
// 2. A stream that resumes reads pages of the feed, as fast as its reader takes them and some streams at a time, until
//    it is where the others are.
// 3. Every second, the rights of each reader are looked at again.
import { Turnstile } from '../../model/turnstile.ts'
import { CountBound } from '../../model/count-bound.ts'
import { overloaded } from '../../model/failure.ts'
import type { Clock } from '../../ports/clock.ts'
import type { FeedItem, MoveFeed } from '../../ports/feeds.ts'
import { asksForAll, type CommittedMove, meaningOf } from '../../api/streams.ts'
import { gapOf, heartbeatOf, openingOf, SseChunk, type Shown } from './sse-chunk.ts'
import { boundsOf, SseConnection, UNBOUNDED, type OpenRequest } from './sse-connection.ts'

export interface BroadcasterOptions {
  readonly feed: MoveFeed
  /** Whether that service is secured now. */
  readonly isSecured: (service: { readonly package: string; readonly fluxName: string }) => boolean
  readonly clock: Pick<Clock, 'after' | 'now'>
  /** Streams at once. */
  readonly maxReaders: number
}

const TICK_MS = 1000
const HEARTBEAT_TICKS = 15
/** Milliseconds between two writes to the streams: each write costs more than the bytes of some moves. */
const [MIN_PACE_MS, MAX_PACE_MS] = [50, 250]
/** Items, and characters of them, read at once of what came before, and streams that read such at once. */
const CATCH_UP_ITEMS = 500
const CATCH_UP_CHARACTERS = 262_144
const MAX_CATCHING_UP = 8

export class SseBroadcaster {
  readonly #options: BroadcasterOptions
  readonly #streams = new Set<SseConnection>()
  readonly #bound: CountBound
  /** The place up to which the streams were given messages. */
  #place = ''
  #stopListening: (() => void) | null = null
  #callOff: (() => void) | null = null
  #ticks = 0
  /** When the streams were last given something: epoch milliseconds. */
  #gaveAt = 0
  readonly #catchingUp = new Turnstile(MAX_CATCHING_UP)
  /** Why there are no streams any more; null: there may be. */
  #ended: string | null = null

  constructor(options: BroadcasterOptions) {
    this.#options = options
    this.#bound = new CountBound({ limit: options.maxReaders, what: 'streams of moves' })
  }

  /**
   * Opens a stream. Resolves with it once its first bytes are written: it has every later commit of any server. Null:
   * the reader was gone by then.
   * @throws FluxError `overloaded` when there are as many as may be; `unavailable`; what `mayReadAll` throws
   */
  async open(request: OpenRequest): Promise<SseConnection | null> {
    const { feed } = this.#options
    const shown = this.#shownTo(request)
    this.#bound.take(request.scope)
    let stream: SseConnection | null = null
    try {
      const place = await feed.activate()
      if (this.#ended !== null) throw overloaded(this.#ended)
      const sink = request.begin(openingOf(request.from === null ? place : null))
      stream = sink && new SseConnection(request, sink, shown, request.from ?? place)
      if (stream === null) return null
      this.#streams.add(stream)
      this.#listen(place)
      if (request.from === null && !feed.isBefore(place, this.#place)) stream.isLive = true
      else void this.#catchUp(stream)
      return stream
    } finally {
      if (stream === null) this.#bound.release(request.scope)
    }
  }

  /** To be called when the reader is gone, or its stream has ended. */
  close(stream: SseConnection): void {
    stream.close()
    if (this.#streams.delete(stream)) this.#bound.release(stream.request.scope)
  }

  /** Ends all streams, and opens no more. */
  end(reason: string): void {
    this.#ended = reason
    for (const stream of this.#streams) stream.end(reason)
    this.#streams.clear()
    this.#rest()
  }

  #shownTo({ filters: given, mayReadAll }: OpenRequest): Shown {
    const [filters, seesAll] = [meaningOf(given), mayReadAll()]
    const sees = ({ message, facts }: CommittedMove) => seesAll || (!facts.secured && !this.#options.isSecured(message))
    const isAll = seesAll && asksForAll(filters)
    return { group: JSON.stringify([seesAll, filters]), filters, sees, seesAll, isAll }
  }

  #listen(place: string): void {
    if (this.#stopListening !== null) return
    this.#place = place
    this.#stopListening = this.#options.feed.listen(place, (items) => {
      this.#give(items)
      return Math.min(MIN_PACE_MS + this.#streams.size, MAX_PACE_MS)
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
    const { feed, clock } = this.#options
    const [before, gaveAt, now] = [this.#place, this.#gaveAt, clock.now()]
    this.#place = last
    this.#gaveAt = now
    const groups = new Set([...this.#streams].map(({ shown }) => shown.group)).size
    // A clock may be set back.
    const bounds = boundsOf(this.#streams.size, groups, Math.max(0, now - gaveAt))
    const made = new Map<string, readonly SseChunk[]>()
    for (const stream of this.#streams) {
      const { shown, place, isLive } = stream
      if (!isLive) continue
      let chunks = made.get(shown.group)
      if (feed.isBefore(before, place))
        // It was opened where the feed is by now.
        chunks = SseChunk.of(
          items.filter(({ id }) => feed.isBefore(place, id)),
          place,
          shown,
        )
      else made.set(shown.group, (chunks ??= SseChunk.of(items, before, shown)))
      stream.give(chunks, bounds)
      if (feed.isBefore(place, last)) stream.place = last
    }
  }

  /** Gives the stream what came before, as fast as its reader takes it, until it is where the others are. */
  async #catchUp(stream: SseConnection): Promise<void> {
    while (!stream.isOver && !stream.isLive) {
      try {
        await this.#catchingUp.run(() => this.#readOn(stream))
      } catch {
        // The reader comes again, with the place that it knows.
        stream.end('the server can not read what came before')
        this.close(stream)
      }
      // Without a place in line: a reader that takes nothing delays no other.
      if (!stream.isLive) await stream.taken()
    }
  }

  /** Gives a page. */
  async #readOn(stream: SseConnection): Promise<void> {
    if (stream.isOver) return
    const { feed } = this.#options
    const place = this.#place
    const query = { after: stream.place, limit: CATCH_UP_ITEMS, characters: CATCH_UP_CHARACTERS }
    const { items, end, isGap } = await feed.read(query)
    if (isGap) stream.tell(gapOf(stream.place, items[0]?.id ?? end, items.length > 0 ? null : end))
    stream.give(SseChunk.of(items, stream.place, stream.shown), UNBOUNDED)
    stream.place = end
    // An empty page may be older than what the others were given meanwhile.
    stream.isLive = !((items.length > 0 || this.#place !== place) && feed.isBefore(end, this.#place))
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
    if (this.#streams.size === 0) return this.#rest()
    for (const stream of this.#streams) {
      const { request, shown, place, isLive } = stream
      try {
        // Filters may be long, so their text is made only when the rights are others than before.
        if (request.mayReadAll() !== shown.seesAll) stream.shown = this.#shownTo(request)
      } catch {
        stream.end('the token is not valid any more')
        this.close(stream)
        continue
      }
      stream.tellDropped()
      // A reader of few moves learns where the feed is, so that it can resume there though it was given nothing for
      // long.
      if (this.#ticks % HEARTBEAT_TICKS === 0) stream.tell(heartbeatOf(isLive && !shown.isAll ? place : null))
    }
  }
}
