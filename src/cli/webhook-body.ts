// cli: the body of a request to a webhook: a file, or a sample, in which values may be set.
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { messageOf } from '../model/error-message.ts'
import { getOwn, isObject, setOwn, type Json } from '../model/json/value.ts'
import { UsageError } from './command.ts'
import { plainJson } from './remote/text.ts'
import type { WebhookSample } from './webhook-samples.ts'

export interface WebhookBody {
  readonly bytes: Uint8Array
  readonly contentType: string
}

const TYPES: { readonly [extension: string]: string | undefined } = {
  '.json': 'application/json',
  '.xml': 'application/xml',
  '.txt': 'text/plain',
}

/** The file that is given, else the sample. @throws UsageError for a file that can't be read, and for wrong settings */
export async function bodyOf(
  { body, contentType }: Pick<WebhookSample, 'body' | 'contentType'>,
  { file, settings }: { readonly file: string | undefined; readonly settings: readonly string[] },
): Promise<WebhookBody> {
  const given = {
    bytes: file === undefined ? Buffer.from(body) : await readBody(file),
    contentType: (file === undefined ? undefined : TYPES[extname(file).toLowerCase()]) ?? contentType,
  }
  if (settings.length === 0) return given
  return { ...given, bytes: Buffer.from(changed(given, settings.map(settingOf))) }
}

async function readBody(file: string) {
  try {
    return await readFile(file)
  } catch (error) {
    throw new UsageError(`the file of --body can't be read: ${messageOf(error)}`)
  }
}

interface Setting {
  readonly path: string
  readonly value: string
}

/** @throws UsageError */
function settingOf(text: string) {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError(`--set must be path=value, not '${text}'`)
  return { path: text.slice(0, at), value: text.slice(at + 1) }
}

/** @throws UsageError if the body has no values that can be set */
function changed({ bytes, contentType }: WebhookBody, settings: readonly Setting[]) {
  const text = Buffer.from(bytes).toString()
  if (contentType.startsWith('application/x-www-form-urlencoded')) {
    const form = new URLSearchParams(text)
    for (const { path, value } of settings) form.set(path, value)
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
function setIn(body: Json, { path, value }: Setting) {
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
