// A small client for the tests of real processes: what the REST API answers, as plain data.
import type { EventAnswer } from '../../src/api/events.ts'
import type { ExecuteAnswer } from '../../src/api/commands.ts'
import type { ContextView } from '../../src/api/contexts.ts'

export class Client {
  readonly #url: string

  constructor({ url }: { url: string }) {
    this.#url = url
  }

  /** Starts a service of the tests' package; gives the context. */
  async start(fluxName: string, input: object = {}): Promise<number> {
    const { contextId }: ExecuteAnswer = await this.#call('POST', '/flux-api/crash/execute', { fluxName, input })
    return contextId
  }

  /** To one context, or without an id to all who hear it. */
  event(event: string, contextId?: number, input: object = {}): Promise<EventAnswer> {
    return this.#call('POST', `/flux-api/event${contextId === undefined ? '' : `?contextId=${contextId}`}`, {
      event,
      input,
    })
  }

  context(contextId: number): Promise<ContextView> {
    return this.#call('GET', `/flux-api/context?contextId=${contextId}`)
  }

  /** Held until the context gets there. */
  wait(contextId: number, query: string): Promise<ContextView> {
    return this.#call('GET', `/flux-api/context/wait?contextId=${contextId}&${query}`)
  }

  list(query: { readonly [name: string]: string }): Promise<ContextView[]> {
    return this.#call('GET', `/flux-api/contexts?${new URLSearchParams({ limit: '1000', ...query })}`)
  }

  terminate(contextId: number): Promise<unknown> {
    return this.#call('DELETE', `/flux-api/terminate?contextId=${contextId}`)
  }

  tag(contextId: number, tag: string): Promise<unknown> {
    return this.#call('PUT', `/flux-api/context/tag?contextId=${contextId}&tag=${tag}`)
  }

  /** @throws Refused for an answer other than 200; TypeError when there is none */
  async #call<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(this.#url + path, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    const text = await response.text()
    if (response.status !== 200) throw new Refused(`${method} ${path} gave ${response.status}: ${text}`)
    return JSON.parse(text)
  }
}

export class Refused extends Error {
  override readonly name = 'Refused'
}

/** The value of a context's output. */
export const outputOf = (view: ContextView, name: string) =>
  view.output.gloopProperties.find((property) => property['name'] === name)?.['value']

/** Does it for each, 32 at a time; results in the order of the items. */
export async function forEach<T, R>(items: readonly T[], task: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const queue = items.entries()
  const work = async () => {
    for (const [index, item] of queue) results[index] = await task(item)
  }
  await Promise.all(Array.from({ length: 32 }, work))
  return results
}
