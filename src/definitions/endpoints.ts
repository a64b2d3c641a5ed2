// definitions: the paths of all webhooks, found segment by segment. A literal beats a parameter; what leads nowhere is
// gone back on.
import { getOwn, isObject, type Json } from '../model/json/value.ts'
import type { Endpoint, EndpointDescription, FoundEndpoint, InputDescription } from '../model/webhook.ts'
import { parameterOf } from './compile/webhooks.ts'
import type { CompiledFlux } from './flux.ts'

interface Place {
  readonly literals: Map<string, Place>
  parameter: Place | null
  readonly methods: Map<
    string,
    {
      readonly endpoint: Endpoint /** Names of the parameters on the way, from left to right. */
      readonly names: readonly string[]
    }
  >
}

const place = (): Place => ({ literals: new Map(), parameter: null, methods: new Map() })

export class Endpoints {
  readonly #root = place()
  readonly #services: readonly CompiledFlux[]
  #all: readonly EndpointDescription[] | null = null

  constructor(services: readonly CompiledFlux[]) {
    this.#services = services
    for (const { package: owner, fluxName, webhooks } of services) {
      for (const { urlPath, httpMethods, timeout } of webhooks)
        this.#add({ package: owner, fluxName, urlPath, timeout }, httpMethods)
    }
  }

  #add(endpoint: Endpoint, methods: readonly string[]): void {
    const names: string[] = []
    let at = this.#root
    for (const segment of endpoint.urlPath.slice(1).split('/')) {
      const name = parameterOf(segment)
      if (name !== null) {
        names.push(name)
        at = at.parameter ??= place()
      } else {
        const literal = decode(segment)
        const next = at.literals.get(literal) ?? place()
        at.literals.set(literal, next)
        at = next
      }
    }
    // When the server starts there are no two; while files change there may be, and then the first stays.
    for (const method of methods) if (!at.methods.has(method)) at.methods.set(method, { endpoint, names })
  }

  get all(): readonly EndpointDescription[] {
    return (this.#all ??= this.#services.flatMap(descriptionsOf))
  }

  /** HEAD is GET without the body, unless a webhook has it. */
  find(method: string, segments: readonly string[]): FoundEndpoint | null {
    const allow = new Set<string>()
    for (const {
      at: { methods },
      values,
    } of ways(this.#root, segments, [])) {
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

/** All places that the path leads to, the most literal first. */
function* ways(
  at: Place,
  [segment, ...rest]: readonly string[],
  values: readonly string[],
): Generator<{ readonly at: Place; readonly values: readonly string[] }> {
  if (segment === undefined) {
    if (at.methods.size > 0) yield { at, values }
    return
  }
  const literal = at.literals.get(segment)
  if (literal) yield* ways(literal, rest, values)
  if (at.parameter && segment !== '') yield* ways(at.parameter, rest, [...values, segment])
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function descriptionsOf({ package: owner, fluxName, source, webhooks }: CompiledFlux): EndpointDescription[] {
  const inputs = objectsOf(source['input']).flatMap(({ name, type, array, comments }): InputDescription[] =>
    typeof name === 'string'
      ? [{ name, type: textOf(type) ?? 'string', array: array === true, comment: textOf(comments) }]
      : [],
  )
  const sources = Array.isArray(source['webhooks']) ? source['webhooks'] : []
  return webhooks.map(({ pointer, urlPath, httpMethods }) => {
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
      comment: textOf(source['comment']),
      segments,
      inputs,
    }
  })
}

const objectsOf = (list: Json | undefined) => (Array.isArray(list) ? list.filter(isObject) : [])

const textOf = (value: Json | undefined): string | null => (typeof value === 'string' && value !== '' ? value : null)
