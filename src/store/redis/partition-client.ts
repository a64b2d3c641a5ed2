// store/redis: sends scripts to the partitions, repeats commits until their outcome is known, and turns errors of Redis
// into failures.
import { setTimeout as pause } from 'node:timers/promises'
import { FluxError, inDoubt, unavailable } from '../../model/failure.ts'
import { throttled } from '../../model/log-once.ts'
import type { Log } from '../../ports/log.ts'
import { untilReady, type Connection } from './connection.ts'
import { writeCoalescer } from './write-coalescer.ts'
import { codeOf, listOf, sendScript, type Reply, type ScriptName } from './scripts.ts'

/** Milliseconds for which a commit whose answer was lost is sent again. */
export const PATIENCE_MS = 3_000

/** Index of the argument of the commit script that says that it was sent before. */
const SENT_BEFORE = 3

/** Error codes of Redis that mean that it cannot serve at present, as opposed to an invalid command. */
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

interface ScriptedCommit<T> {
  /** `commit-rows` also writes rows, and looks after unique keys. */
  readonly script: 'commit' | 'commit-rows'
  readonly partition: number
  readonly values: string[]
  readonly read: (reply: Reply) => T
}

/** The result of sending a commit once. */
type Answer = { readonly reply: Reply } | { readonly error: unknown }

/** Events of ioredis: connected; a node of a cluster was added or removed. */
const INTERRUPTIONS = ['ready', '+node', '-node'] as const

export class PartitionClient {
  readonly #connection: Connection
  readonly #logFault: (error: unknown) => void
  /** To be called before each command. */
  readonly #holdWrite: () => void
  /** The key prefix of each partition. */
  readonly #roots: readonly string[]
  #storeIncarnation = 0
  #closing: Promise<void> | null = null

  constructor(connection: Connection, { roots, log }: { readonly roots: readonly string[]; readonly log: Log }) {
    this.#connection = connection
    this.#logFault = throttled((error) => {
      if (!this.#closing) log.error('Redis does not serve', { error })
    })
    this.#holdWrite = writeCoalescer(connection)
    this.#roots = roots
    connection.on('error', this.#logFault)
    for (const event of INTERRUPTIONS)
      connection.on(event, () => {
        this.#storeIncarnation += 1
      })
  }

  /** A counter that increases whenever another Redis may have taken the place of the one that answered before. */
  get storeIncarnation(): number {
    return this.#storeIncarnation
  }

  /** A context is in partition `id % partitions`. */
  get partitions(): number {
    return this.#roots.length
  }

  trouble(): string | null {
    if (this.#closing) return 'the server is stopping'
    return this.#connection.status === 'ready' ? null : 'Redis is out of reach'
  }

  /** Runs a script in a partition. */
  run(name: ScriptName, partition: number, values: readonly (string | number)[]): Promise<Reply> {
    return this.ask(() => sendScript(this.#connection, name, this.#roots[partition] ?? '', values))
  }

  /** Asks all partitions at once; resolves with the answers in the order of the partitions. */
  everywhere<T>(ask: (partition: number) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#roots.map((_, partition) => ask(partition)))
  }

  /**
   * Asks all partitions at once, and resolves with the answers that arrived. For queries that each partition can answer
   * alone, so that an unreachable node affects only its own contexts.
   * @throws FluxError the first failure, when no partition answered
   */
  async reachable<T>(ask: (partition: number) => Promise<T>): Promise<T[]> {
    const answers = await Promise.allSettled(this.#roots.map((_, partition) => ask(partition)))
    const came = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    const [first] = answers
    if (came.length === 0 && first?.status === 'rejected') throw first.reason
    return came
  }

  /**
   * Sends a commit until its outcome is known, and resolves with what it makes of the reply. Waits while the context is
   * reserved for another writer. Not an async function, because every event calls it.
   * @throws FluxError `unavailable`; `inDoubt` when the commit may have been done
   */
  commit<T>(commit: ScriptedCommit<T>): Promise<T> {
    const refusal = this.#refusal()
    if (refusal) return Promise.reject(refusal)
    this.#holdWrite()
    const end = performance.now() + PATIENCE_MS
    return sendScript(this.#connection, commit.script, this.#roots[commit.partition] ?? '', commit.values).then(
      (reply) => (reply === 0 ? commit.read(reply) : this.#commitAgain(commit, end, { reply })),
      (error: unknown) => this.#commitAgain(commit, end, { error: this.#meaningOf(error) }),
    )
  }

  /**
   * Continues after a first answer other than success. A commit that is sent again is mostly a query: the script
   * recognizes its number and says whether it was done. If it was not done, the caller decides again, because another
   * Redis with less data may have answered.
   */
  async #commitAgain<T>(
    { script, partition, values, read }: ScriptedCommit<T>,
    end: number,
    first: Answer,
  ): Promise<T> {
    let doubtful = false
    for (let answer = first; ;) {
      if ('reply' in answer) {
        const [code, detail] = answer.reply === 0 ? [] : listOf(answer.reply)
        if (code !== 2) return read(answer.reply)
        await pause(Number(detail))
      } else {
        const { error } = answer
        doubtful ||= error instanceof Unanswered
        if (!doubtful) throw error
        values[SENT_BEFORE] = '1'
        await untilReady(this.#connection, Math.max(0, end - performance.now()))
        if (this.#closing || performance.now() >= end)
          throw inDoubt('Redis went out of reach before it answered: this may have been done, or not', { cause: error })
        // The first commands may fail although the connection is ready.
        await pause(10)
      }
      answer = await this.run(script, partition, values).then(
        (reply) => ({ reply }),
        (error: unknown) => ({ error }),
      )
    }
  }

  /** @throws FluxError `unavailable` when Redis cannot serve; Unanswered when it may have executed the command */
  async ask<T>(question: () => Promise<T>): Promise<T> {
    const refusal = this.#refusal()
    if (refusal) throw refusal
    this.#holdWrite()
    try {
      return await question()
    } catch (error) {
      throw this.#meaningOf(error)
    }
  }

  #refusal(): FluxError | null {
    const trouble = this.trouble()
    return trouble === null ? null : unavailable(trouble)
  }

  /** The failure for an error of Redis, or for a missing answer. */
  #meaningOf(error: unknown): unknown {
    const code = codeOf(error)
    if (code === null) return new Unanswered(error)
    if (!CANNOT_NOW.has(code)) return error
    // Logged here, and not for each request.
    this.#logFault(error)
    return unavailable("Redis can't serve now")
  }

  /** Closes the connection after the commands under way have been answered. */
  close(): Promise<void> {
    return (this.#closing ??= this.#connection.quit().then(
      () => undefined,
      () => this.#connection.disconnect(),
    ))
  }
}

/** The connection was lost, or there was no answer, after a command was sent. */
class Unanswered extends FluxError {
  constructor(cause: unknown) {
    super({ kind: 'unavailable', detail: 'Redis went out of reach', retryAfter: 1 }, { cause })
  }
}
