// Pages of a list end where they have become large as they are written.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contextView, testApp } from './support.ts'
import { openLive, type Live } from './live.ts'

const MB = 1024 * 1024
const SERVICES = {
  'p/Large.flux': {
    input: [{ name: 'list', type: 'object' }],
    states: [{ name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'wait' }] }],
  },
}

describe('a list of large contexts', () => {
  let live: Live
  const ids: number[] = []
  beforeAll(async () => {
    live = await openLive({}, SERVICES)
    // As XML each of the ones takes 29 bytes, and the largest context more than a page.
    for (const [ones, text] of [
      [20_000, 0],
      [20_000, 0],
      [20_000, 0],
      [20_000, 0],
      [20_000, 0],
      [90_000, 0],
      [60_000, 700_000],
      [1, 700_000],
      [1, 700_000],
      [20_000, 0],
      [1, 0],
      [90_000, 700_000],
      [20_000, 0],
    ] as const) {
      const list = { ones: Array.from({ length: ones }, () => 1), text: 'x'.repeat(text) }
      const { json } = await live.call('POST', '/flux-api/p/execute', { body: { fluxName: 'Large', input: { list } } })
      ids.push(Number(Object(json).contextId))
    }
  })
  afterAll(() => live.close())

  async function pages(accept: string): Promise<{ ids: number[]; bytes: number }[]> {
    const found = []
    for (let path = '/flux-api/contexts?limit=1000'; path !== '';) {
      const { status, text, headers } = await live.call('GET', path, { accept })
      expect(status).toBe(200)
      const own =
        accept === 'application/json'
          ? JSON.parse(text).map(({ id }: { id: number }) => id)
          : [...text.matchAll(/<id type="number">(\d+)</g)].map(([, id]) => Number(id))
      found.push({ ids: own, bytes: Buffer.byteLength(text) })
      path = /<([^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? ''
    }
    return found
  }

  test.each([
    ['application/json', 2],
    ['application/xml', 4],
  ])('of %s has each on one of its pages, which are small or have one', async (accept, least) => {
    const found = await pages(accept)
    expect(found.flatMap((page) => page.ids)).toEqual(ids)
    expect(found.length).toBeGreaterThanOrEqual(least)
    for (const page of found) expect(page.ids.length === 1 || page.bytes <= 2 * MB, JSON.stringify(page)).toBe(true)
    // None ends much too early: each is more than half full with the one that follows.
    for (const [index, page] of found.slice(0, -1).entries())
      expect(page.bytes + (found[index + 1]?.bytes ?? 0)).toBeGreaterThan(MB)
  })
})

const views = (count: number, text: string) =>
  Array.from({ length: count }, (_, index) => ({ ...contextView(index + 1), tags: [text] }))

/** It asks for each context whether it fits, as the runtime does. */
const appOf = (count: number, text: string) =>
  testApp({
    async listPage(_, fits) {
      const contexts = []
      for (const context of views(count, text)) {
        if (!(await fits?.(context)) && contexts.length > 0) return { contexts, next: contexts.length }
        contexts.push(context)
      }
      return { contexts, next: count }
    },
  }).app

describe('a page', () => {
  test('ends before the context with which it would be too large, and leads on from its last one', async () => {
    for (const accept of ['application/json', 'application/xml', 'text/xml']) {
      const response = await appOf(10, 'é'.repeat(500_000)).request('/flux-api/contexts', { headers: { accept } })
      expect(response.headers.get('link')).toBe('</flux-api/contexts?limit=30&after=4>; rel="next"')
      expect((await response.text()).match(/é{500000}/g)).toHaveLength(4)
    }
  })

  test('of one context that is larger than a page has it whole', async () => {
    for (const accept of ['application/json', 'application/xml']) {
      const response = await appOf(3, '<'.repeat(3_000_000)).request('/flux-api/contexts', { headers: { accept } })
      expect(response.headers.get('link')).toContain('after=1>')
      const text = await response.text()
      if (accept === 'application/json') expect(JSON.parse(text)).toEqual(views(1, '<'.repeat(3_000_000)))
      else expect(text.endsWith('</item></contexts>') && text.match(/&lt;/g)?.length === 3_000_000).toBe(true)
    }
  })

  test('is as it was when it is small, or empty', async () => {
    const response = await appOf(2, 'x').request('/flux-api/contexts')
    expect(await response.json()).toEqual(views(2, 'x'))
    const empty = testApp({ listPage: async () => ({ contexts: [], next: null }) }).app
    expect(await (await empty.request('/flux-api/contexts')).text()).toBe('[]')
    expect(await (await empty.request('/flux-api/contexts', { headers: { accept: 'application/xml' } })).text()).toBe(
      '<?xml version="1.0" encoding="UTF-8"?>\n<contexts type="array"/>',
    )
  })

  test("that doesn't come about gives back what it held", async () => {
    const contexts = views(8, 'x'.repeat(400_000))
    let fails = true
    const { app } = testApp(
      {
        async listPage(_, fits) {
          for (const context of contexts) await fits?.(context)
          if (fails) throw new Error('the store is gone')
          return { contexts, next: null }
        },
      },
      { maxAnswers: 3 * MB },
    )
    for (let count = 0; count < 3; count++) expect((await app.request('/flux-api/contexts')).status).toBe(500)
    fails = false
    const held = await app.request('/flux-api/contexts')
    expect(held.status).toBe(200)
    const refused = await app.request('/flux-api/contexts')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    await held.body?.cancel()
    const again = await app.request('/flux-api/contexts')
    expect(again.status).toBe(200)
    await again.text()
    expect((await app.request('/flux-api/contexts')).status).toBe(200)
  })
})
