import { describe, expect, test } from 'vitest'
import { post, testApp } from './support.ts'

describe('health', () => {
  test('is told while the process lives', async () => {
    expect((await testApp({}, { ready: () => 'starting' }).app.request('/healthz')).status).toBe(200)
  })

  test('readiness is told with the reason', async () => {
    expect((await testApp().app.request('/readyz')).status).toBe(200)
    const { app } = testApp({}, { skipped: () => ['p/Faulty'], isPaused: () => true })
    const told = { status: 'ready', paused: true, skipped: ['p/Faulty'] }
    expect(await (await app.request('/readyz')).json()).toEqual(told)
    const response = await testApp({}, { ready: () => 'the index is being built' }).app.request('/readyz')
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await response.json()).toMatchObject({
      status: 503,
      detail: 'the index is being built',
      instance: '/readyz',
    })
  })
})

describe('a problem', () => {
  test.each([
    ['/[a]', '/%5Ba%5D'],
    ['/a%', '/a%25'],
    ['/%zz', '/%25zz'],
    ['/a%20b', '/a%20b'],
    ['//a:b', undefined],
  ])('names the path as a URI: %s', async (path, instance) => {
    const problem = (await (await testApp().app.request(`http://localhost${path}`)).json()) as { instance?: string }
    expect(problem.instance).toBe(instance)
  })

  test('is never larger than it need be, and kept by no cache', async () => {
    const response = await testApp().app.request(`/${'x'.repeat(20_000)}`)
    expect((await response.text()).length).toBeLessThan(2000)
    expect([response.headers.get('cache-control'), response.headers.get('vary')]).toEqual(['no-store', 'Accept'])
  })
})

describe('a path', () => {
  test.each([
    '/flux-api',
    '/flux-api/',
    '/flux-api/event/',
    '/FLUX-API/event',
    '/flux-api//execute',
    '/flux-api/a/b/execute',
    '/api/x',
    '/flux-api/%2e%2e/x',
  ])('that nothing is served at is 404: %s', async (path) => {
    const response = await testApp().app.request(path)
    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(await response.json()).toMatchObject({ type: 'urn:actorflux:problem:no-such-path', status: 404 })
  })

  test.each([
    ['GET', '/%66lux-api/contexts'],
    ['GET', '/flux%2Dapi/context%73?limit=1'],
    ['POST', '/flux-api/%70/execute'],
    ['GET', '/%64ocs'],
    ['GET', '/openapi.%6Ason'],
  ])(
    'in which a character is escaped that needs none is the same, and guarded the same: %s %s',
    async (method, path) => {
      const request = method === 'GET' ? {} : post({ fluxName: 'F' })
      expect((await testApp().app.request(path, request)).status).toBe(200)
      const guarded = await testApp({}, { requireAuth: true }).app.request(path, request)
      expect(guarded.status).toBe(path.includes('api/') ? 401 : 200)
    },
  )

  test('may have escapes that are needed, and a query any', async () => {
    const { app, calls } = testApp()
    expect((await app.request('/flux-api/caf%C3%A9%20%25/execute', post({ fluxName: 'F' }))).status).toBe(200)
    expect((await app.request('/flux-api/contexts?%6Cimit=%33')).status).toBe(200)
    expect(calls).toMatchObject([{ request: { package: 'café %' } }, { request: { limit: 3 } }])
  })

  test.each([
    ['PATCH', '/flux-api/event', 'HEAD, GET, POST, DELETE'],
    ['PATCH', '/flux-api/shop/execute', 'POST'],
    ['POST', '/flux-api/contexts', 'HEAD, GET'],
    ['GET', '/flux-api/context/tag', 'POST, PUT, DELETE'],
    ['OPTIONS', '/flux-api/terminate', 'DELETE'],
    ['DELETE', '/healthz', 'HEAD, GET'],
  ])('with other methods is 405: %s %s', async (method, path, allow) => {
    const response = await testApp().app.request(path, { method })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe(allow)
    expect(await response.json()).toMatchObject({ status: 405, instance: path })
  })

  test('is named in a problem as it was sent, without its query', async () => {
    expect(await (await testApp().app.request('/caf%C3%A9%20?token=x')).json()).toMatchObject({
      instance: '/caf%C3%A9%20',
    })
  })
})
