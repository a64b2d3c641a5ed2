// How calls travel over HTTP, as the client has it of their descriptions.
import { expect, test } from 'vitest'
import { CALLS, type FluxApi } from '../../src/api/calls.ts'
import { OTHER_ROUTES, ROUTES } from '../../src/client/routes.ts'
import { createClient, type Client } from '../../src/client/client.ts'

test('a route says where the fields go, and whether there is a key', () => {
  expect(ROUTES).toMatchObject({
    execute: { method: 'POST', path: '/flux-api/:package/execute', body: true, query: ['dryRun'], key: true },
    retry: { body: true, query: ['contextId', 'key', 'fluxName', 'package', 'dryRun'], key: true },
    listOperations: { method: 'GET', path: '/flux-api/operations' },
  })
  expect(ROUTES.addTags).toEqual({
    method: 'POST',
    path: '/flux-api/context/tag',
    body: true,
    query: ['contextId', 'key', 'fluxName', 'package', 'dryRun', 'tag'],
    key: true,
  })
  expect(ROUTES.getContext).toEqual({ method: 'GET', path: '/flux-api/context' })
  expect(OTHER_ROUTES).toEqual({
    resumeServer: { method: 'POST', path: '/flux-api/server/resume' },
    stream: { method: 'GET', path: '/flux-api/stream' },
    sendEvents: { method: 'POST', path: '/flux-api/events', body: true },
    executeMany: { method: 'POST', path: '/flux-api/:package/executes', body: true },
  })
})

test('the fields of a path are the parts of it that begin with a colon', () => {
  for (const { path, route } of Object.values(CALLS))
    expect([...route.matchAll(/:(\w+)/g)].map(([, name]) => name)).toEqual(Object.keys(path))
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
