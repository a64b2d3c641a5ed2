// The bench's client: keep-alive sockets, each with one request under way at a time. It parses just enough of HTTP/1.1
// that the server, not the client, is what is measured, and takes times in fractions of a millisecond.
import { connect, type Socket } from 'node:net'
import { processorTime } from './footprint.ts'

export interface Call {
  readonly method: 'GET' | 'POST'
  /** With the query; ASCII. */
  readonly path: string
  readonly body?: object
}

export interface Load {
  readonly url: string
  /** The process that is measured; left out: its processor time isn't. */
  readonly pid?: number
  readonly connections: number
  /** The n-th request, from 0 on. */
  readonly call: (n: number) => Call
  /** Body of an answer; without it, bodies are only counted. */
  readonly onAnswer?: (body: string) => void
  /** What ends it: so many seconds after so many to warm up, or so many requests. */
  readonly until: { readonly warmUp: number; readonly seconds: number } | { readonly requests: number }
}

export interface Measured {
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Microseconds of processor time of the server for each call; null: not measured. */
  readonly cpu: number | null
}

/** Sends requests that the server holds, each on a connection of its own, and a few at a time. */
export async function holdRequests(url: string, paths: readonly string[]): Promise<{ readonly release: () => void }> {
  const { hostname, port } = new URL(url)
  const sockets: Socket[] = []
  for (const path of paths) {
    const socket = connect(Number(port), hostname)
    sockets.push(socket)
    await new Promise((resolve, reject) => {
      socket.once('error', reject)
      socket.write(encode({ method: 'GET', path }), resolve)
    })
  }
  // Answers that come at once would be refusals.
  await new Promise((resolve) => {
    setTimeout(resolve, 1000)
  })
  if (sockets.some(({ bytesRead }) => bytesRead > 0)) throw new Error('a request was answered that should be held')
  return {
    release() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** @throws Error at the first answer that isn't 200 */
export async function measure(load: Load): Promise<Measured> {
  const { until, connections, pid } = load
  const start = performance.now()
  const [from, to, most] =
    'requests' in until
      ? [start, Infinity, until.requests]
      : [start + until.warmUp * 1000, start + (until.warmUp + until.seconds) * 1000, Infinity]
  const times: number[] = []
  let sent = 0
  const next = () => (performance.now() < to && sent < most ? encode(load.call(sent++)) : null)
  const onTime = (begun: number, ended: number) => {
    if (begun >= from && ended <= to) times.push(ended - begun)
  }
  const spent = pid === undefined ? () => null : processorMeter(pid, from - start)
  await Promise.all(Array.from({ length: connections }, () => converse(load, next, onTime)))
  const used = spent()
  const elapsed = Math.min(performance.now(), to) - from
  const cpu = used === null ? null : (used / times.length) * 1000
  return { perSecond: (times.length / elapsed) * 1000, cpu, ...percentiles(times) }
}

/** Begins to count after so many milliseconds; gives what tells the milliseconds counted. */
function processorMeter(pid: number, after: number): () => number | null {
  let begun: number | null = null
  const timer = setTimeout(() => {
    begun = processorTime(pid)
  }, after)
  return () => {
    clearTimeout(timer)
    const now = processorTime(pid)
    return begun === null || now === null ? null : now - begun
  }
}

export function percentiles(times: readonly number[]): { p50: number; p99: number } {
  const sorted = Float64Array.from(times).sort()
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
  return { p50: at(0.5), p99: at(0.99) }
}

function encode({ method, path, body }: Call): string {
  const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n`
  if (!body) return `${head}\r\n`
  const text = JSON.stringify(body)
  return `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

/** One connection, until there is no next request. */
function converse(
  { url, onAnswer }: Load,
  next: () => string | null,
  onTime: (begun: number, ended: number) => void,
): Promise<void> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ host: hostname, port: Number(port), noDelay: true })
    let begun = 0
    /** What came of an answer whose head is not complete yet, or whose body is wanted. */
    let parts: Buffer[] = []
    let missing = -1
    const send = () => {
      const request = next()
      if (request === null) {
        socket.destroy()
        resolve()
        return
      }
      missing = -1
      parts = []
      begun = performance.now()
      socket.write(request)
    }
    const read = (chunk: Buffer) => {
      let body = chunk
      if (missing === -1) {
        const answer = parts.length > 0 ? Buffer.concat([...parts, chunk]) : chunk
        const end = answer.indexOf('\r\n\r\n')
        if (end === -1) {
          parts.push(chunk)
          return
        }
        missing = lengthOf(answer.toString('latin1', 0, end), answer)
        parts = []
        body = answer.subarray(end + 4)
      }
      missing -= body.length
      if (onAnswer) parts.push(body)
      if (missing > 0) return
      onTime(begun, performance.now())
      onAnswer?.(Buffer.concat(parts).toString())
      send()
    }
    socket
      .on('connect', send)
      .on('error', reject)
      .on('close', () => reject(new Error('the server hung up')))
    socket.on('data', (chunk) => {
      try {
        read(chunk)
      } catch (error) {
        socket.destroy()
        reject(error)
      }
    })
  })
}

/** Bytes of the body. */
function lengthOf(head: string, answer: Buffer): number {
  if (!head.startsWith('HTTP/1.1 200 ')) throw new Error(`not 200: ${answer.toString()}`)
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`an answer of unknown length: ${head}`)
  return Number(length)
}
