// alarms: rings by delayed jobs of BullMQ, on whichever server is free. A job is only a hint to look: the store knows
// who is due, and every server looks by itself every few seconds. So jobs that are lost, even all of them, cost no more
// than those.
import { randomUUID } from 'node:crypto'
import { Queue, Worker } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import type { AlarmClock } from '../ports/alarm-clock.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import { Ringer } from './ringer.ts'
import { throttled } from './throttled.ts'

export interface BullAlarmOptions {
  /**
   * Makes a connection, which the alarm closes. A queue's must fail when Redis is away or does not answer, not wait
   * (`enableOfflineQueue: false`, `maxRetriesPerRequest: 0`, `socketTimeout`); a worker's must wait
   * (`maxRetriesPerRequest: null`, with the offline queue). No `keyPrefix`.
   */
  readonly connect: (role: 'queue' | 'worker') => Redis | Cluster
  readonly namespace: string
  /** The store's time. It is never ahead of it. */
  readonly clock: Clock
  readonly log: Log
}

/** Due times within a bucket have one job. */
const BUCKET_MS = 100
/** What is due later needs no job yet: a later look finds it again. */
const HORIZON_MS = 30_000
/**
 * Jobs come so long before their bucket, and then wait: Redis reports them up to 100 ms late (`hz 10`), and the clocks
 * of machines differ a little.
 */
const EARLY_MS = 250
/** Limit of closing: BullMQ would wait for a Redis that goes away at that moment. */
const MAX_CLOSE_MS = 2_000

const QUEUE = 'rings'
/** A running job waits for less than the horizon; its lock holds longer. Many may wait at once. */
const WORKER = { concurrency: 64, lockDuration: 2 * HORIZON_MS, skipLockRenewal: true }
/** When a server closes while a job waits there, the second attempt is another server's. */
const JOB = { attempts: 2, removeOnComplete: true, removeOnFail: true }
/** BullMQ must keep some events. Nobody reads them. */
const STREAMS = { events: { maxLen: 100 } }

/** Trouble with Redis is logged and never thrown. */
export const bullAlarm = (options: BullAlarmOptions): AlarmClock => new BullAlarm(options)

class BullAlarm implements AlarmClock {
  readonly #options: BullAlarmOptions
  readonly #prefix: string
  /** In the ids of jobs: BullMQ ignores an id that is there, even while that job is ending, so servers share none. */
  readonly #server = randomUUID()
  readonly #onTrouble: (error: unknown) => void
  readonly #connections: (Redis | Cluster)[] = []
  readonly #queue: Queue<number>
  /** Buckets for which this server has added a job. */
  readonly #armed = new Set<number>()
  #ringer: Ringer | null = null
  #worker: Worker<number> | null = null
  #closed = false

  constructor(options: BullAlarmOptions) {
    const { log, namespace } = options
    this.#options = options
    // In braces: in a cluster, all keys of a queue must be in one slot.
    this.#prefix = `{af:${namespace}:alarms}`
    this.#onTrouble = throttled((error) =>
      log.warn('BullMQ has trouble: contexts may move some seconds after they are due', { error }),
    )
    this.#queue = new Queue<number>(QUEUE, {
      connection: this.#connect('queue'),
      prefix: this.#prefix,
      defaultJobOptions: JOB,
      streams: STREAMS,
      // It is checked only once, and if Redis is away at that moment the queue never works.
      skipVersionCheck: true,
    })
    this.#queue.on('error', this.#onTrouble)
  }

  #connect(role: 'queue' | 'worker'): Redis | Cluster {
    const connection = this.#options.connect(role)
    connection.on('error', this.#onTrouble)
    this.#connections.push(connection)
    return connection
  }

  set(due: number): void {
    const now = this.#options.clock.now()
    if (this.#closed || due >= now + HORIZON_MS) return
    // It is in the future, so its look will see what was committed before.
    const bucket = Math.max(Math.ceil(due / BUCKET_MS), Math.floor(now / BUCKET_MS) + 1) * BUCKET_MS
    if (this.#armed.has(bucket)) return
    for (const past of this.#armed) if (past <= now) this.#armed.delete(past)
    this.#armed.add(bucket)
    this.#add(bucket, now).catch((error: unknown) => {
      this.#armed.delete(bucket)
      this.#onTrouble(error)
    })
  }

  /** BullMQ's workers use the clocks of their machines, not the store's. Too early does no harm: the earlier counts. */
  #add(bucket: number, now: number): Promise<unknown> {
    return this.#queue.add('ring', bucket, {
      jobId: `${bucket}-${this.#server}`,
      timestamp: Math.min(now, Date.now()),
      delay: Math.max(bucket - EARLY_MS - now, 0),
    })
  }

  start(ring: () => Promise<number | null>): void {
    const { clock, log } = this.#options
    const ringer = new Ringer({ ring, set: (due) => this.set(due), clock, log })
    this.#ringer = ringer
    ringer.look()
    this.#worker = new Worker<number>(
      QUEUE,
      async ({ data: bucket }) => {
        // A timer may fire early by the clock.
        for (let now = clock.now(); now < bucket; now = clock.now())
          await new Promise<void>((resolve) => {
            clock.after(bucket - now, resolve)
          })
        ringer.demand(bucket)
      },
      { ...WORKER, connection: this.#connect('worker'), prefix: this.#prefix },
    )
    this.#worker.on('error', this.#onTrouble)
  }

  async close(): Promise<void> {
    await this.#ringer?.close()
    this.#closed = true
    let cancel: (() => void) | undefined
    const limit = new Promise<void>((resolve) => {
      cancel = this.#options.clock.after(MAX_CLOSE_MS, resolve)
    })
    // Unless it is forced, BullMQ waits for ever for a Redis that has gone.
    const isAway = this.#connections.some(({ status }) => status !== 'ready')
    await Promise.race([limit, Promise.allSettled([this.#worker?.close(isAway), this.#queue.close()])])
    cancel?.()
    for (const connection of this.#connections) connection.disconnect()
  }
}
