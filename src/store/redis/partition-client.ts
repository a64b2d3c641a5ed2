// store/redis: asks Redis, and says what it means when there is no answer.
import { FluxError, inDoubt, unavailable } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'
import { untilReady, type Connection } from './connection.ts'
import { WriteCoalescer } from './write-coalescer.ts'
import { codeOf, listOf, sendScript, type Reply, type ScriptName } from './scripts.ts'

/** Milliseconds for which a commit whose answer was lost is asked for again. */
export const PATIENCE_MS = 3_000
/** Milliseconds between two lines in the log about the same trouble. */
const TELL_AGAIN_MS = 10_000

/** Place of an argument of the commit script. */
const SENT_BEFORE = 3

/** What Redis says when it can't serve now, as opposed to being asked for nonsense. */
const CANNOT_NOW = new Set([
  'LOADING',
  'CLUSTERDOWN',
  'MASTERDOWN',
  'READONLY',
  'OOM',
  'MISCONF',
  'BUSY',
  'NOREPLICAS',
  'TRYAGAIN',
  'NOAUTH',
  'WRONGPASS',
  'NOPERM',
])

/** `commit-rows` also writes rows, and looks after unique keys. */
type CommitScript = Extract<ScriptName, 'commit' | 'commit-rows'>

/** What came of sending a commit. */
type Answer = { readonly reply: Reply } | { readonly error: unknown }

/** A connection was made; a node of a cluster came or went. */
const INTERRUPTIONS = ['ready', '+node', '-node'] as const

export class PartitionClient {
  readonly #connection: Connection
  readonly #log: Log
  readonly #writes: WriteCoalescer
  /** What the keys of each partition begin with. */
  readonly #roots: readonly string[]
  #storeIncarnation = 0
  #loggedAt = -Infinity
  #closing: Promise<void> | null = null

  constructor(connection: Connection, { roots, log }: { readonly roots: readonly string[]; readonly log: Log }) {
    this.#connection = connection
    this.#log = log
    this.#writes = new WriteCoalescer(connection)
    this.#roots = roots
    connection.on('error', (error) => this.#logFault(error))
    for (const event of INTERRUPTIONS)
      connection.on(event, () => {
        this.#storeIncarnation += 1
      })
  }

  /** Counts how often another Redis may have come in place of the one that answered before. */
  get storeIncarnation(): number {
    return this.#storeIncarnation
  }

  trouble(): string | null {
    if (this.#closing) return 'the store is closed'
    return this.#connection.status === 'ready' ? null : 'Redis is out of reach'
  }

  /** Runs a script in a partition. */
  run(name: ScriptName, partition: number, values: readonly (string | number)[]): Promise<Reply> {
    return this.ask((connection) => sendScript(connection, name, this.#roots[partition] ?? '', values))
  }

  /** Asks all partitions at once; answers in their order. */
  everywhere<T>(ask: (partition: number) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#roots.map((_, partition) => ask(partition)))
  }

  /**
   * Asks all partitions at once, for what each can tell by itself: gives the answers that came. So a node of a cluster
   * that is away holds up only what is kept there.
   * @throws FluxError the first failure, when none came
   */
  async reachable<T>(ask: (partition: number) => Promise<T>): Promise<T[]> {
    const answers = await Promise.allSettled(this.#roots.map((_, partition) => ask(partition)))
    const came = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    const [first] = answers
    if (came.length === 0 && first?.status === 'rejected') throw first.reason
    return came
  }

  /**
   * Sends a commit until it is known what became of it, and gives what `read` makes of that. Waits while others go
   * first. Not an async function: each event comes through here.
   * @throws FluxError `unavailable`, `inDoubt` when it may have been sent
   */
  commit<T>(name: CommitScript, partition: number, values: string[], read: (reply: Reply) => T): Promise<T> {
    const refusal = this.#refusal()
    if (refusal) return Promise.reject(refusal)
    this.#writes.hold()
    const end = performance.now() + PATIENCE_MS
    return sendScript(this.#connection, name, this.#roots[partition] ?? '', values).then(
      (reply) =>
        reply === 0
          ? read(reply)
          : this.#commitAgain(() => this.run(name, partition, values), values, read, end, { reply }),
      (error: unknown) =>
        this.#commitAgain(() => this.run(name, partition, values), values, read, end, {
          error: this.#meaningOf(error),
        }),
    )
  }

  /**
   * What follows the first answer. Sent again, a commit mostly asks: the script knows its number and says whether it
   * was done, and if it wasn't, the caller has to decide anew, since another Redis may be there, which knows less than
   * the one that it was decided on.
   */
  async #commitAgain<T>(
    run: () => Promise<Reply>,
    values: string[],
    read: (reply: Reply) => T,
    end: number,
    first: Answer,
  ): Promise<T> {
    let doubtful = false
    const send = () =>
      run().then(
        (reply) => ({ reply }),
        (error: unknown) => ({ error }),
      )
    for (let answer = first; ; answer = await send()) {
      if ('reply' in answer) {
        const [code, detail] = answer.reply === 0 ? [] : listOf(answer.reply)
        if (code !== 2) return read(answer.reply)
        await pause(Number(detail))
        continue
      }
      const { error } = answer
      doubtful ||= error instanceof Unanswered
      if (!doubtful) throw error
      values[SENT_BEFORE] = '1'
      await untilReady(this.#connection, Math.max(0, end - performance.now()))
      if (this.#closing || performance.now() >= end) {
        throw inDoubt('Redis went out of reach before it answered: this may have been done, or not', { cause: error })
      }
      // Ready is soon said, and the first commands may fail all the same.
      await pause(10)
    }
  }

  /** @throws FluxError `unavailable` when Redis can't serve; Unanswered when it may have done so all the same */
  async ask<T>(question: (connection: Connection) => Promise<T>): Promise<T> {
    const refusal = this.#refusal()
    if (refusal) throw refusal
    this.#writes.hold()
    try {
      return await question(this.#connection)
    } catch (error) {
      throw this.#meaningOf(error)
    }
  }

  #refusal(): FluxError | null {
    if (this.#closing) return unavailable('the server is stopping')
    return this.#connection.status === 'ready' ? null : unavailable('Redis is out of reach')
  }

  /** What it means that Redis refused, or was not heard. */
  #meaningOf(error: unknown): unknown {
    const code = codeOf(error)
    if (code === null) return new Unanswered(error)
    if (!CANNOT_NOW.has(code)) return error
    // Told here, now and then: not once for each request.
    this.#logFault(error)
    return unavailable("Redis can't serve now")
  }

  /** What is under way is answered first. */
  close(): Promise<void> {
    this.#closing ??= this.#quit()
    return this.#closing
  }

  async #quit(): Promise<void> {
    try {
      await this.#connection.quit()
    } catch {
      this.#connection.disconnect()
    }
  }

  #logFault(error: unknown): void {
    if (this.#closing || performance.now() - this.#loggedAt < TELL_AGAIN_MS) return
    this.#loggedAt = performance.now()
    this.#log.error('Redis does not serve', { error })
  }
}

/** The connection broke, or stayed silent, after something was sent. */
class Unanswered extends FluxError {
  constructor(cause: unknown) {
    super({ kind: 'unavailable', detail: 'Redis went out of reach', retryAfter: 1 }, { cause })
  }
}

const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, milliseconds)
  })
