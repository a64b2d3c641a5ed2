// http: reads the query part of a URL. Stricter than URLSearchParams: what is malformed is refused, not mended.
import { malformed } from '../../model/failure.ts'
import { setOwn } from '../../model/json.ts'
import { unknownFields } from '../../model/unknown-fields.ts'
import { addField, type Fields } from './fields.ts'

export type Query = { [name: string]: string | string[] }

/** Repeated, or separated by commas; always read as a list. */
const LISTS: ReadonlySet<string> = new Set(['tag'])

/**
 * The parameters that the URL has. One that is repeated is a list.
 * @throws FluxError `malformed` for an escape that is broken or not UTF-8, for a parameter without a value, and for one that isn't among the names
 */
export function readQuery(url: string, names: ReadonlySet<string>): Query {
  const query: Query = {}
  let unknown: Set<string> | undefined
  const start = url.indexOf('?')
  if (start === -1) return query
  const end = url.indexOf('#', start)
  const fields: Fields<string> = new Map()
  for (const pair of url.slice(start + 1, end === -1 ? undefined : end).split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    if (names.has(name)) addField(fields, name, equals === -1 ? '' : decode(pair.slice(equals + 1)))
    else unknown = (unknown ?? new Set()).add(name)
  }
  const refusal = unknown && unknownFields([...unknown], names, 'parameter')
  if (refusal) throw refusal
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
