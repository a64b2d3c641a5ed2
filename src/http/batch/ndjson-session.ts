// http: a request that is read line by line and answered line by line.
//
// 1. `source.ts` gives the bytes as they come, `line-splitter.ts` cuts lines out of them.
// 2. Lines for the same context keep their order, and others run side by side (`keyed-queue.ts`). A line for everything
//    runs alone; what goes on of it after its answer holds up the lines behind it, and not the end of the request.
// 3. Answers are given in the order of the lines, as fast as the client takes them.
// 4. Nothing is read while too many lines are under way, or too many answers were not taken. So memory stays flat,
//    however long the request is.
// 5. Lines that are refused before their call is made cost more than they cost their sender. When there have been too
//    many more of them than of others, nothing more is read.
import type { ByteBudget } from '../../model/byte-budget.ts'
import { FluxError, unavailable, type Failure } from '../../model/failure.ts'
import type { Clock } from '../../ports/clock.ts'
import { problemOf, type ProblemDocument } from '../formats/problem.ts'
import { bodyMemoryOf } from '../request/incoming.ts'
import { isLarge, nextTurn, ownTurn, pauseFor } from '../request/turns.ts'
import { refusedLineOf, type LineRequest } from './event-line.ts'
import { KeyedQueue } from './keyed-queue.ts'
import { LINE_FEED, LineSplitter } from './line-splitter.ts'
import type { ByteSource } from './source.ts'

export interface SessionOptions {
  readonly source: ByteSource
  /**
   * Counts a line, and reads it. It is given one that is refused already, too.
   * @throws FluxError for a line that can't be understood, or whose caller sends too many
   */
  readonly read: (line: Buffer | FluxError) => LineRequest
  /** The failure that an error of a line stands for. What isn't for the client is logged. */
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

/** Lines under way at once: as many as the store commits together. */
const LINES_AT_ONCE = 512
/** Lines whose answers aren't taken yet, and characters of these answers. */
const MAX_OPEN_LINES = 2048
const MAX_OPEN_CHARACTERS = 1_048_576
/** Characters of answers that are sent at a time. */
const CHUNK_CHARACTERS = 65_536
/** By how many the lines that are refused before their call is made may outnumber the others. */
export const MAX_REFUSED_LINES = 10_000

export class NdjsonSession {
  readonly #options: SessionOptions
  readonly #queue = new KeyedQueue()
  /** Lines whose calls wait or are under way. */
  #underWay = 0
  /** A line is done, or answers were taken. */
  readonly #progress = new Change()
  /** The next answer is there. */
  readonly #answered = new Change()
  /** Answers that aren't taken, by the number of their line. The last line of all is one, too. */
  readonly #answers = new Map<number, string>()
  #characters = 0
  #lines = 0
  #taken = 0
  #failed = 0
  #refused = 0
  /** An event for many was answered, and is still being sent. */
  #isSending = false
  #stopped: FluxError | null = null
  #isOver = false

  constructor(options: SessionOptions) {
    this.#options = options
    void this.#run()
  }

  /** Reads no further, and begins no more lines. If lines are left out, the last line of the answer says why. */
  stop(failure: Failure = unavailable('the server is stopping').failure): void {
    this.#stopped = new FluxError(failure)
    this.#options.source.breakOff(this.#stopped)
    this.#progress.tell()
  }

  /** The next piece of the answer; null: that was all. */
  async take(): Promise<Buffer | null> {
    for (;;) {
      while (!this.#answers.has(this.#taken)) {
        if (this.#isOver) return null
        await this.#answered.come()
      }
      // Those that were committed with it come along.
      await nextTurn()
      let text = ''
      let next = this.#answers.get(this.#taken)
      while (next !== undefined && text.length < CHUNK_CHARACTERS) {
        text += next
        this.#characters -= next.length
        this.#answers.delete(this.#taken)
        this.#taken += 1
        next = this.#answers.get(this.#taken)
      }
      this.#progress.tell()
      if (text !== '') return Buffer.from(text)
    }
  }

  async #run(): Promise<void> {
    let problem: ProblemDocument | undefined
    try {
      await this.#read()
    } catch (error) {
      problem = problemOf(this.#options.failureOf(error))
    }
    await this.#queue.idle()
    const [lines, failed] = [this.#lines, this.#failed]
    this.#isOver = true
    this.#answer(lines, { done: problem === undefined, lines, ok: lines - failed, failed, problem })
  }

  /** @throws FluxError that says why it was broken off */
  async #read(): Promise<void> {
    const { source, maxBody, inFlight, clock, idleMs } = this.#options
    const share = inFlight.hold()
    const splitter = new LineSplitter({ limit: maxBody, charge: share.resize })
    const watchIdle = (): (() => void) =>
      clock.after(idleMs, () => {
        // No line could begin.
        if (this.#isFull) callOff = watchIdle()
        else this.stop({ kind: 'timeout', detail: `no line came for ${idleMs / 1000} seconds` })
      })
    let callOff: (() => void) | null = watchIdle()
    try {
      for await (const chunk of source.chunks) {
        if (chunk.includes(LINE_FEED)) {
          callOff?.()
          // The client isn't waited for.
          callOff = null
        }
        await this.#room()
        for (const line of splitter.take(chunk)) {
          const begun = this.#next(line)
          if (begun) await begun
        }
        callOff ??= watchIdle()
      }
      const last = splitter.end()
      if (last) await this.#next(last)
    } finally {
      callOff?.()
      share.release()
    }
  }

  get #isFull(): boolean {
    return (
      this.#stopped !== null ||
      this.#isSending ||
      this.#underWay >= LINES_AT_ONCE ||
      this.#lines - this.#taken >= MAX_OPEN_LINES ||
      this.#characters >= MAX_OPEN_CHARACTERS
    )
  }

  /** Resolves once a line may begin, in a turn of the event loop of its own: many streams must not hold up others. */
  async #room(): Promise<void> {
    while (this.#isFull && this.#stopped === null) await this.#progress.come()
    await ownTurn('acting')
    if (this.#stopped) throw this.#stopped
  }

  /** Begins a line, as soon as it may. Resolves when those behind it may begin; undefined: at once. */
  #next(line: Buffer | FluxError): Promise<void> | undefined {
    const [length, bytes] = line instanceof FluxError ? [0, 0] : [line.length, bodyMemoryOf(line)]
    const release = this.#isFull || isLarge(length) ? null : this.#options.inFlight.tryTake(bytes)
    return release ? this.#begin(line, release) : this.#beginLater(line, length, bytes)
  }

  async #beginLater(line: Buffer | FluxError, length: number, bytes: number): Promise<void> {
    if (this.#isFull) await this.#room()
    const release = await this.#options.inFlight.wait(bytes)
    await pauseFor(length)
    await this.#begin(line, release)
  }

  #begin(line: Buffer | FluxError, release: () => void): Promise<void> | undefined {
    const { read, failureOf, minimal } = this.#options
    const n = this.#lines
    this.#lines += 1
    let request: LineRequest
    try {
      request = read(line)
    } catch (error) {
      release()
      return this.#refuse(n, failureOf(error))
    }
    this.#refused = Math.max(0, this.#refused - 1)
    this.#underWay += 1
    return this.#queue.begin(request, async (placed) => {
      try {
        const { answer, ended } = await request.run(placed)
        this.#answer(n, minimal ? null : { n, ...answer })
        if (ended) this.#holdUp(ended)
      } catch (error) {
        this.#fail(n, failureOf(error))
      }
      release()
      this.#underWay -= 1
      this.#progress.tell()
    })
  }

  /** @throws FluxError when too many were refused */
  #refuse(n: number, failure: Failure): undefined {
    this.#fail(n, failure)
    this.#refused += 1
    if (this.#refused <= MAX_REFUSED_LINES) return
    const detail = `${MAX_REFUSED_LINES} lines more were refused than were not; of the last one, ${failure.detail}`
    throw new FluxError({ ...failure, detail })
  }

  #holdUp(ended: Promise<void>): void {
    this.#isSending = true
    void ended.finally(() => {
      this.#isSending = false
      this.#progress.tell()
    })
  }

  #fail(n: number, failure: Failure): void {
    this.#failed += 1
    this.#answer(n, refusedLineOf(n, failure))
  }

  /** `value`: null if there is nothing to say. */
  #answer(n: number, value: object | null): void {
    const text = value === null ? '' : `${JSON.stringify(value)}\n`
    this.#answers.set(n, text)
    this.#characters += text.length
    if (n === this.#taken) this.#answered.tell()
  }
}

/** Lets one caller wait until something is told. */
class Change {
  #tell = () => {}

  tell(): void {
    this.#tell()
  }

  come(): Promise<void> {
    return new Promise((resolve) => {
      this.#tell = resolve
    })
  }
}
