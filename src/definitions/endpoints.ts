// definitions: routes requests to webhooks, segment by segment. A literal takes precedence over a parameter, with
// backtracking.
import { getOwn, isObject, type Json } from '../model/json/value.ts'
import type { Endpoint, EndpointDescription, FoundEndpoint, InputDescription } from '../model/webhook.ts'
import { parameterOf, type Webhook } from './compile/webhooks.ts'
import type { CompiledFlux } from './flux.ts'

type Service = Pick<CompiledFlux, 'package' | 'fluxName' | 'source' | 'webhooks'>

interface Node {
  readonly literals: Map<string, Node>
  parameter: Node | null
  readonly methods: Map<
    string,
    {
      readonly endpoint: Endpoint /** Names of the parameters in the path, from left to right. */
      readonly names: readonly string[]
    }
  >
}

const emptyNode = (): Node => ({ literals: new Map(), parameter: null, methods: new Map() })

export class Endpoints {
  readonly #root = emptyNode()
  readonly #services: readonly Service[]
  #all: readonly EndpointDescription[] | null = null

  constructor(services: readonly Service[]) {
    this.#services = services
    for (const { package: owner, fluxName, webhooks } of services) {
      for (const { urlPath, httpMethods, timeout, verify } of webhooks)
        this.#add({ package: owner, fluxName, urlPath, timeout, verify }, httpMethods)
    }
  }

  #add(endpoint: Endpoint, methods: readonly string[]): void {
    const names: string[] = []
    let at = this.#root
    for (const segment of endpoint.urlPath.slice(1).split('/')) {
      const name = parameterOf(segment)
      if (name !== null) {
        names.push(name)
        at = at.parameter ??= emptyNode()
      } else {
        const literal = decode(segment)
        const next = at.literals.get(literal) ?? emptyNode()
        at.literals.set(literal, next)
        at = next
      }
    }
    // Two services can't have the same endpoint when the server starts. After a reload they may, and then the first
    // keeps it.
    for (const method of methods) if (!at.methods.has(method)) at.methods.set(method, { endpoint, names })
  }

  get all(): readonly EndpointDescription[] {
    return (this.#all ??= this.#services.flatMap(descriptionsOf))
  }

  /**
   * Finds the endpoint for a method and the decoded segments of a path. HEAD is served by GET, unless a webhook has it.
   * Returns the allowed methods if the path exists only for others; null if it does not exist.
   */
  find(method: string, segments: readonly string[]): FoundEndpoint | null {
    const allow = new Set<string>()
    for (const {
      at: { methods },
      values,
    } of matchesOf(this.#root, segments, [])) {
      const found = methods.get(method) ?? (method === 'HEAD' ? methods.get('GET') : undefined)
      if (found)
        return {
          endpoint: found.endpoint,
          parameters: new Map(found.names.map((name, index) => [name, values[index] ?? ''])),
        }
      for (const other of methods.keys()) allow.add(other)
      if (methods.has('GET')) allow.add('HEAD')
    }
    return allow.size === 0 ? null : { allow: [...allow].sort() }
  }
}

/** Yields all routes that match the path, the most literal first. */
function* matchesOf(
  at: Node,
  [segment, ...rest]: readonly string[],
  values: readonly string[],
): Generator<{ readonly at: Node; readonly values: readonly string[] }> {
  if (segment === undefined) {
    if (at.methods.size > 0) yield { at, values }
    return
  }
  const literal = at.literals.get(segment)
  if (literal) yield* matchesOf(literal, rest, values)
  if (at.parameter && segment !== '') yield* matchesOf(at.parameter, rest, [...values, segment])
}

/** The text of a segment; as it is, if its escapes are malformed. */
export function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function descriptionsOf({ package: owner, fluxName, source, webhooks }: Service): EndpointDescription[] {
  const inputs = objectsOf(source['input']).flatMap(({ name, type, array, comments }): InputDescription[] =>
    typeof name === 'string'
      ? [{ name, type: textOf(type) ?? 'string', array: array === true, comment: textOf(comments) }]
      : [],
  )
  const sources = Array.isArray(source['webhooks']) ? source['webhooks'] : []
  return webhooks.map(({ pointer, urlPath, httpMethods, verify, when, send, answer }) => {
    const file = sources[Number(pointer.slice(pointer.lastIndexOf('/') + 1))]
    const segments = urlPath
      .slice(1)
      .split('/')
      .map((segment) => {
        const parameter = parameterOf(segment)
        return parameter === null ? { literal: decode(segment), parameter } : { literal: null, parameter }
      })
    return {
      package: owner,
      fluxName,
      urlPath,
      httpMethods,
      name: isObject(file) ? textOf(getOwn(file, 'name')) : null,
      scheme: verify?.scheme ?? null,
      comment: textOf(source['comment']),
      segments,
      inputs,
      filters: when !== null,
      answers: send === null ? answer : 'sent',
    }
  })
}

const objectsOf = (list: Json | undefined) => (Array.isArray(list) ? list.filter(isObject) : [])

const textOf = (value: Json | undefined): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** undefined: there is none. A request with HEAD is for the webhook that has GET, unless one has HEAD. */
export function webhookOf(flux: CompiledFlux, urlPath: string, method: unknown): Webhook | undefined {
  const ofMethod = (name: unknown) =>
    flux.webhooks.find((one) => one.urlPath === urlPath && one.httpMethods.some((own) => own === name))
  return ofMethod(method) ?? (method === 'HEAD' ? ofMethod('GET') : undefined)
}
