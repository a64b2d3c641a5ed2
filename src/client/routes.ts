// client: how each call travels over HTTP: its method, its path, and where its fields go. A test holds this table against
// the descriptions of the calls in `api`, which need a library that the client must not need.

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** A part that begins with `:` is a field. */
  readonly path: string
  /** Whether the fields go into a body, save those in the path and in `query`; else they go into the query. */
  readonly body?: true
  /** With a body: fields that go into the query all the same. */
  readonly query?: readonly string[]
  /** Whether it takes the header `Idempotency-Key`. */
  readonly key?: true
  /** Whether `Prefer: wait` may hold its answer. */
  readonly wait?: true
  /** Whether `Link` leads to another page. */
  readonly pages?: true
}

export const ROUTES = {
  execute: { method: 'POST', path: '/flux-api/:package/execute', body: true, key: true, wait: true },
  sendEvent: { method: 'POST', path: '/flux-api/event', body: true, key: true, wait: true },
  getEvent: { method: 'GET', path: '/flux-api/event' },
  listPending: { method: 'GET', path: '/flux-api/events/pending', pages: true },
  withdraw: { method: 'DELETE', path: '/flux-api/events/pending' },
  stopEvent: { method: 'DELETE', path: '/flux-api/event' },
  terminate: { method: 'DELETE', path: '/flux-api/terminate', key: true },
  retry: {
    method: 'POST',
    path: '/flux-api/context/retry',
    body: true,
    query: ['contextId', 'key', 'fluxName', 'package'],
    key: true,
  },
  pause: { method: 'POST', path: '/flux-api/context/pause', key: true },
  resume: { method: 'POST', path: '/flux-api/context/resume', key: true },
  listContexts: { method: 'GET', path: '/flux-api/contexts', pages: true },
  countContexts: { method: 'GET', path: '/flux-api/contexts/count' },
  getContext: { method: 'GET', path: '/flux-api/context' },
  getStateContext: { method: 'GET', path: '/flux-api/context/state' },
  getContextEvents: { method: 'GET', path: '/flux-api/context/events' },
  waitFor: { method: 'GET', path: '/flux-api/context/wait' },
  addTags: { method: 'POST', path: '/flux-api/context/tag', key: true },
  removeTags: { method: 'DELETE', path: '/flux-api/context/tag', key: true },
  getDefinition: { method: 'GET', path: '/flux-api/definition' },
  getServiceSchema: { method: 'GET', path: '/flux-api/schema' },
  listServices: { method: 'GET', path: '/flux-api/services' },
  getMachine: { method: 'GET', path: '/flux-api/machine' },
  listWebhooks: { method: 'GET', path: '/flux-api/webhooks' },
  listDeliveries: { method: 'GET', path: '/flux-api/webhooks/deliveries', pages: true },
  startOperation: { method: 'POST', path: '/flux-api/operations', body: true },
  getOperation: { method: 'GET', path: '/flux-api/operations' },
  listOperations: { method: 'GET', path: '/flux-api/operations' },
  stopOperation: { method: 'DELETE', path: '/flux-api/operations' },
  replayDelivery: { method: 'POST', path: '/flux-api/webhooks/deliveries/replay' },
} as const satisfies { readonly [call: string]: Route }

export type CallName = keyof typeof ROUTES

/** Calls that concern the server that answers. */
export const SERVER_ROUTES = {
  resumeServer: { method: 'POST', path: '/flux-api/server/resume' },
} as const satisfies { readonly [call: string]: Route }

/** What is answered without end, or line by line. */
export const STREAM_ROUTES = {
  stream: { method: 'GET', path: '/flux-api/stream' },
  sendEvents: { method: 'POST', path: '/flux-api/events', body: true },
  executeMany: { method: 'POST', path: '/flux-api/:package/executes', body: true },
} as const satisfies { readonly [call: string]: Route }
