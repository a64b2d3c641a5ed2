// testing: what answers the requests of `Http.request`, `Webhooks.send` and `onEnd` in a test. None leaves the process.
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { messageOf } from '../model/error-message.ts'
import type { Json } from '../model/json/value.ts'
import { alternatives } from '../model/nearest.ts'
import { HttpError } from '../steps/builtin/http/call.ts'
import type { HttpResponse } from '../steps/builtin/http/answer.ts'
import type { Exchange } from '../steps/builtin/http/request.ts'
import type { FakeAnswer, FakeHttp, SentRequest } from './types.ts'

/** `now`: epoch milliseconds. */
export function fakeNetwork(now: () => number) {
  const sent: SentRequest[] = []
  const fakes = new Map<string, FakeHttp>()
  const fakeOf = (href: string) =>
    fakes.get(href) ??
    fakes.get(href.split('?', 1).join()) ??
    [...fakes].find(([url]) => url.endsWith('*') && href.startsWith(url.slice(0, -1)))?.[1]

  const exchange: Exchange = async ({ method, url: { href }, headers, body }, _, signal) => {
    const data = body && dataOf(body.toString(), headers)
    const request = { method, url: href, headers: Object.fromEntries(headers), body: data, at: now(), status: null }
    const place = sent.push(request) - 1
    const fake = fakeOf(href)
    if (!fake)
      throw new HttpError(`no request leaves a test: there is no answer of ${href}${alternatives(href, fakes.keys())}`)
    const answering = typeof fake === 'function' ? Promise.resolve(request).then(fake).catch(networkError) : fake
    const answer = Object(await Promise.race([answering, once(signal, 'abort')]))
    signal.throwIfAborted()
    sent[place] = { ...request, status: answer.status ?? OK }
    return responseOf(answer)
  }

  return {
    exchange,
    sent: () => sent,
    /** `url`: with its query, or without for any; one that ends with `*` answers all that begin so. */
    http: (url: string, answer: FakeHttp) => void fakes.set(url, answer),
  }
}

const OK = 200

/** The data of a JSON body; else its text. */
export function dataOf(text: string, headers: Headers): Json {
  try {
    return /[/+]json\b/.test(headers.get('content-type') ?? '') ? JSON.parse(text) : text
  } catch {
    return text
  }
}

/** An error of the network has a code, as those of Node. */
function networkError(error: unknown): never {
  throw error instanceof Error && 'code' in error ? error : new HttpError(messageOf(error), { cause: error })
}

/** As Node gives the response of a server. */
function responseOf({ status: statusCode = OK, headers: given = {}, body }: FakeAnswer): HttpResponse {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type = typeof body === 'string' ? 'text/plain; charset=UTF-8' : 'application/json'
  const headers = Object.fromEntries([
    ...(text === undefined ? [] : [['content-type', type]]),
    ...Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]),
  ])
  const headersDistinct = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [String(value)]]))
  const bytes = text === undefined ? [] : [Buffer.from(text)]
  return Object.assign(Readable.from(bytes), { statusCode, headers, headersDistinct })
}
