// The built client in a browser: in a page of another origin, which the server allows, and in one of the server's own.
import { createServer, type Server } from 'node:http'
import { readFile } from 'node:fs/promises'
import { join, normalize } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { launchChromium } from '../support/chromium.ts'
import { cleanUp, placeFor, startServer } from '../support/server.ts'
import { buildClient, type BuiltClient } from './built.ts'
import { SERVICES } from './services.ts'
import { listening } from '../support/listening.ts'

const PAGE = '<!doctype html><title>A page</title>'

/** What a page does with the client; it is evaluated there. */
const SCRIPT = `async ({ module, url }) => {
  const { createClient, Problem, ConnectionError } = await import(module)
  const client = createClient({ url })
  const order = client.service('shop/Order')
  const { contextId } = await order.execute({ item: 'tea', serial: 9007199254740993n }, { tags: ['page'] })
  const seen = []
  const stop = new AbortController()
  const items = client.stream({ contextId, lastEventId: 'unknown' }, { signal: stop.signal })
  seen.push('gap' in (await items.next()).value)
  await order.send('paid', { contextId, input: { amount: 1 } })
  for await (const item of items) {
    seen.push(item.to)
    if (item.to === 'Paid') stop.abort()
  }
  const starts = Array.from({ length: 1200 }, (_, n) => ({ fluxName: 'Order', input: { item: 'tea ' + n }, tags: ['lines'] }))
  const lines = []
  for await (const line of client.executeMany('shop', starts)) lines.push(line)
  const ids = new Set()
  for await (const { id } of client.contexts({ tag: ['lines'], limit: 500, view: 'summary' })) ids.add(id)
  const problem = await client.getContext({ contextId: 999999 }).catch((error) => error)
  return {
    status: (await client.getContext({ contextId })).status,
    moved: seen.includes(true) && seen.includes('Paid'),
    last: lines.at(-1),
    inOrder: lines.slice(0, -1).every(({ n }, index) => n === index),
    listed: ids.size,
    problem: [problem instanceof Problem, problem.status, problem.message === problem.detail],
  }
}`

const EXPECTED = {
  status: 'COMPLETED',
  moved: true,
  last: { done: true, lines: 1200, ok: 1200, failed: 0 },
  inOrder: true,
  listed: 1200,
  problem: [true, 404, true],
}

let built: BuiltClient
let browser: Browser
let files: Server
let foreign: string
beforeAll(async () => {
  ;[built, browser] = await Promise.all([buildClient(), launchChromium()])
  files = createServer((request, response) => {
    const path = normalize(request.url ?? '/')
    if (path === '/') response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE)
    else
      readFile(join(built.dist, path)).then(
        (text) => response.writeHead(200, { 'content-type': 'text/javascript' }).end(text),
        () => response.writeHead(404).end(),
      )
  })
  foreign = `http://127.0.0.1:${await listening(files)}`
})
afterAll(async () => {
  await browser?.close()
  files?.close()
  await built?.remove()
  await cleanUp()
})

async function serverThat(env: { readonly [variable: string]: string }): Promise<string> {
  const place = await placeFor(SERVICES)
  return (await startServer({ program: inject('program'), ...place, env })).url
}

const inPage = (page: Page, target: { readonly module: string; readonly url: string }): Promise<unknown> =>
  page.evaluate(`(${SCRIPT})(${JSON.stringify(target)})`)

test('a page of another origin that the server allows', async () => {
  const url = await serverThat({ ACTORFLUX_CORS: foreign })
  const page = await browser.newPage()
  await page.goto(foreign)
  expect(await inPage(page, { module: `${foreign}/client/client.js`, url })).toEqual(EXPECTED)
})

test('a page of the server, with an address of its own', async () => {
  const url = await serverThat({})
  const page = await browser.newPage()
  await page.route(`${url}/page/**`, async (route) => {
    const path = new URL(route.request().url()).pathname.slice('/page'.length)
    const response = await fetch(foreign + path)
    await route.fulfill({
      contentType: response.headers.get('content-type') ?? '',
      body: await response.text(),
    })
  })
  await page.goto(`${url}/page/`)
  expect(await inPage(page, { module: `${url}/page/client/client.js`, url: '/' })).toEqual(EXPECTED)
})

test('a page of another origin gets no answer', async () => {
  const url = await serverThat({})
  const page = await browser.newPage()
  await page.goto(foreign)
  const script = `async () => {
    const { createClient } = await import('${foreign}/client/client.js')
    return createClient({ url: '${url}', retries: 0 }).listServices().catch(({ name }) => name)
  }`
  expect(await page.evaluate(`(${script})()`)).toBe('ConnectionError')
})
