// model: example commands that start a service, shown to new users.
import { getOwn, isObject, setOwn, type JsonObject } from './json/value.ts'

interface Service {
  readonly package: string
  readonly fluxName: string
  /** The content of its file, or as much of it as says what a start needs: `input` and `secured`. */
  readonly source: JsonObject
}

export const asksForToken = ({ source }: Pick<Service, 'source'>): boolean => getOwn(source, 'secured') === true

/** A text as one word of a POSIX shell. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/**
 * A curl command for a POSIX shell that starts the service which is easiest to start: one without a token if possible,
 * and of those the one with the fewest required inputs. Undefined: there is no service.
 * @param withToken whether the command has an Authorization header also where the service asks for no token
 */
export function startCommand(services: readonly Service[], url: string, withToken: boolean): string | undefined {
  const [easiest] = services
    .map((service) => ({ ...service, isSecured: asksForToken(service), input: inputOf(service) }))
    .sort((one, other) => Number(one.isSecured) - Number(other.isSecured) || sizeOf(one) - sizeOf(other))
  if (!easiest) return undefined
  const { fluxName, package: owner, isSecured, input } = easiest
  const body = JSON.stringify({ fluxName, ...(sizeOf(easiest) > 0 && { input }) })
  const token = withToken || isSecured ? "-H 'Authorization: Bearer <token>' " : ''
  return `curl -X POST ${url}/flux-api/${owner}/execute ${token}-H 'content-type: application/json' -d ${shellWord(body)}`
}

const sizeOf = ({ input }: { readonly input: JsonObject }) => Object.keys(input).length

/** Examples for the types whose values are no numbers. */
const EXAMPLES: JsonObject = {
  string: 'text',
  any: 'text',
  'byte[]': 'text',
  character: 'a',
  boolean: true,
  date: '2030-01-01T00:00:00Z',
  object: {},
  model: {},
}

/** Example values for the required inputs. */
function inputOf({ source }: Service) {
  const inputs: JsonObject = {}
  const properties = getOwn(source, 'input')
  for (const property of Array.isArray(properties) ? properties : []) {
    if (!isObject(property) || property['required'] !== true || property['defaultValue'] !== undefined) continue
    const { name, type, array, choices } = property
    const example = getOwn(EXAMPLES, String(type || 'string')) ?? 1
    const value = Array.isArray(choices) ? (choices[0] ?? example) : example
    if (typeof name === 'string') setOwn(inputs, name, array === true ? [value] : value)
  }
  return inputs
}
