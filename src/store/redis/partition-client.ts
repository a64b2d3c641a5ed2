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

export type PartitionClient = ReturnType<typeof partitionClient>

/** `roots`: the key prefix of each partition. */
export function partitionClient(
  connection: Connection,
  { roots, log }: { readonly roots: readonly string[]; readonly log: Log },
) {
  let storeIncarnation = 0
  let closing: Promise<void> | null = null
  const logFault = throttled((error) => {
    if (!closing) log.error('Redis does not serve', { error })
  })
  /** To be called before each command. */
  const holdWrite = writeCoalescer(connection)
  connection.on('error', logFault)
  for (const event of INTERRUPTIONS)
    connection.on(event, () => {
      storeIncarnation += 1
    })

  function trouble(): string | null {
    if (closing) return 'the server is stopping'
    return connection.status === 'ready' ? null : 'Redis is out of reach'
  }

  function refusal(): FluxError | null {
    const reason = trouble()
    return reason === null ? null : unavailable(reason)
  }

  /** The failure for an error of Redis, or for a missing answer. */
  function meaningOf(error: unknown): unknown {
    const code = codeOf(error)
    if (code === null) return new Unanswered(error)
    if (!CANNOT_NOW.has(code)) return error
    // Logged here, and not for each request.
    logFault(error)
    return unavailable("Redis can't serve now")
  }

  /** @throws FluxError `unavailable` when Redis cannot serve; Unanswered when it may have executed the command */
  async function ask<T>(question: () => Promise<T>): Promise<T> {
    const refused = refusal()
    if (refused) throw refused
    holdWrite()
    try {
      return await question()
    } catch (error) {
      throw meaningOf(error)
    }
  }

  /** Runs a script in a partition. */
  const run = (name: ScriptName, partition: number, values: readonly (string | number)[]): Promise<Reply> =>
    ask(() => sendScript(connection, name, roots[partition] ?? '', values))

  /**
   * Continues after a first answer other than success. A commit that is sent again is mostly a query: the script
   * recognizes its number and says whether it was done. If it was not done, the caller decides again, because another
   * Redis with less data may have answered.
   */
  async function commitAgain<T>(
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
        await untilReady(connection, Math.max(0, end - performance.now()))
        if (closing || performance.now() >= end)
          throw inDoubt('Redis went out of reach before it answered: this may have been done, or not', { cause: error })
        // The first commands may fail although the connection is ready.
        await pause(10)
      }
      answer = await run(script, partition, values).then(
        (reply) => ({ reply }),
        (error: unknown) => ({ error }),
      )
    }
  }

  return {
    /** A counter that increases whenever another Redis may have taken the place of the one that answered before. */
    get storeIncarnation() {
      return storeIncarnation
    },
    /** A context is in partition `id % partitions`. */
    partitions: roots.length,
    trouble,
    ask,
    run,

    /** Asks all partitions at once; resolves with the answers in the order of the partitions. */
    everywhere: <T>(askIn: (partition: number) => Promise<T>): Promise<T[]> =>
      Promise.all(roots.map((_, partition) => askIn(partition))),

    /**
     * Asks all partitions at once, and resolves with the answers that arrived. For queries that each partition can answer
     * alone, so that an unreachable node affects only its own contexts.
     * @throws FluxError the first failure, when no partition answered
     */
    async reachable<T>(askIn: (partition: number) => Promise<T>): Promise<T[]> {
      const answers = await Promise.allSettled(roots.map((_, partition) => askIn(partition)))
      const came = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
      const [first] = answers
      if (came.length === 0 && first?.status === 'rejected') throw first.reason
      return came
    },

    /**
     * Sends a commit until its outcome is known, and resolves with what it makes of the reply. Waits while the context
     * is reserved for another writer. Not an async function, because every event calls it.
     * @throws FluxError `unavailable`; `inDoubt` when the commit may have been done
     */
    commit<T>(commit: ScriptedCommit<T>): Promise<T> {
      const refused = refusal()
      if (refused) return Promise.reject(refused)
      holdWrite()
      const end = performance.now() + PATIENCE_MS
      return sendScript(connection, commit.script, roots[commit.partition] ?? '', commit.values).then(
        (reply) => (reply === 0 ? commit.read(reply) : commitAgain(commit, end, { reply })),
        (error: unknown) => commitAgain(commit, end, { error: meaningOf(error) }),
      )
    },

    /** Closes the connection after the commands under way have been answered. */
    close: (): Promise<void> =>
      (closing ??= connection.quit().then(
        () => undefined,
        () => connection.disconnect(),
      )),
  }
}

/** The connection was lost, or there was no answer, after a command was sent. */
class Unanswered extends FluxError {
  constructor(cause: unknown) {
    super({ kind: 'unavailable', detail: 'Redis went out of reach', retryAfter: 1 }, { cause })
  }
}
