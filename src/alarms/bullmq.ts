// alarms: rings by delayed jobs of BullMQ, on whichever server is free. A job is only a hint to look: the store knows
// who is due, and every server looks by itself every few seconds. So jobs that are lost, even all of them, cost no more
// than those.
import { randomUUID } from 'node:crypto'
import { Queue, Worker } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'
import type { AlarmClock } from '../ports/alarm-clock.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'

export interface BullAlarmOptions {
  /**
   * Makes a connection of the alarm's own, which it closes. A queue's must fail when Redis is away or mute, not wait
   * (`enableOfflineQueue: false`, `maxRetriesPerRequest: 0`, `socketTimeout`); a worker's must wait
   * (`maxRetriesPerRequest: null`, with the offline queue). No `keyPrefix`.
   */
  readonly connect: (role: 'queue' | 'worker') => Redis | Cluster
  readonly namespace: string
  /** Tells the store's time, and is never ahead of it. */
  readonly clock: Clock
  readonly log: Log
}

/** Milliseconds. Times within a bucket ring together. */
const BUCKET_MS = 100
/** What is due later needs no job yet: a look in time tells of it again. */
const HORIZON_MS = 30_000
/**
 * Jobs come so much before their bucket, and then sleep: Redis tells up to 100 ms late (`hz 10`), and machines' clocks
 * differ a little.
 */
const EARLY_MS = 250
/** Without a ring for about so long, a server looks by itself. */
const SWEEP_MS = 5_000
/** After a ring that failed. */
const RETRY_MS = 1_000
/** Between two lines in the log about the same trouble. */
const REPORT_AGAIN_MS = 10_000
/** For closing: BullMQ would wait for a Redis that goes at that moment. */
const PATIENCE_MS = 2_000

const QUEUE = 'rings'
/** A job under way sleeps, for less than the horizon; its lock holds longer. Many may sleep at once. */
const WORKER = { concurrency: 64, lockDuration: 2 * HORIZON_MS, skipLockRenewal: true }
/** Who closes while a job sleeps leaves the second attempt to others. */
const JOB = { attempts: 2, removeOnComplete: true, removeOnFail: true }
/** About so many events are kept, since BullMQ must keep some. Nobody reads them. */
const STREAMS = { events: { maxLen: 100 } }

/** Trouble with Redis is logged and never thrown. */
export function bullAlarm({ connect, namespace, clock, log }: BullAlarmOptions): AlarmClock {
  // In braces: in a cluster, all keys of a queue must be in one slot.
  const prefix = `{af:${namespace}:alarms}`
  const server = randomUUID()
  const troubled = seldom((error) =>
    log.warn('BullMQ has trouble: contexts may move some seconds after they are due', { error }),
  )
  const connections: (Redis | Cluster)[] = []
  const connection = (role: 'queue' | 'worker'): Redis | Cluster => {
    const made = connect(role)
    made.on('error', troubled)
    connections.push(made)
    return made
  }
  // It would look at Redis's version only once, and if that failed be of no use for ever.
  const queue = new Queue<number>(QUEUE, {
    connection: connection('queue'),
    prefix,
    defaultJobOptions: JOB,
    streams: STREAMS,
    skipVersionCheck: true,
  })
  queue.on('error', troubled)
  /** Buckets for which this server has added a job. */
  const armed = new Set<number>()
  let ringer: Ringer | null = null
  let worker: Worker<number> | null = null
  let closed = false

  const set = (due: number): void => {
    const now = clock.now()
    if (closed || due >= now + HORIZON_MS) return
    // It is still to come, so the ring will see what was committed before.
    const bucket = Math.max(Math.ceil(due / BUCKET_MS), Math.floor(now / BUCKET_MS) + 1) * BUCKET_MS
    if (armed.has(bucket)) return
    for (const past of armed) if (past <= now) armed.delete(past)
    armed.add(bucket)
    add(bucket, now).catch((error: unknown) => {
      armed.delete(bucket)
      troubled(error)
    })
  }

  // BullMQ ignores an id that is there, even while that job is ending: servers share none. And its workers go by their
  // machines' clocks, not the store's: since too early does no harm, the earlier of the two counts.
  const add = (bucket: number, now: number): Promise<unknown> =>
    queue.add('ring', bucket, {
      jobId: `${bucket}-${server}`,
      timestamp: Math.min(now, Date.now()),
      delay: Math.max(bucket - EARLY_MS - now, 0),
    })

  return {
    set,
    start(ring) {
      const started = startRinger({ ring, set, clock, log })
      ringer = started
      worker = new Worker<number>(
        QUEUE,
        async ({ data: bucket }) => {
          // A timer may fire early by the clock.
          for (let now = clock.now(); now < bucket; now = clock.now())
            await new Promise<void>((resolve) => {
              clock.after(bucket - now, resolve)
            })
          started.demand(bucket)
        },
        { ...WORKER, connection: connection('worker'), prefix },
      )
      worker.on('error', troubled)
    },
    async close() {
      await ringer?.close()
      closed = true
      let cancel = nothing
      const patience = new Promise<void>((resolve) => {
        cancel = clock.after(PATIENCE_MS, resolve)
      })
      // Unless it is forced, BullMQ waits for ever for a Redis that has gone.
      const away = connections.some(({ status }) => status !== 'ready')
      await Promise.race([patience, Promise.allSettled([worker?.close(away), queue.close()])])
      cancel()
      for (const made of connections) made.disconnect()
    },
  }
}

interface Ringer {
  /** A ring is needed that begins at that time or later. @throws Error when it is closed */
  demand(time: number): void
  /** Rings no more, and waits for a ring under way. */
  close(): Promise<void>
}

/** Rings at once, when it is asked to, and when it hasn't for a while; one ring at a time. */
function startRinger({
  ring,
  set,
  clock,
  log,
}: {
  ring(): Promise<number | null>
  set(due: number): void
  readonly clock: Clock
  readonly log: Log
}): Ringer {
  const failed = seldom((error) => log.error('looking for due contexts failed', { error }))
  /** When the last ring began. One that fails is tried again without being asked. */
  let began = -Infinity
  let again = false
  let closed = false
  let ringing: Promise<void> | null = null
  let cancel = nothing

  const look = (): void => {
    cancel()
    ringing = lookOnce()
  }

  const lookOnce = async (): Promise<void> => {
    began = clock.now()
    again = false
    let nap = RETRY_MS
    try {
      const next = await Promise.resolve().then(ring)
      if (next !== null) set(next)
      // Not all servers at once.
      nap = again ? 0 : SWEEP_MS * (0.9 + Math.random() * 0.2)
    } catch (error) {
      failed(error)
    }
    ringing = null
    if (!closed) cancel = clock.after(nap, look)
  }

  look()
  return {
    demand(time) {
      if (closed) throw new Error('this server is closing')
      if (began >= time) return
      if (ringing === null) look()
      else again = true
    },
    async close() {
      closed = true
      cancel()
      await ringing
    },
  }
}

/** Tells at most every so often. */
function seldom(report: (error: unknown) => void): (error: unknown) => void {
  let told = -Infinity
  return (error) => {
    if (performance.now() - told < REPORT_AGAIN_MS) return
    told = performance.now()
    report(error)
  }
}

const nothing = (): void => {}
