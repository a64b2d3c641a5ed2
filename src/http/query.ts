// http: reads the query part of a URL. Stricter than URLSearchParams: what is malformed is refused, not mended.
import { malformed } from '../model/failure.ts'
import { setOwn } from '../model/json.ts'
import { addField, type Fields } from './fields.ts'

export type Query = { [name: string]: string | string[] }

/** Repeated, or separated by commas; always read as a list. */
const LISTS: ReadonlySet<string> = new Set(['tag'])

/**
 * The parameters of those names that the URL has; others are ignored. One that is repeated is a list.
 * @throws FluxError `malformed` for an escape that is broken or not UTF-8, and for a parameter without a value
 */
export function readQuery(url: string, names: object): Query {
  const query: Query = {}
  const start = url.indexOf('?')
  if (start === -1) return query
  const end = url.indexOf('#', start)
  const fields: Fields<string> = new Map()
  for (const pair of url.slice(start + 1, end === -1 ? undefined : end).split('&')) {
    const equals = pair.indexOf('=')
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    if (Object.hasOwn(names, name)) addField(fields, name, equals === -1 ? '' : decode(pair.slice(equals + 1)))
  }
  for (const [name, given] of fields) {
    const [first = '', ...more] = given
    const values = LISTS.has(name) ? given.flatMap((text) => text.split(',')) : more.length > 0 ? given : first
    if (Array.isArray(values) && values.every((text) => text === '')) throw malformed(`${name} has no value`)
    setOwn(query, name, values)
  }
  return query
}

/** Most texts have nothing to decode, and to find that out is cheaper. */
function decode(text: string): string {
  if (!/[%+]/.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw malformed('the query has a malformed escape')
  }
}
