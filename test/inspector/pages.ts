// The pages, asked for in process: what is sent and answered is that of the application of the inspector.
import { encodeXml } from '../../src/http/formats/xml/encode.ts'
import { statusOf } from '../../src/http/formats/problem.ts'
import type { FluxApi } from '../../src/api/calls.ts'
import { createInspector } from '../../src/inspector/inspector.tsx'
import type { Caller } from '../../src/model/caller.ts'
import { memoryLog } from '../http/support.ts'

const HEALTH = {
  trouble: null,
  store: '/srv/data',
  runId: 'r',
  uptimeMs: 1,
  lagMs: 0,
  memoryBytes: 1,
  steps: [],
  servers: [
    { runId: 'r', silentMs: 0 },
    { runId: 'other', silentMs: 5000 },
  ],
}

const answerOf = async (response: Response) => ({
  status: response.status,
  location: response.headers.get('location'),
  text: await response.text(),
})

interface PagesOptions {
  readonly api: (caller: Caller) => FluxApi
  /** Who looks at the pages. */
  readonly caller: Caller
  readonly now: () => number
  readonly requireAuth?: boolean
}

export function openPages({ api, caller, now, requireAuth = false }: PagesOptions) {
  const { log, lines } = memoryLog()
  const app = createInspector({
    api,
    authenticate: () => caller,
    requireAuth,
    now,
    log,
    version: '1',
    health: () => Promise.resolve(HEALTH),
    checkHost() {},
    checkCall() {},
    statusOf,
    async readForm(c) {
      const form = new Map<string, string[]>()
      for (const [name, value] of new URLSearchParams(await c.req.text()))
        form.set(name, [...(form.get(name) ?? []), value])
      return form
    },
    stream: () => Promise.reject(new Error('not here')),
    takeQuota: () => {},
    xmlOf: encodeXml,
  })
  const get = async (path: string, headers: { readonly [name: string]: string } = {}) =>
    answerOf(await app.request(`http://${headers['host'] ?? 'localhost'}${path}`, { headers }))
  const post = async (path: string, fields: readonly (readonly [string, string])[]) => {
    const page = await app.request('/login')
    const cookie = (page.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    const token = /name="\$form" value="([^"]*)"/.exec(await page.text())?.[1] ?? ''
    const body = new URLSearchParams({ $form: token })
    for (const [name, value] of fields) body.append(name, value)
    return answerOf(await app.request(path, { method: 'POST', headers: { cookie }, body }))
  }
  return { app, get, post, lines }
}
