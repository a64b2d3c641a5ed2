// cli: sends one request to a server, byte for byte, and reads the answer.
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { messageOf } from '../model/error-message.ts'
import { shellWord } from '../model/start-command.ts'
import type { ReceivedWebhook } from '../model/webhook-schemes/scheme.ts'
import { IS_IT_RUNNING } from './command.ts'

export interface TestAnswer {
  readonly status: number
  readonly reason: string
  /** As text, at most 1 MiB of it. */
  readonly body: string
}

const MAX_ANSWER_BYTES = 1024 * 1024

/**
 * @param server its address, without a slash at the end
 * @throws Error with one line when no answer comes within `timeoutMs`
 */
export function deliver(
  server: string,
  { method, target, headers, body }: ReceivedWebhook,
  timeoutMs: number,
): Promise<TestAnswer> {
  const { origin, protocol, host, hostname, port, pathname } = new URL(server)
  const has = (wanted: string) => headers.some(([name]) => name.toLowerCase() === wanted)
  const pairs = [
    ...(has('host') ? [] : [['Host', host]]),
    ...headers,
    ...(body.length > 0 || !['GET', 'HEAD'].includes(method) ? [['Content-Length', String(body.length)]] : []),
    ['Connection', 'close'],
  ]
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(new Error(`no answer from ${origin}: ${reasonOf(error)}`))
    const sent = (protocol === 'https:' ? requestHttps : requestHttp)(
      {
        hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
        port,
        method,
        path: pathname.replace(/\/$/, '') + target,
        headers: pairs.flat(),
        agent: false,
        signal: AbortSignal.timeout(timeoutMs),
      },
      (answer) => {
        const { statusCode: status = 0, statusMessage: reason = '' } = answer
        const parts: Buffer[] = []
        let length = 0
        const finish = () => resolve({ status, reason, body: Buffer.concat(parts).toString() })
        answer.on('data', (part: Buffer) => {
          parts.push(part.subarray(0, MAX_ANSWER_BYTES - length))
          length += part.length
          if (length <= MAX_ANSWER_BYTES) return
          finish()
          answer.destroy()
        })
        answer.on('end', finish)
        answer.on('error', fail)
      },
    )
    sent.on('error', fail)
    sent.end(body)
  })
}

/** The request as a curl command for a POSIX shell. `file`: the one that has the body, if one has. */
export function curlOf(
  server: string,
  { method, target, headers, body }: ReceivedWebhook,
  file: string | undefined,
): string {
  const data = file === undefined ? ['--data-raw', Buffer.from(body).toString()] : ['--data-binary', `@${file}`]
  const words = [
    ...(method === 'HEAD' ? ['--head'] : ['-i', '-X', method]),
    '-g',
    server + target,
    // Each character of a value is a byte.
    ...headers.flatMap(([name, value]) => ['-H', `${name}: ${Buffer.from(value, 'latin1').toString()}`]),
    ...(body.length > 0 ? data : []),
  ]
  return ['curl', ...words.map((word) => (/^[\w-]+$/.test(word) ? word : shellWord(word)))].join(' ')
}

/** Errors of several addresses have no message of their own. */
function reasonOf(error: unknown) {
  if (error instanceof Error && error.name === 'AbortError') return 'it took too long'
  const reason = error instanceof AggregateError ? error.errors.map(messageOf).join(', ') : messageOf(error)
  return `${reason}; ${IS_IT_RUNNING}`
}
