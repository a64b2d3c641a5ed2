// cli: what a server says when it is up: what it loaded, where it is, and a first request to try.
import { isObject, setOwn, type Json, type JsonObject } from '../model/json.ts'
import type { Loaded } from '../main.ts'
import { count } from './report.ts'
import { asksForToken } from './warnings.ts'

type Service = Loaded['services'][number]

export interface GreetingOptions { readonly url: string; readonly storage: string; readonly services: readonly Service[]; readonly requireAuth: boolean }

/** More names than this are only counted. */
const SHOWN = 12

export function greeting({ url, storage, services, requireAuth }: GreetingOptions): string[] {
  const packages = new Map<string, number>()
  for (const service of services) packages.set(service.package, (packages.get(service.package) ?? 0) + 1)
  const triggers = [...new Set(services.flatMap((service) => service.triggers))]
  const webhooks = services.flatMap((service) => service.webhooks.map(({ httpMethods, urlPath }) => `${httpMethods.join('/')} /api${urlPath}`))
  const lines = [
    `packages   ${shown(Array.from(packages, ([name, size]) => `${name} (${count(size, 'service')})`))}`,
    `triggers   ${shown(triggers)}`,
    `webhooks   ${shown(webhooks)}`,
    `data       ${storage}`,
    `listening  ${url}`,
  ]
  const first = easiest(services)
  return first ? [...lines, '', 'Try:', `  ${curl(url, first, requireAuth || asksForToken(first))}`] : lines
}

function shown(names: readonly string[]): string {
  if (names.length === 0) return 'none'
  return names.slice(0, SHOWN).join(', ') + (names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '')
}

/** The one that asks for the least: rather for much input than for a token. */
function easiest(services: readonly Service[]): Service | undefined {
  return [...services].sort((one, other) => Number(asksForToken(one)) - Number(asksForToken(other)) || Object.keys(inputOf(one)).length - Object.keys(inputOf(other)).length)[0]
}

function curl(url: string, service: Service, withToken: boolean): string {
  const input = inputOf(service)
  const body = JSON.stringify({ fluxName: service.fluxName, ...(Object.keys(input).length > 0 ? { input } : {}) })
  const reachable = url.replace(/\/\/(0\.0\.0\.0|\[::\]):/, '//127.0.0.1:')
  return `curl -X POST ${reachable}/flux-api/${service.package}/execute ${withToken ? '-H \'Authorization: Bearer <token>\' ' : ''}-H 'content-type: application/json' -d '${body.replaceAll('\'', String.raw`'\''`)}'`
}

/** A value for each input that must be given. */
function inputOf({ source }: Service): JsonObject {
  const example: JsonObject = {}
  const properties = source['input']
  for (const property of Array.isArray(properties) ? properties : []) {
    if (!isObject(property) || property['required'] !== true || property['defaultValue'] !== undefined) continue
    const { name, type = 'string', array, choices } = property
    const value = Array.isArray(choices) && choices[0] !== undefined ? choices[0] : exampleOf(type)
    if (typeof name === 'string') setOwn(example, name, array === true ? [value] : value)
  }
  return example
}

function exampleOf(type: Json): Json {
  switch (type) {
    case 'boolean': return true
    case 'byte': case 'short': case 'integer': case 'long': case 'float': case 'double': case 'bigInteger': case 'bigDecimal': return 1
    case 'date': return '2030-01-01T00:00:00Z'
    case 'object': case 'model': return {}
    case 'character': return 'a'
    default: return 'text'
  }
}
