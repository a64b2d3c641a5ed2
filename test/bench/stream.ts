// The bench's client for many events in one request: it writes lines as fast as the server reads them, and counts the
// lines of the answer.
import { request } from 'node:http'
import { memoryUsage } from 'node:process'
import { ownMemory, processorTime, residentMemory } from './footprint.ts'
import { percentiles, type Measured } from './load.ts'

export interface StreamLoad {
  readonly url: string
  readonly pid: number
  /** The n-th line, from 0 on. */
  readonly line: (n: number) => object
  /** Lines, or seconds, whichever comes first. */
  readonly most: number
  readonly seconds: number
}

export interface Streamed extends Measured {
  readonly lines: number
  /** Megabytes by which the highest memory of the last third of the time is above that of the second third. */
  readonly growth: { readonly server: number; readonly client: number }
  /** What it was made of, for the output of the bench. */
  readonly memory: readonly string[]
}

/** Megabytes at one time. `server`: its own memory; `resident`: with the files that are mapped into it. */
interface Weight {
  readonly server: number
  readonly resident: number
  readonly client: number
  /** Of the client: objects, all of its heap, and buffers. */
  readonly heapUsed: number
  readonly heapTotal: number
  readonly external: number
}

/** Lines of one write, of which the first one's time is taken. */
const LINES_A_WRITE = 500
const MB = 1024 * 1024

/** @throws Error when the answer isn't 200, or any line failed */
export async function stream({ url, pid, line, most, seconds }: StreamLoad): Promise<Streamed> {
  const sentAt: number[] = []
  const times: number[] = []
  const weights: Weight[] = []
  let [sent, answered] = [0, 0]
  const weigh = async () => {
    const { rss, heapUsed, heapTotal, external } = memoryUsage()
    weights.push({
      server: (await ownMemory(pid)) / 1024,
      resident: (residentMemory(pid) ?? NaN) / 1024,
      client: rss / MB,
      heapUsed: heapUsed / MB,
      heapTotal: heapTotal / MB,
      external: external / MB,
    })
  }
  const begun = performance.now()
  const used = processorTime(pid)
  const timer = setInterval(() => void weigh(), 250)
  const last = await new Promise<string>((resolve, reject) => {
    const outgoing = request(`${url}/flux-api/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
    })
    outgoing.on('error', reject).on('response', (answer) => {
      let tail = ''
      answer
        .on('error', reject)
        .on('data', (chunk: Buffer) => {
          for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) {
            if (answered % LINES_A_WRITE === 0)
              times.push(performance.now() - (sentAt[answered / LINES_A_WRITE] ?? NaN))
            answered += 1
          }
          tail = (tail + chunk.toString('latin1')).slice(-300)
        })
        .on('end', () => resolve(tail.trim().split('\n').at(-1) ?? ''))
    })
    const write = () => {
      for (;;) {
        if (sent >= most || performance.now() - begun > seconds * 1000) return void outgoing.end()
        let text = ''
        sentAt.push(performance.now())
        for (let end = Math.min(most, sent + LINES_A_WRITE); sent < end; sent += 1)
          text += `${JSON.stringify(line(sent))}\n`
        if (!outgoing.write(text)) return void outgoing.once('drain', write)
      }
    }
    write()
  })
  clearInterval(timer)
  const elapsed = performance.now() - begun
  const now = processorTime(pid)
  const { done, ok }: { done: boolean; ok: number } = JSON.parse(last)
  if (!done || ok !== sent) throw new Error(`${sent} lines were sent, and the last line is ${last}`)
  const { p50, p99 } = percentiles(times.filter((time) => !Number.isNaN(time)))
  return {
    lines: sent,
    perSecond: (sent / elapsed) * 1000,
    cpuUs: used === null || now === null ? null : ((now - used) / sent) * 1000,
    p50Ms: p50,
    p99Ms: p99,
    growth: { server: growthOf(weights, 'server'), client: growthOf(weights, 'client') },
    memory: KINDS.map(([kind, name]) => `${name}: ${thirdsOf(weights, kind).join(', ')} MB`),
  }
}

const KINDS: readonly (readonly [keyof Weight, string])[] = [
  ['server', 'server, its own memory'],
  ['resident', 'server, with the files that are mapped'],
  ['client', 'client, all of it'],
  ['heapUsed', 'client, objects'],
  ['heapTotal', 'client, heap'],
  ['external', 'client, buffers'],
]

/** The highest of each third of the time. */
function highest(weights: readonly Weight[], kind: keyof Weight): readonly number[] {
  const third = Math.ceil(weights.length / 3)
  return [0, 1, 2].map((at) => Math.max(...weights.slice(at * third, (at + 1) * third).map((each) => each[kind])))
}

const thirdsOf = (weights: readonly Weight[], kind: keyof Weight): readonly string[] =>
  highest(weights, kind).map((megabytes) => megabytes.toFixed(0))

/**
 * Peaks are compared with peaks: between two collections of its old objects, a heap always grows, and a collection
 * takes seconds to come. Not by the first third, in which the heap gets the size that it keeps.
 */
function growthOf(weights: readonly Weight[], kind: keyof Weight): number {
  const [, second = 0, last = 0] = highest(weights, kind)
  return weights.length < 3 ? 0 : last - second
}
