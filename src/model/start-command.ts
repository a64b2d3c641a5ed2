// model: example commands that start a service, shown to new users.
import { getOwn, isObject, setOwn, type Json, type JsonObject } from './json/value.ts'

interface Service {
  readonly package: string
  readonly fluxName: string
  /** The content of its file, or as much of it as says what a start needs: `input` and `secured`. */
  readonly source: JsonObject
}

export const asksForToken = ({ source }: Pick<Service, 'source'>): boolean => getOwn(source, 'secured') === true

/**
 * Returns the service that is easiest to start: one without a token if possible, and of those the one with the fewest
 * required inputs.
 */
export function easiest<S extends Service>(services: readonly S[]): S | undefined {
  return [...services].sort(
    (one, other) =>
      Number(asksForToken(one)) - Number(asksForToken(other)) ||
      Object.keys(inputOf(one)).length - Object.keys(inputOf(other)).length,
  )[0]
}

/** A text as one word of a POSIX shell. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Returns a curl command for a POSIX shell. `withToken`: whether it has an Authorization header. */
export function startCommand(
  service: Service,
  { url, withToken }: { readonly url: string; readonly withToken: boolean },
): string {
  const input = inputOf(service)
  const body = JSON.stringify({ fluxName: service.fluxName, ...(Object.keys(input).length > 0 ? { input } : {}) })
  const token = withToken ? "-H 'Authorization: Bearer <token>' " : ''
  return `curl -X POST ${url}/flux-api/${service.package}/execute ${token}-H 'content-type: application/json' -d ${shellWord(body)}`
}

/** Of the types whose values are no numbers. */
const EXAMPLES: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['string', 'text'],
  ['any', 'text'],
  ['byte[]', 'text'],
  ['character', 'a'],
  ['boolean', true],
  ['date', '2030-01-01T00:00:00Z'],
  ['object', {}],
  ['model', {}],
])

/** Example values for the required inputs. */
function inputOf({ source }: Service): JsonObject {
  const inputs: JsonObject = {}
  const properties = getOwn(source, 'input')
  for (const property of Array.isArray(properties) ? properties : []) {
    if (!isObject(property) || property['required'] !== true || property['defaultValue'] !== undefined) continue
    const { name, type, array, choices } = property
    const example = EXAMPLES.get(String(type || 'string')) ?? 1
    const value = Array.isArray(choices) ? (choices[0] ?? example) : example
    if (typeof name === 'string') setOwn(inputs, name, array === true ? [value] : value)
  }
  return inputs
}
