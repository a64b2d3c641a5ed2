// alarms: rings on whichever server is free, by delayed jobs of BullMQ. A job is only a hint to look: the store knows who is due, and who has claimed whom.
import { randomBytes } from 'node:crypto'
import { Queue, Worker } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import type { AlarmClock } from '../ports/alarm-clock.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'

export interface BullAlarmOptions {
  /** A new connection, which the alarm closes. That of a queue fails at once when Redis is away, that of a worker waits (`maxRetriesPerRequest: null`). */
  readonly connect: (role: 'queue' | 'worker') => Redis | Cluster
  readonly namespace: string
  /** Must tell the store's time, and never be ahead of it. */
  readonly clock: Clock
  readonly log: Log
}

/** Milliseconds. Times within one bucket ring together: many contexts are due at about the same time. */
const BUCKET = 100
/** What is due later isn't worth a job yet. */
const HORIZON = 30_000
/** A job is asked for so much earlier: Redis tells blocked clients up to 100 ms late (`hz 10`), and what comes early can sleep. */
const EARLY = 100
/** Whatever becomes of the jobs, each server looks by itself about so often. */
const SWEEP = 5_000
/** After a ring that failed. */
const RETRY = 1_000
/** Between two lines in the log about the same trouble. */
const TELL_AGAIN = 10_000
/** For saying goodbye to a Redis that may be away. */
const PATIENCE = 2_000
/** Handlers that may sleep until their bucket at once. */
const CONCURRENCY = 64
/** Nobody reads what BullMQ tells of its jobs. */
const EVENTS = 100

export function bullAlarm({ connect, namespace, clock, log }: BullAlarmOptions): AlarmClock {
  // In braces, so that all keys of the queue are in one slot of a cluster.
  const names = { prefix: `{af:${namespace}:alarms}`, name: 'rings' }
  const server = randomBytes(6).toString('hex')
  const queueConnection = connect('queue')
  const queue = new Queue(names.name, {
    connection: queueConnection, prefix: names.prefix, streams: { events: { maxLen: EVENTS } },
    defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
  })
  let worker: { readonly worker: Worker; readonly connection: Redis | Cluster } | null = null
  let ring: (() => Promise<number | null>) | null = null
  /** Buckets for which this server has added a job. */
  const armed = new Set<number>()
  /** When the last ring that went well began. */
  let began = -Infinity
  let ringing: Promise<void> | null = null
  let cancelSweep: (() => void) | null = null
  let toldAt = -Infinity
  let onClose = (): void => {}
  const closed = new Promise<void>((resolve) => { onClose = resolve })

  const tell = (error: unknown): void => {
    if (performance.now() - toldAt < TELL_AGAIN) return
    toldAt = performance.now()
    log.warn('BullMQ does not serve; due contexts are looked for every few seconds all the same', { error })
  }
  queue.on('error', tell)
  queueConnection.on('error', tell)

  const set = (due: number): void => {
    const now = clock.now()
    if (due >= now + HORIZON) return
    // The bucket is still to come, so whoever rings for it will see what was committed before.
    const bucket = Math.max(Math.ceil(due / BUCKET), Math.floor(now / BUCKET) + 1) * BUCKET
    if (armed.has(bucket)) return
    for (const past of armed) if (past <= now) armed.delete(past)
    armed.add(bucket)
    // BullMQ ignores an id that it knows, even of a job that is under way: each server has its own, once.
    queue.add('ring', { bucket }, { jobId: `${bucket}-${server}`, delay: Math.max(0, bucket - EARLY - now) }).catch(tell)
  }

  /** Resolves when a ring that began at that time or later went well, or the alarm is closed. */
  const look = async (since: number): Promise<void> => {
    while (began < since && ring !== null) {
      ringing ??= lookNow(ring).finally(() => { ringing = null })
      await ringing
    }
  }

  const lookNow = async (atDue: () => Promise<number | null>): Promise<void> => {
    const start = clock.now()
    try {
      const next = await Promise.resolve().then(atDue)
      began = Math.max(began, start)
      if (next !== null) set(next)
    } catch (error) {
      log.error('looking for due contexts failed', { error })
      await sleep(RETRY)
    }
  }

  const sleep = async (milliseconds: number): Promise<void> => {
    let cancel = (): void => {}
    await Promise.race([new Promise<void>((resolve) => { cancel = clock.after(milliseconds, resolve) }), closed])
    cancel()
  }

  const onJob = async ({ data }: { data: unknown }): Promise<void> => {
    const bucket = bucketOf(data)
    while (clock.now() < bucket && ring !== null) await sleep(bucket - clock.now())
    await look(bucket)
  }

  const sweep = (): void => {
    void look(clock.now())
    // Not all servers at once.
    cancelSweep = clock.after(SWEEP * (0.9 + Math.random() * 0.2), sweep)
  }

  return {
    set,
    start(callback) {
      ring = callback
      const connection = connect('worker')
      connection.on('error', tell)
      worker = { connection, worker: new Worker(names.name, onJob, { connection, prefix: names.prefix, concurrency: CONCURRENCY }) }
      worker.worker.on('error', tell)
      sweep()
    },
    async close() {
      ring = null
      cancelSweep?.()
      onClose()
      await ringing
      let cancel = (): void => {}
      const farewell = Promise.allSettled([worker?.worker.close(), queue.close()])
      await Promise.race([farewell, new Promise<void>((resolve) => { cancel = clock.after(PATIENCE, resolve) })])
      cancel()
      worker?.connection.disconnect()
      queueConnection.disconnect()
    },
  }
}

function bucketOf(data: unknown): number {
  if (typeof data === 'object' && data !== null && 'bucket' in data && typeof data.bucket === 'number') return data.bucket
  throw new TypeError('a job without a bucket')
}
