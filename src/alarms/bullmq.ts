// alarms: an alarm clock made of delayed BullMQ jobs, which run on any server. A job only triggers a search for due
// contexts, one at a time on each server, and each server searches every few seconds anyway. So a lost job delays a
// wake-up by a few seconds at most.
//
// The alarm (`alarms/bullmq.ts`). Commits write due times into a sorted set, which is authoritative. A server that
// commits one within the next 30 seconds adds a delayed job for its 100 ms, once, and the server that gets the job
// queries the due contexts. Each query returns when the next context will be due, for which the alarm is then set.
// Each server also queries every few seconds without a job, so all jobs may be lost. There is no set of armed buckets
// in Redis: each server remembers its own. So at most one job for each server and bucket is superfluous, and no job is
// missing because a server died between arming a bucket and adding its job.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Queue, Worker } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import { throttled } from '../model/log-once.ts'
import type { AlarmClock, Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import { pause, Periodic } from '../ports/periodic.ts'

export interface BullAlarmOptions {
  /**
   * Creates a connection, which the alarm closes. The connection of a queue must fail when Redis is unreachable or does
   * not answer (`enableOfflineQueue: false`, `maxRetriesPerRequest: 0`, `socketTimeout`); that of a worker must wait
   * (`maxRetriesPerRequest: null`, with the offline queue). It must have no `keyPrefix`.
   */
  readonly connect: (role: 'queue' | 'worker') => Redis | Cluster
  readonly namespace: string
  /** Estimates the store's time. It must never be ahead of it. */
  readonly clock: Clock
  readonly log: Log
}

/** All due times within a bucket share one job. */
const BUCKET_MS = 100
/** Later due times get no job yet; a later search finds them again. */
const HORIZON_MS = 30_000
/**
 * How long before its bucket a job starts; it then waits for the bucket. BullMQ may start a job up to 100 ms late,
 * since Redis checks its timeouts ten times a second (`hz 10`), and the clocks of servers differ a little.
 */
const EARLY_MS = 250
/** Time between two searches when none is requested. */
const SWEEP_MS = 5_000
/** Time until the next search after one that failed. */
const RETRY_MS = 1_000
/** Time limit for closing: BullMQ would wait for ever if Redis disconnects meanwhile. */
const MAX_CLOSE_MS = 2_000

const QUEUE = 'rings'
/**
 * A running job waits for less than HORIZON_MS, and its lock lasts twice as long. Many jobs may wait at the same time.
 */
const WORKER = { concurrency: 64, lockDuration: 2 * HORIZON_MS, skipLockRenewal: true }
/** If a server closes while one of its jobs waits, another server makes the second attempt. */
const JOB = { attempts: 2, removeOnComplete: true, removeOnFail: true }
/** BullMQ always stores events. They are not used here, so their number is kept small. */
const STREAMS = { events: { maxLen: 100 } }

/** Errors of Redis are logged and never thrown. */
export class BullAlarm implements AlarmClock {
  readonly #options: BullAlarmOptions
  readonly #prefix: string
  /**
   * Part of the job ids. BullMQ ignores a job whose id exists, even if that job is ending, so servers must not share
   * ids.
   */
  readonly #server = randomUUID()
  readonly #onError: (error: unknown) => void
  readonly #connections: (Redis | Cluster)[] = []
  readonly #queue: Queue<number>
  /** Buckets for which this server has added a job. */
  readonly #armed = new Set<number>()
  #worker: Worker<number> | null = null
  #searches: Periodic | null = null
  /** When the last search began, in epoch milliseconds. */
  #began = -Infinity
  #isClosing = false

  constructor(options: BullAlarmOptions) {
    const { log, namespace } = options
    this.#options = options
    // A hash tag: in a cluster, all keys of a queue must be in one slot.
    this.#prefix = `{af:${namespace}:alarms}`
    this.#onError = throttled((error) =>
      log.warn('BullMQ has trouble: contexts may move some seconds after they are due', { error }),
    )
    this.#queue = new Queue<number>(QUEUE, {
      connection: this.#connect('queue'),
      prefix: this.#prefix,
      defaultJobOptions: JOB,
      streams: STREAMS,
      // BullMQ checks the version once; if Redis is unreachable at that moment, the queue never works.
      skipVersionCheck: true,
    })
    this.#queue.on('error', this.#onError)
  }

  #connect(role: 'queue' | 'worker'): Redis | Cluster {
    const connection = this.#options.connect(role)
    connection.on('error', this.#onError)
    this.#connections.push(connection)
    return connection
  }

  set(due: number): void {
    const now = this.#options.clock.now()
    if (this.#isClosing || due >= now + HORIZON_MS) return
    // The bucket is in the future, so its search sees everything that was committed before.
    const bucket = Math.max(Math.ceil(due / BUCKET_MS), Math.floor(now / BUCKET_MS) + 1) * BUCKET_MS
    if (this.#armed.has(bucket)) return
    for (const past of this.#armed) if (past <= now) this.#armed.delete(past)
    this.#armed.add(bucket)
    // BullMQ's workers use the local clock, not the store's. Of the two, the earlier time is used, since a job that
    // starts early waits.
    const timestamp = Math.min(now, Date.now())
    const delay = Math.max(bucket - EARLY_MS - now, 0)
    this.#queue
      .add('ring', bucket, { jobId: `${bucket}-${this.#server}`, timestamp, delay })
      .catch((error: unknown) => {
        this.#armed.delete(bucket)
        this.#onError(error)
      })
  }

  start(ring: () => Promise<number | null>): void {
    const { clock, log } = this.#options
    const onFailure = throttled((error) => log.error('looking for due contexts failed', { error }))
    const searches = new Periodic(clock, async () => {
      this.#began = clock.now()
      try {
        const next = await ring()
        if (next !== null) this.set(next)
        // A random offset keeps servers from searching at the same time.
        return SWEEP_MS * (0.9 + Math.random() * 0.2)
      } catch (error) {
        onFailure(error)
        return RETRY_MS
      }
    })
    searches.within(0)
    this.#searches = searches
    this.#worker = new Worker<number>(
      QUEUE,
      async ({ data: bucket }) => {
        // A timer may fire before its time has come by this clock.
        for (let now = clock.now(); now < bucket; now = clock.now()) await pause(clock, bucket - now)
        // Another server makes the second attempt of the job.
        if (this.#isClosing) throw new Error('this server is closing')
        if (this.#began < bucket) searches.within(0)
      },
      { ...WORKER, connection: this.#connect('worker'), prefix: this.#prefix },
    )
    this.#worker.on('error', this.#onError)
  }

  async close(): Promise<void> {
    this.#isClosing = true
    await this.#searches?.stop()
    // Unless the close is forced, BullMQ waits for ever when Redis is unreachable.
    const isAway = this.#connections.some(({ status }) => status !== 'ready')
    const limit = sleep(MAX_CLOSE_MS, undefined, { ref: false })
    await Promise.race([limit, Promise.allSettled([this.#worker?.close(isAway), this.#queue.close()])])
    for (const connection of this.#connections) connection.disconnect()
  }
}
