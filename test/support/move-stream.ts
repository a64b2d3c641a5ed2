// A reader of the stream of moves, over a real socket: it parses server-sent events as the WHATWG HTML standard says.
import { get, type IncomingMessage } from 'node:http'

export interface StreamEvent {
  /** As of a browser: the last one that came, also without an event. */
  readonly id: string
  readonly event: string
  readonly data: unknown
}

export interface MoveStream {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** Everything so far, as it came. */
  text(): string
  readonly events: readonly StreamEvent[]
  /** The id with which a browser would come again. */
  lastEventId(): string
  retry(): number | null
  comments(): readonly string[]
  /** Resolves with the first event, from `from` on, that the condition holds for. */
  until(isIt: (event: StreamEvent) => boolean, from?: number): Promise<StreamEvent>
  /** Resolves when something has come for which the condition holds. */
  when(isIt: () => boolean): Promise<void>
  pause(): void
  resume(): void
  close(): void
  /** Resolves when the server has ended it. */
  readonly ended: Promise<void>
}

const PATIENCE_MS = 10_000

export function openStream(
  url: string,
  query = '',
  headers: { readonly [name: string]: string } = {},
): Promise<MoveStream> {
  return new Promise((resolve, reject) => {
    const request = get(`${url}/flux-api/stream${query}`, { agent: false, headers }, (response) =>
      resolve(readerOf(response)),
    )
    request.on('error', reject)
  })
}

function readerOf(response: IncomingMessage): MoveStream {
  let [all, rest, last, retry] = ['', '', '', null as number | null]
  const events: StreamEvent[] = []
  const comments: string[] = []
  const waiting = new Set<() => void>()
  let fields = { event: '', data: [] as string[] }
  const take = (line: string) => {
    if (line === '') {
      if (fields.data.length > 0)
        events.push({ id: last, event: fields.event || 'message', data: JSON.parse(fields.data.join('\n')) })
      fields = { event: '', data: [] }
      return
    }
    if (line.startsWith(':')) return void comments.push(line.slice(1).trim())
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name === 'id') last = value
    else if (name === 'event') fields.event = value
    else if (name === 'data') fields.data.push(value)
    else if (name === 'retry') retry = Number(value)
  }
  response.setEncoding('utf8').on('data', (text: string) => {
    all += text
    rest += text
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
    for (const check of waiting) check()
  })
  const ended = new Promise<void>((resolve) => {
    response.once('end', resolve).once('close', resolve)
  })
  const when = (isIt: () => boolean) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(check)
        reject(
          new Error(
            `it did not come; the last of ${events.length} are: ${JSON.stringify(events.slice(-2)).slice(0, 500)}`,
          ),
        )
      }, PATIENCE_MS)
      const check = () => {
        if (!isIt()) return
        clearTimeout(timer)
        waiting.delete(check)
        resolve()
      }
      waiting.add(check)
      check()
    })
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: () => all,
    events,
    lastEventId: () => last,
    retry: () => retry,
    comments: () => comments,
    async until(isIt, from = 0) {
      await when(() => events.slice(from).some(isIt))
      const found = events.slice(from).find(isIt)
      if (!found) throw new Error('it was there')
      return found
    },
    when,
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void response.destroy(),
    ended,
  }
}
