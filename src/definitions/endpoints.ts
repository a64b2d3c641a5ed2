// definitions: finds the webhook of a path. A literal segment takes precedence over a parameter, from left to right.
import { unescape } from 'node:querystring'
import type { Json } from '../model/json/value.ts'
import type { EndpointDescription, FoundEndpoint } from '../model/webhook.ts'
import { parameterOf, type Webhook } from './compile/webhooks.ts'
import type { CompiledFlux } from './flux.ts'

export class Endpoints {
  /** The most literal first. Each endpoint is always the same object. */
  readonly #routes
  readonly all: readonly EndpointDescription[]

  /**
   * Two services can't have the same endpoint when the server starts. After a reload they may, and then the first keeps
   * it.
   */
  constructor(services: readonly CompiledFlux[]) {
    this.all = services.flatMap(descriptionsOf)
    this.#routes = services
      .flatMap(({ package: owner, fluxName, webhooks }) =>
        webhooks.map(({ httpMethods, urlPath, timeout, verify }) => {
          const segments = segmentsOf(urlPath)
          const order = segments.map(({ literal }) => (literal === null ? 1 : 0)).join('')
          return { endpoint: { package: owner, fluxName, urlPath, timeout, verify }, httpMethods, segments, order }
        }),
      )
      .sort((a, b) => a.order.localeCompare(b.order))
  }

  /**
   * Finds the endpoint for a method and the decoded segments of a path. Returns the allowed methods if the path exists
   * only for others; null if it does not exist.
   */
  find(method: string, path: readonly string[]): FoundEndpoint | null {
    const routes = this.#routes.filter(
      ({ segments }) =>
        segments.length === path.length &&
        segments.every(({ literal }, index) => (literal === null ? path[index] !== '' : literal === path[index])),
    )
    const found = forMethod(routes, method)
    if (found !== undefined) {
      const values = found.segments.flatMap(({ parameter }, index) =>
        parameter === null ? [] : [[parameter, path[index] ?? ''] as const],
      )
      return { endpoint: found.endpoint, parameters: new Map(values) }
    }
    const allow = new Set(routes.flatMap(({ httpMethods }) => httpMethods))
    if (allow.has('GET')) allow.add('HEAD')
    return allow.size === 0 ? null : { allow: [...allow].sort() }
  }
}

/** Keys of the endpoints of a webhook. Two webhooks with an equal key match the same requests. */
export function endpointsOf({ httpMethods, urlPath }: Webhook): string[] {
  const shape = segmentsOf(urlPath).map(({ literal }) => (literal === null ? '{}' : encodeURIComponent(literal)))
  return httpMethods.map((method) => `${method} /${shape.join('/')}`)
}

const segmentsOf = (urlPath: string): EndpointDescription['segments'] =>
  urlPath
    .slice(1)
    .split('/')
    .map((segment) => {
      const parameter = parameterOf(segment)
      return parameter === null ? { literal: unescape(segment), parameter } : { literal: null, parameter }
    })

function descriptionsOf({ package: owner, fluxName, source, input, webhooks }: CompiledFlux): EndpointDescription[] {
  const inputs = Array.from(input.properties.values(), ({ name, type, array, source: { comments } }) => ({
    name,
    type,
    array,
    comment: textOf(comments),
  }))
  return webhooks.map(({ urlPath, httpMethods, name, verify, when, send, answer }) => ({
    package: owner,
    fluxName,
    urlPath,
    httpMethods,
    name,
    scheme: verify?.scheme ?? null,
    comment: textOf(source['comment']),
    segments: segmentsOf(urlPath),
    inputs,
    filters: when !== null,
    answers: send === null ? answer : 'sent',
  }))
}

const textOf = (value: Json | undefined) => (typeof value === 'string' && value !== '' ? value : null)

/** The one for a method. HEAD is served by the one that has GET, unless another has HEAD. */
const forMethod = <T extends Pick<Webhook, 'httpMethods'>>(all: readonly T[], method: unknown): T | undefined =>
  all.find(({ httpMethods }) => httpMethods.some((own) => own === method)) ??
  (method === 'HEAD' ? forMethod(all, 'GET') : undefined)

/** The webhook for a path as its file has it, and a method; undefined: there is none. */
export const webhookOf = ({ webhooks }: CompiledFlux, urlPath: string, method: unknown): Webhook | undefined =>
  forMethod(
    webhooks.filter((webhook) => webhook.urlPath === urlPath),
    method,
  )
