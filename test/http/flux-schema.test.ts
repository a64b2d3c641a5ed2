// The JSON Schema of .flux and .model files, as editors get it.
import { describe, expect, test } from 'vitest'
import { definitionSchema } from '../../src/definitions/editor/document.ts'
import { testApp } from './support.ts'

describe('/flux-schema.json', () => {
  test('is the schema, for editors of any origin', async () => {
    const { app } = testApp()
    const response = await app.request('/flux-schema.json', { headers: { origin: 'https://editor.example' } })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/schema+json')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(await response.json()).toEqual(JSON.parse(JSON.stringify(definitionSchema())))
  })

  test('needs no token, and is there for an origin that may read all else, too', async () => {
    const { app } = testApp({}, { requireAuth: true, origins: ['https://a.example'] })
    for (const [origin, allowed] of [
      ['https://a.example', 'https://a.example'],
      ['https://b.example', '*'],
    ] as const) {
      const response = await app.request('/flux-schema.json', { headers: { origin } })
      expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, allowed])
    }
  })

  test('has no body for HEAD, and no other method', async () => {
    const { app } = testApp()
    const head = await app.request('/flux-schema.json', { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect((await app.request('/flux-schema.json', { method: 'POST' })).status).toBe(405)
  })

  test('is among the links of the server', async () => {
    const home = await (await testApp().app.request('/')).json()
    expect(home).toMatchObject({ links: { fluxSchema: '/flux-schema.json' } })
  })
})
