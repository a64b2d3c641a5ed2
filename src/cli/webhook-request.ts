// cli: a request to a webhook: its body, which is a file, or a sample, in which values may be set; sending it, byte for byte;
// and the request as a curl command.
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { getOwn, isObject, setOwn, type Json } from '../model/json/value.ts'
import { plainJson } from './remote/text.ts'
import type { WebhookSample } from './webhook-samples.ts'
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { messageOf } from '../model/error-message.ts'
import { shellWord } from '../model/start-command.ts'
import type { ReceivedWebhook } from '../model/webhook-schemes/scheme.ts'
import { IS_IT_RUNNING, orUsage, UsageError } from './command.ts'

const TYPES: { readonly [extension: string]: string | undefined } = {
  '.json': 'application/json',
  '.xml': 'application/xml',
  '.txt': 'text/plain',
}

/** The file that is given, else the sample. @throws UsageError for a file that can't be read, and for wrong settings */
export async function bodyOf(sample: WebhookSample, file: string | undefined, settings: readonly string[]) {
  const given =
    file === undefined ? sample.body : await orUsage("the file of --body can't be read", () => readFile(file))
  const contentType = TYPES[extname(file ?? '').toLowerCase()] ?? sample.contentType
  const body = settings.length === 0 ? given : changed(given.toString(), contentType, settings.map(settingOf))
  return { bytes: Buffer.from(body), contentType }
}

/** @throws UsageError */
function settingOf(text: string): readonly [path: string, value: string] {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError(`--set must be path=value, not '${text}'`)
  return [text.slice(0, at), text.slice(at + 1)]
}

/** @throws UsageError if the body has no values that can be set */
function changed(text: string, contentType: string, settings: readonly ReturnType<typeof settingOf>[]) {
  if (contentType.startsWith('application/x-www-form-urlencoded')) {
    const form = new URLSearchParams(text)
    for (const [path, value] of settings) form.set(path, value)
    return form.toString()
  }
  const body = parsed(text)
  if (body === undefined) throw new UsageError('--set needs a body that is JSON or a form')
  for (const setting of settings) setIn(body, setting)
  return plainJson(body)
}

/** undefined: it is no JSON. */
function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Objects that are missing on the way are made. @throws UsageError where the way leads through another value */
function setIn(body: Json, [path, value]: ReturnType<typeof settingOf>) {
  const names = path.split('.')
  const last = names.pop() ?? ''
  let at = body
  for (const name of names) {
    if (isObject(at) && getOwn(at, name) === undefined) setOwn(at, name, {})
    at = (isObject(at) ? getOwn(at, name) : Array.isArray(at) ? at[Number(name)] : null) ?? null
  }
  const json = parsed(value)
  const given = json === undefined ? value : json
  if (isObject(at)) setOwn(at, last, given)
  else if (Array.isArray(at) && /^\d+$/.test(last) && Number(last) <= at.length) at[Number(last)] = given
  else throw new UsageError(`--set: the body has no place for ${path}`)
}

const MAX_ANSWER_CHARACTERS = 1024 * 1024

/**
 * Resolves with the answer; of its body, as text, with the beginning.
 * @param server its address, without a slash at the end
 * @throws Error with one line when no answer comes within `timeoutMs`
 */
export async function deliver(server: string, { method, target, headers, body }: ReceivedWebhook, timeoutMs: number) {
  const { origin, protocol, host, pathname } = new URL(server)
  const hasHost = headers.some(([name]) => name.toLowerCase() === 'host')
  const hasBody = body.length > 0 || !['GET', 'HEAD'].includes(method)
  const pairs = [
    ...(hasHost ? [] : [['Host', host]]),
    ...headers,
    ...(hasBody ? [['Content-Length', String(body.length)]] : []),
    ['Connection', 'close'],
  ]
  try {
    const request = protocol === 'https:' ? requestHttps : requestHttp
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request(server, {
        method,
        path: pathname.replace(/\/$/, '') + target,
        headers: pairs.flat(),
        agent: false,
        signal: AbortSignal.timeout(timeoutMs),
      })
        .on('response', resolve)
        .on('error', reject)
        .end(body)
    })
    let text = ''
    for await (const part of answer.setEncoding('utf8')) {
      text += part
      if (text.length >= MAX_ANSWER_CHARACTERS) break
    }
    const { statusCode: status = 0, statusMessage: reason } = answer
    return { status, reason, body: text.slice(0, MAX_ANSWER_CHARACTERS) }
  } catch (error) {
    throw new Error(`no answer from ${origin}: ${reasonOf(error)}`, { cause: error })
  }
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
