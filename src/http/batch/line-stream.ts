// http: a request that is read line by line and answered line by line. It is read no faster than its lines are dealt
// with and their answers are taken, so memory stays flat however long it is.
//
// - Many events, or starts, come as lines (`http/batch/line-stream.ts`): `line-splitter.ts` cuts them out of what has
//   come, `lanes.ts` runs them side by side and in order where they name the same context, and `answer-lines.ts` gives
//   their answers in order. It reads only while lines under way and answers that were not taken are few. Events that
//   name a context by its id are posted to its mailbox one after the other, so one turn decides many of them.
import type { Told } from '../../api/calls.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import { FluxError, unavailable, type Failure } from '../../model/failure.ts'
import type { Clock } from '../../ports/clock.ts'
import { isLarge, ownTurn, pauseFor } from '../request/turns.ts'
import { problemOf, type ProblemDocument } from '../formats/problem.ts'
import { bodyMemoryOf } from '../request/incoming.ts'
import { AnswerLines } from './answer-lines.ts'
import { Lanes, type LaneJob } from './lanes.ts'
import { LineSplitter } from './line-splitter.ts'
import { MAX_BLANK_BYTES, TOO_BLANK, type PausableSource, type SourceEvents } from './source.ts'

/** The answer to a line: the status of the single call, and what else it says. */
export interface LineAnswer {
  readonly status: number
  readonly [field: string]: unknown
}

/** What a line asks for. */
export interface LineRequest extends Omit<LaneJob, 'run'> {
  /** Its status, and what else the answer says. @throws FluxError when it is refused */
  run(placed: () => void): Promise<Told<LineAnswer>>
}

export interface LineStreamOptions {
  /**
   * Counts a line, and reads it. It is given one that is refused already, too.
   * @throws FluxError for a line that isn't to be understood, or whose caller sends too many
   */
  readonly read: (line: Buffer | FluxError) => LineRequest
  readonly open: (events: SourceEvents) => PausableSource
  /** Of an error that a line met. It has logged what isn't for the client. */
  readonly failureOf: (error: unknown) => Failure
  /** Whether lines that succeed have no answer. */
  readonly minimal: boolean
  /** Bytes of a line. */
  readonly maxBody: number
  readonly inFlight: ByteBudget
  readonly clock: Clock
  /** Milliseconds that may pass between two lines. */
  readonly idleMs: number
}

/** Lines dealt with at once: as many as the store commits together. */
const LINES_AT_ONCE = 512
/** Lines whose answers aren't taken yet, and characters of these answers. */
const MAX_OPEN_LINES = 2048
const MAX_OPEN_CHARACTERS = 1_048_576
/** Bytes that are read ahead. */
const AHEAD_BYTES = 131_072

export class LineStream {
  readonly #options: LineStreamOptions
  readonly #source: PausableSource
  readonly #splitter: LineSplitter
  readonly #answers = new AnswerLines(() => this.#goOnSoon())
  readonly #lanes = new Lanes({ atOnce: LINES_AT_ONCE, onRoom: () => this.#goOnSoon() })
  readonly #heldBack = new HeldBack(() => !this.#hasEnded || this.#splitter.held > 0)
  #ok = 0
  #failed = 0
  /** Why it was broken off. */
  #problem: Failure | null = null
  #hasEnded = false
  /** A line waits for memory, or for a turn of its own. */
  #holdsLine = false
  #isGoingOn = false
  #isOver = false
  #idle: (() => void) | null = null
  #endsSeen = 0

  constructor(options: LineStreamOptions) {
    this.#options = options
    const share = options.inFlight.hold()
    this.#splitter = new LineSplitter({ limit: options.maxBody, charge: share.resize })
    this.#source = options.open({
      onChunk: (chunk) => this.#feed(chunk),
      onEnd: () => {
        this.#splitter.end()
        this.#end()
      },
      onFault: ({ failure }) => this.breakOff(failure),
    })
    this.#goOnSoon()
  }

  /** Bytes of the request that are held, and lines whose answers aren't taken yet. For tests. */
  get held(): { readonly bytes: number; readonly lines: number } {
    return { bytes: this.#splitter.held, lines: this.#answers.open }
  }

  /** The next piece of the answer; null: that was all. */
  take(): Promise<Buffer | null> {
    return this.#answers.take()
  }

  /** Reads no further. What came whole is still dealt with, and the last line says why. */
  breakOff(failure: Failure): void {
    if (this.#hasEnded) return
    this.#problem = failure
    this.#splitter.breakOff()
    this.#end()
  }

  /** As `breakOff`, and drops what hasn't begun. The last line says so also where the whole request has come. */
  stop(failure: Failure = unavailable('the server is stopping').failure): void {
    if (this.#splitter.held > 0) this.#problem ??= failure
    this.#splitter.clear()
    this.#heldBack.check()
    this.breakOff(failure)
  }

  #end(): void {
    this.#hasEnded = true
    this.#source.close()
    this.#rest()
    this.#heldBack.check()
    this.#goOnSoon()
  }

  #feed(chunk: Buffer): void {
    this.#splitter.feed(chunk)
    if (this.#splitter.held > AHEAD_BYTES) this.#source.pause()
    this.#goOnSoon()
  }

  /** In a turn of its own: many streams must not hold up others. */
  #goOnSoon(): void {
    if (this.#isGoingOn || this.#isOver) return
    this.#isGoingOn = true
    void ownTurn('acting').then(() => this.#goOn())
  }

  get #isFull(): boolean {
    const { open, size } = this.#answers
    return this.#holdsLine || this.#lanes.isFull || open >= MAX_OPEN_LINES || size >= MAX_OPEN_CHARACTERS
  }

  #goOn(): void {
    this.#isGoingOn = false
    while (!this.#isFull) {
      const line = this.#splitter.next()
      if (line === null) return this.#starve()
      if (line instanceof FluxError) this.#begin(line, () => {})
      else this.#admit(line)
    }
    this.#source.pause()
    this.#rest()
  }

  /** There is no line to go on with. */
  #starve(): void {
    if (this.#hasEnded) {
      if (this.#lanes.isIdle) this.#finish()
      return
    }
    const { ends, blank } = this.#splitter
    if (blank > MAX_BLANK_BYTES) return this.breakOff(TOO_BLANK)
    if (ends !== this.#endsSeen) this.#rest()
    this.#endsSeen = ends
    const { clock, idleMs } = this.#options
    this.#idle ??= clock.after(idleMs, () =>
      this.breakOff({ kind: 'timeout', detail: `no line came for ${idleMs / 1000} seconds` }),
    )
    this.#source.resume()
  }

  /** The client isn't waited for. */
  #rest(): void {
    this.#idle?.()
    this.#idle = null
  }

  #admit(line: Buffer): void {
    const bytes = bodyMemoryOf(line)
    const release = isLarge(line.length) ? null : this.#options.inFlight.tryTake(bytes)
    if (release) return this.#begin(line, release)
    this.#holdsLine = true
    void this.#beginLater(line, bytes)
  }

  async #beginLater(line: Buffer, bytes: number): Promise<void> {
    const release = await this.#options.inFlight.wait(bytes)
    await pauseFor(line.length)
    this.#holdsLine = false
    this.#begin(line, release)
    this.#goOnSoon()
  }

  #begin(line: Buffer | FluxError, release: () => void): void {
    const place = this.#answers.place()
    const fail = (error: unknown) => {
      release()
      this.#fail(place, error)
    }
    const succeed = ({ answer, ended }: Told<LineAnswer>): Promise<void> | void => {
      try {
        this.#answers.answer(place, this.#options.minimal ? null : { n: place, ...answer })
        this.#ok += 1
        // It goes on, and lines that are to come after it wait for its end.
        if (ended) return this.#heldBack.until(ended).finally(release)
        release()
      } catch (error) {
        fail(error)
      }
    }
    try {
      const request = this.#options.read(line)
      const { concern, key } = request
      this.#lanes.add({ concern, key, run: (placed) => request.run(placed).then(succeed, fail) })
    } catch (error) {
      fail(error)
    }
  }

  #fail(place: number, error: unknown): void {
    this.#failed += 1
    this.#answers.answer(place, refusedLineOf(place, this.#options.failureOf(error)))
  }

  #finish(): void {
    if (this.#isOver) return
    this.#isOver = true
    const [ok, failed] = [this.#ok, this.#failed]
    const problem = this.#problem === null ? {} : { problem: problemOf(this.#problem) }
    this.#answers.end({ done: this.#problem === null, lines: ok + failed, ok, failed, ...problem })
  }
}

/**
 * What holds lines back: a line that was answered, and is still being carried out. It holds back nothing once no more
 * lines come.
 */
class HeldBack {
  readonly #isNeeded: () => boolean
  #release: (() => void) | null = null

  /** @param isNeeded whether lines may come */
  constructor(isNeeded: () => boolean) {
    this.#isNeeded = isNeeded
  }

  /** Resolves when it is over, or no more lines come. */
  async until(isOver: Promise<void>): Promise<void> {
    const released = new Promise<void>((resolve) => {
      this.#release = resolve
    })
    this.check()
    await Promise.race([isOver, released])
  }

  /** To be called when no more lines may come. */
  check(): void {
    if (!this.#isNeeded()) this.#release?.()
  }
}

interface RefusedLine {
  readonly n: number
  readonly status: number
  readonly problem: ProblemDocument
  /** Seconds. */
  readonly retryAfter?: number
}

/** How a line is answered that was refused. */
export function refusedLineOf(n: number, failure: Failure): RefusedLine {
  const problem = problemOf(failure)
  const retry = 'retryAfter' in failure ? { retryAfter: Math.max(1, Math.ceil(failure.retryAfter)) } : {}
  return { n, status: problem.status, problem, ...retry }
}
