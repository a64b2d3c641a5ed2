// The table of routes says of every call what its description says.
import { expect, test } from 'vitest'
import type { Call } from '../../src/api/call.ts'
import { CALLS } from '../../src/api/calls.ts'
import { GET_OPERATIONS } from '../../src/api/get-operations.ts'
import { EXECUTES } from '../../src/api/executes.ts'
import { SEND_EVENTS } from '../../src/api/send-events.ts'
import { STREAM_MOVES } from '../../src/api/stream-moves.ts'
import type { FluxApi } from '../../src/api/flux-api.ts'
import { createClient, type Client } from '../../src/client/client.ts'
import { ROUTES, SERVER_ROUTES, STREAM_ROUTES, type Route } from '../../src/client/routes.ts'

function routeOf({ method, route, query, body, takesKey, prefersWait, answerHeaders }: Call): Route {
  const inQuery = Object.keys(query).filter((name) => body !== null && !Object.hasOwn(body, name))
  return {
    method,
    path: route,
    ...(body !== null && { body: true }),
    ...(inQuery.length > 0 && { query: inQuery }),
    ...(takesKey && { key: true }),
    ...(prefersWait && { wait: true }),
    ...(answerHeaders?.['Link'] !== undefined && { pages: true }),
  }
}

test('every call has a route, which is that of its description', () => {
  // The other method of addTags; and one call that is two methods.
  const calls = CALLS.filter(({ id }) => id !== 'putTags' && id !== GET_OPERATIONS.id)
  const operations = routeOf(GET_OPERATIONS)
  expect({ ...ROUTES, ...SERVER_ROUTES }).toEqual({
    ...Object.fromEntries(calls.map((call) => [call.id, routeOf(call)])),
    getOperation: operations,
    listOperations: operations,
  })
})

test('the fields of a path are the parts of it that begin with a colon', () => {
  for (const { path, route } of CALLS)
    expect([...route.matchAll(/:(\w+)/g)].map(([, name]) => name)).toEqual(Object.keys(path))
})

test('the streams have the routes of their descriptions', () => {
  expect(STREAM_ROUTES).toEqual({
    stream: { method: STREAM_MOVES.method, path: STREAM_MOVES.route },
    sendEvents: { method: 'POST', path: SEND_EVENTS.route, body: true },
    executeMany: { method: 'POST', path: EXECUTES.route, body: true },
  })
})

test('every call in process is a method of the client', () => {
  const methods = Object.keys(createClient({ url: 'http://localhost' }))
  expect(methods).toEqual(expect.arrayContaining(Object.keys(ROUTES)))
})

/** The calls that the client lacks: an error of the compiler if there are any. */
type Missing = Exclude<keyof FluxApi, keyof Client>
test('the compiler knows each call in process as a method of the client', () => {
  const isComplete: [Missing] extends [never] ? true : never = true
  expect(isComplete).toBe(true)
})
