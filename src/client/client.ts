// client: a server's API for programs, in Node and in browsers. It needs nothing but fetch.
//
// - At run time the client has no module but its own: types come from `api/`, and `client/routes.ts` repeats method
//   and path of each call. Tests hold that table against the calls, and the imports of the built files against the
//   folder.
import type { ContextView } from '../api/contexts.ts'
import type { ListedContext } from '../api/context-lists.ts'
import type { LastLine, RefusedLine } from '../api/streams.ts'
import type { CallOptions, ClientCalls } from './calls.ts'
import { streamMoves, type StreamFilters, type StreamItem, type StreamOptions } from './moves.ts'
import {
  exchangeLines,
  type Items,
  type LinesOptions,
  type EventItem,
  type EventLine,
  type StartItem,
  type StartLine,
} from './batch.ts'
import { allContexts, callsOver, type ContextFilters } from './methods.ts'
import { OTHER_ROUTES } from './routes.ts'
import { serviceOver, type AnyServices, type ServiceClient, type ServicesOf } from './services.ts'
import { clientHeaders, type FetchFunction, type Transport } from './transport.ts'
import { serverAddress } from './url.ts'

export { ConnectionError, Problem } from './problem.ts'
export type { CallOptions, ClientCalls, SentAnswer, WaitOptions } from './calls.ts'
export type { ContextPage as ListedPage } from '../api/context-lists.ts'
export type { StreamDropped, StreamFilters, StreamGap, StreamItem, StreamOptions } from './moves.ts'
export type { AcceptedLine, LinesOptions, EventItem, EventLine, StartItem, StartLine } from './batch.ts'
export type { LastLine, RefusedLine } from '../api/streams.ts'
export type { ContextFilters } from './methods.ts'
export type { AnyServices, ServiceClient, ServicesOf, ServiceTypes } from './services.ts'
export type { FetchFunction } from './transport.ts'

export interface ClientOptions {
  /** Address of the server: `http://localhost:8080`. In a page it may be relative. */
  readonly url: string | URL
  readonly token?: string | undefined
  /** Instead of the platform's. */
  readonly fetch?: FetchFunction | undefined
  /** How often a call is made again after a network error, 429 or 503; 4, if left out. */
  readonly retries?: number | undefined
  /** Milliseconds that a call may take, with all its attempts; as long as it takes, if left out. Not for streams. */
  readonly timeout?: number | undefined
}

export interface Client<Services extends ServicesOf<Services> = AnyServices> extends ClientCalls {
  /**
   * One service, by `package/fluxName`.
   * @throws TypeError for another name
   */
  service<Name extends keyof Services & string>(name: Name): ServiceClient<Services[Name]>
  /** All contexts that pass the filters, over all pages; `limit` is the size of a page. */
  contexts(
    filters?: ContextFilters & { readonly view?: 'full' | undefined },
    options?: CallOptions,
  ): AsyncGenerator<ContextView, void, undefined>
  contexts(filters: ContextFilters, options?: CallOptions): AsyncGenerator<ListedContext, void, undefined>
  /**
   * Moves of contexts as they are committed. It goes on where it stopped when the connection breaks, and ends only with
   * its signal, or with a Problem that is not one of a server that is away for a while.
   */
  stream(filters?: StreamFilters, options?: StreamOptions): AsyncGenerator<StreamItem, void, undefined>
  /**
   * Sends many events, a line each, and yields the answer to each, in their order; then a last line. The source is read
   * as fast as the answers are taken. What has no answer when the connection breaks is sent again, under the same
   * `eventId`.
   * @throws Problem when the server refuses the whole, or breaks it off
   */
  sendEvents(
    events: Items<EventItem>,
    options?: LinesOptions,
  ): AsyncGenerator<EventLine | RefusedLine | LastLine, void, undefined>
  /** Starts many contexts of services of that package, as `sendEvents` sends events. */
  executeMany(
    owner: string,
    starts: Items<StartItem>,
    options?: LinesOptions,
  ): AsyncGenerator<StartLine | RefusedLine | LastLine, void, undefined>
}

const DEFAULT_RETRIES = 4

/** @throws TypeError for options that no request could have */
export function createClient<Services extends ServicesOf<Services> = AnyServices>({
  url,
  token,
  fetch = globalThis.fetch,
  retries = DEFAULT_RETRIES,
  timeout,
}: ClientOptions): Client<Services> {
  if (!(retries >= 0)) throw new TypeError('retries must be a number, 0 or more')
  if (timeout !== undefined && !(timeout > 0)) throw new TypeError('timeout must be a number of milliseconds')
  const transport: Transport = {
    base: serverAddress(url),
    token,
    // A browser's fetch must not be called as a method of something else.
    fetch: (target, init) => fetch(target, init),
    retries,
    timeout,
  }
  clientHeaders(transport, {})
  const calls = callsOver(transport)
  return {
    ...calls,
    service: (name) => serviceOver(calls, name),
    contexts: (filters: ContextFilters = {}, given?: CallOptions) =>
      allContexts<ContextView>(transport, filters, given),
    stream: (filters = {}, given = {}) => streamMoves(transport, filters, given),
    sendEvents: (items, { signal } = {}) =>
      exchangeLines(transport, { route: OTHER_ROUTES.sendEvents, fields: {}, items, key: 'eventId', signal }),
    executeMany: (owner, items, { signal } = {}) => {
      const fields = { package: owner }
      return exchangeLines(transport, { route: OTHER_ROUTES.executeMany, fields, items, key: 'idempotencyKey', signal })
    },
  }
}
