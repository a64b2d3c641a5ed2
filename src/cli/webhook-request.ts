// cli: a request to a webhook: its headers and its body, which is a file, or a sample, in which values may be set; sending it,
// byte for byte; and the request as a curl command.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import http, { validateHeaderName, validateHeaderValue, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { extname } from 'node:path'
import { ConnectionError } from '../client/problem.ts'
import { messageOf } from '../model/error-message.ts'
import { getOwn, isObject, type Json } from '../model/json/value.ts'
import { shellWord } from '../model/start-command.ts'
import type { HeaderPair, ReceivedWebhook, WebhookVerify } from '../model/webhook-schemes/scheme.ts'
import { orUsage, UsageError } from './command.ts'
import { plainJson } from './remote/text.ts'
import { sampleOf } from './webhook-samples.ts'

/** The headers, with the others instead of those of the same names. */
export const replaced = (headers: readonly HeaderPair[], others: readonly HeaderPair[]): HeaderPair[] => [
  ...headers.filter(([name]) => !others.some(([other]) => other.toLowerCase() === name.toLowerCase())),
  ...others,
]

/** @throws UsageError */
export function headerOf(text: string): HeaderPair {
  const [, name = '', value = ''] = /^([^:]*):(.*)$/s.exec(text)?.map((part) => part.trim()) ?? []
  if (name === '') throw new UsageError(`--header must be 'Name: value', not '${text}'`)
  // Each character is a byte on the wire.
  const bytes = Buffer.from(value).toString('latin1')
  try {
    validateHeaderName(name)
    validateHeaderValue(name, bytes)
  } catch (error) {
    throw new UsageError(`--header: ${messageOf(error)}`)
  }
  return [name, bytes]
}

const TYPES: { readonly [extension: string]: string | undefined } = {
  '.json': 'application/json',
  '.xml': 'application/xml',
  '.txt': 'text/plain',
}

/**
 * What is sent before it is signed: a file, else a sample.
 * @throws UsageError for a file that can't be read, and for wrong settings
 */
export async function contentOf(
  verify: WebhookVerify | null,
  method: string,
  file: string | undefined,
  settings: readonly string[] = [],
) {
  const sample = sampleOf(verify?.scheme ?? null, Date.now())
  const standard = method === 'GET' || method === 'HEAD' ? '' : sample.body
  const given = file === undefined ? standard : await orUsage("the file of --body can't be read", () => readFile(file))
  const contentType = TYPES[extname(file ?? '').toLowerCase()] ?? sample.contentType
  const body = Buffer.from(settings.length === 0 ? given : changed(String(given), contentType, settings.map(settingOf)))
  const typed: HeaderPair[] = body.length > 0 ? [['Content-Type', contentType]] : []
  // Those that are signed.
  const needed = (verify?.rule.payload ?? []).flatMap((part): HeaderPair[] =>
    part.kind === 'header' ? [[part.name, randomUUID()]] : [],
  )
  return { headers: replaced(needed, [...sample.headers, ...typed]), body }
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
  let body = parsed(text)
  if (body === undefined) throw new UsageError('--set needs a body that is JSON or a form')
  for (const [path, value] of settings) {
    const json = parsed(value)
    body = withValue(body, path.split('.'), json === undefined ? value : json)
  }
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

/** The body with a value at a path. Objects that are missing there are made. @throws UsageError for a path through a text */
function withValue(body: Json, [name, ...names]: readonly string[], value: Json): Json {
  if (name === undefined) return value
  if (Array.isArray(body) && /^\d+$/.test(name) && Number(name) <= body.length)
    return body.toSpliced(Number(name), 1, withValue(body[Number(name)] ?? {}, names, value))
  if (isObject(body)) return { ...body, [name]: withValue(getOwn(body, name) ?? {}, names, value) }
  throw new UsageError(`--set: the body has no place for ${name}`)
}

const MAX_ANSWER_CHARACTERS = 1024 * 1024

/**
 * Resolves with the answer; of its body, as text, with the beginning.
 * @param server its address, without a slash at the end
 * @throws ConnectionError when no answer comes within `timeoutMs`
 */
export async function deliver(server: string, request: ReceivedWebhook, timeoutMs: number) {
  const { method, target, host, headers, body } = request
  const { origin, protocol, pathname } = new URL(server)
  const hasBody = body.length > 0 || !['GET', 'HEAD'].includes(method)
  const own: HeaderPair[] = [
    ['Connection', 'close'],
    ...(hasBody ? [['Content-Length', `${body.length}`] as const] : []),
  ]
  try {
    const sent = (protocol === 'https:' ? https : http).request(server, {
      method,
      path: pathname.replace(/\/$/, '') + target,
      headers: replaced(replaced([['Host', host ?? '']], headers), own).flat(),
      agent: false,
      signal: AbortSignal.timeout(timeoutMs),
    })
    // Also after its answer has begun: an error without a listener would end the program.
    sent.on('error', () => {})
    sent.end(body)
    const answer: IncomingMessage = (await once(sent, 'response'))[0]
    let text = ''
    for await (const part of answer.setEncoding('utf8')) {
      text += part
      if (text.length >= MAX_ANSWER_CHARACTERS) break
    }
    const { statusCode: status = 0, statusMessage: reason } = answer
    return { status, reason, body: text.slice(0, MAX_ANSWER_CHARACTERS) }
  } catch (error) {
    throw new ConnectionError(origin, { cause: error })
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
