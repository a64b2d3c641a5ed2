// The load of the bench: so many calls, or calls for so long. What is measured is sent by wrk where it is on the PATH,
// else by several processes of the bench's own client: one such process takes as much time for a call as a server that
// does nothing, and would itself be measured.
import { fork } from 'node:child_process'
import { resolve } from 'node:path'
import { availableParallelism } from 'node:os'
import { converse, type Call, type Seen, type Task } from './client.ts'
import { processorTime } from './footprint.ts'
import { hasWrk, runWrk } from './wrk.ts'

export interface Load {
  readonly url: string
  /** The process that is measured. */
  readonly pid: number
  readonly connections: number
  /** Sent again and again, in this order; each client of several begins at another. */
  readonly calls: readonly Call[]
  /** Before anything is measured. Twice, the calls go on in the middle of the list. */
  readonly warmUpSeconds: number
  /** Of each round. */
  readonly seconds: number
  readonly rounds: number
  /** Of every answer; 200 if left out. */
  readonly status?: number
}

export interface Measured {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Processor time of the server for each call; null: not measured. */
  readonly cpuUs: number | null
}

/** Client processes, where there is no wrk. */
const PROCESSES = Math.max(2, Math.min(4, availableParallelism() - 1))

/** For the output of the bench. */
export const CLIENT = hasWrk()
  ? 'wrk, one thread'
  : `${PROCESSES} processes of bench/client.ts (wrk is not on the PATH)`

/**
 * The median of some rounds.
 * @throws Error when any answer has another status than expected
 */
export async function measure({ pid, warmUpSeconds, rounds, ...load }: Load): Promise<Measured> {
  // Each begins where no other does: what a round has sent, the server may remember in the next.
  const task = (round: number, seconds: number): Task => ({
    ...load,
    seconds,
    from: Math.floor((load.calls.length * round) / (rounds + 1)),
  })
  await send(task(0, warmUpSeconds))
  const measured: Measured[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const before = processorTime(pid)
    const { calls, seconds, p50Ms, p99Ms } = await send(task(round, load.seconds))
    const after = processorTime(pid)
    const cpuUs = before === null || after === null ? null : ((after - before) / calls) * 1000
    measured.push({ perSecond: calls / seconds, p50Ms, p99Ms, cpuUs })
  }
  return medianOf(measured)
}

/** Of each figure by itself. */
export function medianOf(measured: readonly Measured[]): Measured {
  const of = (figure: (one: Measured) => number | null) => percentiles(measured.map((one) => figure(one) ?? NaN)).p50
  const cpuUs = of(({ cpuUs }) => cpuUs)
  return {
    perSecond: of(({ perSecond }) => perSecond),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    cpuUs: Number.isNaN(cpuUs) ? null : cpuUs,
  }
}

/**
 * Sends so many calls from this process; gives the times of the answers, milliseconds.
 * @throws Error at the first answer that isn't 200
 */
export async function sendAll({
  requests,
  call,
  ...conversation
}: {
  readonly url: string
  readonly connections: number
  readonly requests: number
  /** The n-th call, from 0 on. */
  readonly call: (n: number) => Call
  readonly onAnswer?: (body: string) => void
}): Promise<number[]> {
  const times: number[] = []
  let sent = 0
  await converse({
    ...conversation,
    next: () => (sent < requests ? call(sent++) : null),
    onTime: (begun, ended) => times.push(ended - begun),
  })
  return times
}

/**
 * Sends so many calls a second, from a process of its own; times are those from the sending of a request to its answer.
 * @throws Error when any answer has another status than expected
 */
export async function pace(task: Omit<Task, 'from'> & { readonly perSecond: number }): Promise<Measured> {
  const times = await runClient({ ...task, from: 0 })
  const { p50, p99 } = percentiles(times)
  return { perSecond: times.length / task.seconds, p50Ms: p50, p99Ms: p99, cpuUs: null }
}

export function percentiles(values: ArrayLike<number>): { p50: number; p99: number } {
  const sorted = Float64Array.from(values).sort()
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
  return { p50: at(0.5), p99: at(0.99) }
}

async function send(task: Task): Promise<Seen> {
  if (hasWrk()) return runWrk(task)
  const count = Math.min(PROCESSES, task.connections)
  const times = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      runClient({
        ...task,
        connections: Math.floor(task.connections / count) + (index < task.connections % count ? 1 : 0),
        from: (task.from + Math.floor((task.calls.length * index) / count)) % task.calls.length,
      }),
    ),
  )
  const { p50, p99 } = percentiles(times.flatMap((some) => [...some]))
  const calls = times.reduce((sum, { length }) => sum + length, 0)
  return { calls, seconds: task.seconds, p50Ms: p50, p99Ms: p99 }
}

/** Runs `client-process.ts`; gives the times of the answers, milliseconds. @throws Error when it fails */
function runClient(task: Task): Promise<Float64Array> {
  const child = fork(
    resolve(import.meta.dirname, '../../node_modules/jiti/lib/jiti-cli.mjs'),
    [resolve(import.meta.dirname, 'client-process.ts')],
    { serialization: 'advanced' },
  )
  return new Promise((done, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`a client ended (${code}) before it told what it saw`)))
    child.once('message', (times) => {
      if (times instanceof Float64Array) done(times)
      else reject(new Error('a client told something else than times'))
    })
    child.send(task)
  })
}
