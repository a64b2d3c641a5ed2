// definitions: the paths of all webhooks, found segment by segment. A literal beats a parameter; what leads nowhere is gone back on.
import type { Endpoint, Found } from '../model/webhook.ts'
import { parameterOf } from './compile-webhooks.ts'
import type { CompiledFlux } from './flux.ts'

interface Place {
  readonly literals: Map<string, Place>
  parameter: Place | null
  readonly methods: Map<string, { readonly endpoint: Endpoint; /** Names of the parameters on the way, from left to right. */ readonly names: readonly string[] }>
}

const place = (): Place => ({ literals: new Map(), parameter: null, methods: new Map() })

export class Endpoints {
  readonly #root = place()

  constructor(services: readonly CompiledFlux[]) {
    for (const { package: owner, fluxName, webhooks } of services) {
      for (const { urlPath, httpMethods, timeout } of webhooks) this.#add({ package: owner, fluxName, urlPath, timeout }, httpMethods)
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

  /** HEAD is GET without the body, unless a webhook has it. */
  find(method: string, segments: readonly string[]): Found | null {
    const allow = new Set<string>()
    for (const { at: { methods }, values } of ways(this.#root, segments, [])) {
      const found = methods.get(method) ?? (method === 'HEAD' ? methods.get('GET') : undefined)
      if (found) return { endpoint: found.endpoint, parameters: new Map(found.names.map((name, index) => [name, values[index] ?? ''])) }
      for (const other of methods.keys()) allow.add(other)
      if (methods.has('GET')) allow.add('HEAD')
    }
    return allow.size === 0 ? null : { allow: [...allow].sort() }
  }
}

/** All places that the path leads to, the most literal first. */
function* ways(at: Place, [segment, ...rest]: readonly string[], values: readonly string[]): Generator<{ readonly at: Place; readonly values: readonly string[] }> {
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
