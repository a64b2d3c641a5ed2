// What the tests with a browser share: one server, one browser, and calls that make what the pages show.
import { resolve } from 'node:path'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import type { ContextView } from '../../../src/api/contexts.ts'
import { expect, inject, vi } from 'vitest'
import { launchChromium } from '../../support/chromium.ts'
import { placeFor, startServer } from '../../support/server.ts'
import { SERVICES } from './services.ts'

const EXAMPLES = resolve(import.meta.dirname, '../../../actors')

export interface Inspected {
  readonly url: string
  readonly browser: Browser
  /** A page of a browser that knows nothing yet. */
  page(options?: BrowserContextOptions): Promise<Page>
  /** Starts a service of these tests; gives the id of the context. */
  start(fluxName: string, input?: object, tags?: readonly string[]): Promise<number>
  /** Starts `Failing`, and waits until it has failed. */
  startFailing(message: string, tags?: readonly string[]): Promise<number>
  context(id: number): Promise<ContextView>
  /** A call of the API with a body. */
  post(path: string, body: object): Promise<Response>
  close(): Promise<void>
}

let opened: Promise<Inspected> | null = null

/** The one that all tests of this process share. The server and its folders go with `cleanUp`. */
export const sharedInspected = (): Promise<Inspected> => (opened ??= open())

async function open(): Promise<Inspected> {
  const place = await placeFor(SERVICES)
  const program = inject('program')
  const [browser, { url }] = await Promise.all([
    launchChromium(),
    startServer({ program, actors: [EXAMPLES, ...place.actors], data: place.data }),
  ])
  const windows: BrowserContext[] = []
  const post = (path: string, body: object) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const start = async (fluxName: string, input: object = {}, tags: readonly string[] = []): Promise<number> => {
    const response = await post('/flux-api/own/execute', { fluxName, input, tags })
    const { contextId }: { contextId: number } = JSON.parse(await response.text())
    return contextId
  }
  const context = async (id: number): Promise<ContextView> => {
    const response = await fetch(`${url}/flux-api/context?contextId=${id}`)
    const view: ContextView = JSON.parse(await response.text())
    return view
  }
  return {
    url,
    browser,
    post,
    async page(options = {}) {
      const window = await browser.newContext({ baseURL: url, viewport: { width: 1440, height: 900 }, ...options })
      windows.push(window)
      return window.newPage()
    },
    start,
    async startFailing(message, tags) {
      const id = await start('Failing', { message }, tags)
      await vi.waitFor(async () => expect((await context(id)).status).toBe('FAILED'), { timeout: 10_000, interval: 20 })
      return id
    },
    context,
    async close() {
      for (const window of windows) await window.close()
      await browser.close()
    },
  }
}
