// The bench's own client: keep-alive sockets, each with one request under way at a time. It parses just enough of
// HTTP/1.1 to find the end of an answer, and takes times in fractions of a millisecond.
import { connect, type Socket } from 'node:net'

export interface Call {
  readonly method: 'GET' | 'POST'
  /** With the query; ASCII. */
  readonly path: string
  readonly body?: object
}

/** What a client is to do. */
export interface Task {
  readonly url: string
  readonly connections: number
  readonly calls: readonly Call[]
  /** Index of the call to begin with. */
  readonly from: number
  readonly seconds: number
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
}

/**
 * Sends until there is nothing more to send, and all is answered.
 * @throws Error at the first answer that isn't 200
 */
export async function converse(conversation: Conversation): Promise<void> {
  const { connections } = conversation
  await Promise.all(Array.from({ length: connections }, () => converseOn(conversation)))
}

function encode({ method, path, body }: Call): string {
  const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n`
  if (!body) return `${head}\r\n`
  const text = JSON.stringify(body)
  return `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

/** One connection, until there is no next request. */
function converseOn({ url, next, onTime, onAnswer }: Conversation): Promise<void> {
  const { hostname, port } = new URL(url)
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
        missing = lengthOf(answer.toString('latin1', 0, end), answer)
        parts = []
        body = answer.subarray(end + 4)
      }
      missing -= body.length
      if (onAnswer) parts.push(body)
      if (missing > 0) return
      onTime?.(begun, performance.now())
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
