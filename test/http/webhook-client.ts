// Sends requests to webhooks as they are: header by header, and signed by a scheme.
import { request } from 'node:http'
import type { HeaderPair, VerifyEnv, VerifyRule, WebhookSchemeName } from '../../src/model/webhook-schemes/scheme.ts'
import { WEBHOOK_SCHEMES } from '../../src/model/webhook-schemes/schemes.ts'

export interface Sent {
  readonly method?: string
  readonly path: string
  readonly headers?: readonly HeaderPair[]
  readonly body?: string | Buffer
}

export interface Got {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** Each character of a header is a byte. */
export const sendTo = (url: string, { method = 'POST', path, headers = [], body = '' }: Sent): Promise<Got> =>
  new Promise((resolve, reject) => {
    const { hostname, port, host } = new URL(url)
    const bytes = Buffer.from(body)
    const all = [['Host', host], ...headers, ['Content-Length', String(bytes.length)], ['Connection', 'close']]
    const sent = request({ hostname, port, method, path, headers: all.flat(), agent: false }, (answer) => {
      const chunks: Buffer[] = []
      answer
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        )
        .on('error', reject)
    })
    sent.on('error', reject).end(bytes)
  })

/** The headers by which the request is one that a sender who knows the secret has sent. */
export function signatureOf(
  scheme: WebhookSchemeName,
  rule: Partial<VerifyRule> & Pick<VerifyRule, 'secrets'>,
  { url, sent, nowMs = Date.now(), publicUrl = null }: { url: string; sent: Sent } & Partial<VerifyEnv>,
): readonly HeaderPair[] {
  const { method = 'POST', path, headers = [], body = '' } = sent
  const received = { method, target: path, host: new URL(url).host, headers, body: Buffer.from(body) }
  return WEBHOOK_SCHEMES[scheme].sign({ toleranceS: 300, ...rule }, received, { nowMs, publicUrl })
}
