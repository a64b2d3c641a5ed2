// client: the URL and the body of a request, from the fields of a call.
import type { Route } from '../api/routes.ts'

/** Fields of a call, by name. */
export interface RequestFields {
  readonly [name: string]: unknown
}

/** Address of the page, in browsers. */
const pageAddress = (): string | undefined => {
  const location: unknown = Reflect.get(globalThis, 'location')
  return location === undefined ? undefined : String(location)
}

/** The server's address without query and with no slash at its end. @throws TypeError if it is no URL */
export function serverAddress(url: string | URL): string {
  const { origin, pathname, protocol } = new URL(url, pageAddress())
  if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError(`url must begin with http: or https:: ${url}`)
  return `${origin}${pathname.replace(/\/$/, '')}`
}

/** @throws TypeError if a field that the path needs is missing */
export function requestTarget(route: Route, fields: RequestFields) {
  const rest = new Map(Object.entries(fields).filter(([, value]) => value !== undefined))
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = rest.get(name)
    rest.delete(name)
    if (typeof value === 'string' && value !== '') return encodeURIComponent(value)
    throw new TypeError(`${name} must be a text that is not empty`)
  })
  const inBody = [...rest].filter(([name]) => route.body && !route.query?.includes(name))
  for (const [name] of inBody) rest.delete(name)
  return { path: path + queryText(rest), body: inBody.length > 0 ? bodyText(Object.fromEntries(inBody)) : null }
}

/** Each element of a list has a parameter of its own. An empty list is not left out: without it, a call may do more. */
function queryText(fields: ReadonlyMap<string, unknown>) {
  const query = new URLSearchParams()
  for (const [name, value] of fields) {
    const values: unknown[] = [value].flat()
    for (const each of values.length === 0 ? [''] : values) query.append(name, textOf(name, each))
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

function textOf(name: string, value: unknown) {
  if (value instanceof Date) return value.toISOString()
  if (value !== null && typeof value !== 'object' && typeof value !== 'function') return String(value)
  throw new TypeError(`${name} must be a text, a number or a boolean`)
}

/**
 * JSON, in which a bigint that no number can hold is text, as the server shows such numbers.
 * @throws TypeError for a number that JSON does not have, which would arrive as null
 */
export const bodyText = (value: unknown): string =>
  JSON.stringify(value, (name, each: unknown) => {
    if (typeof each === 'bigint') return Number.isSafeInteger(Number(each)) ? Number(each) : String(each)
    if (typeof each === 'number' && !Number.isFinite(each))
      throw new TypeError(`${name} is ${each}: JSON has no such number`)
    return each
  })
