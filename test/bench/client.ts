// The bench's own client: keep-alive sockets, each with one request under way at a time. It parses just enough of
// HTTP/1.1 to find the end of an answer, and takes times in fractions of a millisecond.
import { connect, type Socket } from 'node:net'

export interface Call {
  readonly method: 'GET' | 'POST'
  /** With the query; ASCII. */
  readonly path: string
  readonly body?: object
  /** Instead of those that a body has. `UNIQUE` in a value is another text in each request that is sent. */
  readonly headers?: { readonly [name: string]: string }
}

/** Stands in a header for a number that no other request of the run has. */
export const UNIQUE = '{unique}'

/** What a client is to do. */
export interface Task {
  readonly url: string
  readonly connections: number
  readonly calls: readonly Call[]
  /** Index of the call to begin with. */
  readonly from: number
  readonly seconds: number
  /** Of every answer; 200 if left out. */
  readonly status?: number
  /** At most so many, evenly spread; as many as are answered if left out. Only the bench's own client does this. */
  readonly perSecond?: number
}

/** What a client has seen. */
export interface Seen {
  readonly calls: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface Conversation {
  readonly url: string
  readonly connections: number
  /** What is sent next; null: nothing more. */
  readonly next: () => Call | null
  /** Times of `performance.now()`. */
  readonly onTime?: (begun: number, ended: number) => void
  /** Body of an answer; without it, bodies are only counted. */
  readonly onAnswer?: (body: string) => void
  /** Of every answer; 200 if left out. */
  readonly status?: number
  readonly perSecond?: number
}

/**
 * Sends until there is nothing more to send, and all is answered.
 * @throws Error at the first answer that hasn't the expected status
 */
export async function converse(conversation: Conversation): Promise<void> {
  const { connections } = conversation
  const from = performance.now()
  await Promise.all(Array.from({ length: connections }, (_, index) => converseOn(conversation, { index, from })))
}

/** Requests with a unique header that were sent by this process. */
let uniqueSent = 0

function encode({ method, path, body, headers }: Call): string {
  const fields = headers ?? (body ? { 'Content-Type': 'application/json' } : {})
  const lines = Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  const unique = lines.includes(UNIQUE) ? lines.replace(UNIQUE, `${process.pid}-${uniqueSent++}`) : lines
  const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${unique}`
  if (!body) return `${head}\r\n`
  const text = JSON.stringify(body)
  return `${head}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

/** One connection, until there is no next request. */
function converseOn(
  { url, next, onTime, onAnswer, connections, status = 200, perSecond }: Conversation,
  { index, from }: { readonly index: number; readonly from: number },
): Promise<void> {
  const { hostname, port } = new URL(url)
  /** Milliseconds between two requests of this connection. */
  const pause = perSecond === undefined ? 0 : (connections / perSecond) * 1000
  let due = from + (pause * index) / connections
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ host: hostname, port: Number(port), noDelay: true })
    let begun = 0
    /** What came of an answer whose head is not complete yet, or whose body is wanted. */
    let parts: Buffer[] = []
    let missing = -1
    const send = () => {
      const call = next()
      if (call === null) {
        socket.destroy()
        resolve()
        return
      }
      missing = -1
      parts = []
      begun = performance.now()
      socket.write(encode(call))
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
        missing = lengthOf(answer.toString('latin1', 0, end), { answer, status })
        parts = []
        body = answer.subarray(end + 4)
      }
      missing -= body.length
      if (onAnswer) parts.push(body)
      if (missing > 0) return
      onTime?.(begun, performance.now())
      onAnswer?.(Buffer.concat(parts).toString())
      sendWhenDue()
    }
    const sendWhenDue = () => {
      if (pause === 0) {
        send()
        return
      }
      setTimeout(send, Math.max(0, due - performance.now()))
      due += pause
    }
    socket
      .on('connect', sendWhenDue)
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
function lengthOf(head: string, { answer, status }: { readonly answer: Buffer; readonly status: number }): number {
  if (!head.startsWith(`HTTP/1.1 ${status} `)) throw new Error(`not ${status}: ${answer.toString()}`)
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`an answer of unknown length: ${head}`)
  return Number(length)
}
