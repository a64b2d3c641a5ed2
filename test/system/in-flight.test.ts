// A small server, real and with little memory, that is sent more than it can hold at once: it refuses, it lives, and it
// starts again on the same data.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, inject, test, vi } from 'vitest'
import { cleanUp, placeFor, startServer, type Place, type Server } from '../support/server.ts'

/** A mebibyte of empty objects: about forty times as much once it is parsed. All of them exceed the heap. */
const BODY = `[${'{},'.repeat(349_000)}{}]`
const SENT = 13
const ENV = { ACTORFLUX_MAX_VALUES: '10000000', ACTORFLUX_WEBHOOK_TIMEOUT: '1s' }
/** The heap in mebibytes, and the room for short-lived objects that `npm start` gives. */
const NODE = ['--max-old-space-size=256', '--max-semi-space-size=32']

const HOLD = `
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
export async function hold({ gate }: { gate: string }, { signal }: { signal: AbortSignal }): Promise<void> {
  while (!existsSync(gate)) await sleep(20, undefined, { signal })
}
`

/** Each in a place of its own: they run at once. */
async function openPlace(): Promise<Place & { gate: string }> {
  const place = await placeFor({ 'crash/Steps.ts': HOLD })
  const gate = join(place.folder, 'gate')
  const files = {
    'Slow.flux': {
      webhooks: [{ urlPath: '/slow', httpMethods: ['POST'] }],
      states: [
        {
          name: 'hold',
          action: {
            type: 'invokeCode',
            className: 'Steps',
            methodName: 'hold',
            timeout: 600,
            inputs: [
              { type: 'set', expression: gate, to: ['gate'] },
              { from: ['$request', 'body'], to: ['body'] },
            ],
          },
        },
      ],
    },
    'Script.flux': {
      webhooks: [{ urlPath: '/script', httpMethods: ['POST'] }],
      output: [{ name: 'length', type: 'integer' }],
      states: [
        {
          name: 'count',
          action: {
            type: 'script',
            script: 'for (const end = Date.now() + 300; Date.now() < end;); return { length: $request.body.length }',
            timeout: 60,
            outputs: [{ from: ['length'], to: ['length'] }],
          },
        },
      ],
    },
  }
  for (const [name, content] of Object.entries(files))
    await writeFile(join(place.folder, 'actors/crash', name), JSON.stringify(content))
  return { ...place, gate }
}
afterAll(cleanUp)

interface Answer {
  readonly status: number
  readonly retryAfter: string | null
}

/** Sends it as often as it takes: only a refusal for want of room is asked for again. Gives all answers. */
async function send(url: string, path: string): Promise<Answer[]> {
  const answers: Answer[] = []
  for (;;) {
    const response = await fetch(url + path, {
      method: 'POST',
      body: BODY,
      // One that is kept may be closed by the server just when the next request is sent on it.
      headers: { 'content-type': 'application/json', connection: 'close' },
    })
    await response.text()
    answers.push({ status: response.status, retryAfter: response.headers.get('retry-after') })
    if (response.status !== 503) return answers
    await sleep(Number(response.headers.get('retry-after') ?? 0) * 1000)
  }
}

/** One at a time: a list of them is large. */
const hasAny = async ({ url }: Server, status: string): Promise<boolean> => {
  const response = await fetch(`${url}/flux-api/contexts?status=${status}&limit=1`, {
    headers: { accept: 'application/json' },
  })
  const { length } = JSON.parse(await response.text())
  return length > 0
}

describe.concurrent.each([
  ['a slow function', '/api/slow'],
  ['a script', '/api/script'],
])(`${SENT} webhooks of a mebibyte for %s`, (_, path) => {
  test('are refused or taken, kill nothing, and are carried on after a kill', { timeout: 600_000 }, async () => {
    const { gate, ...place } = await openPlace()
    const options = { program: inject('program'), ...place, env: ENV, node: NODE }
    let server = await startServer(options)
    const { url } = server
    const answers = (await Promise.all(Array.from({ length: SENT }, () => send(url, path)))).flat()
    expect(server.isRunning()).toBe(true)
    expect(answers.filter(({ status }) => ![200, 503, 504].includes(status))).toEqual([])
    // Not all at once fit, and whoever is turned away is told when to come again.
    expect(answers.filter(({ status }) => status === 503).length).toBeGreaterThan(0)
    expect(answers.every(({ status, retryAfter }) => status !== 503 || retryAfter !== null)).toBe(true)
    expect(answers.filter(({ status }) => status !== 503)).toHaveLength(SENT)

    await server.kill('SIGKILL')
    server = await startServer(options)
    // It serves while it carries on what was left.
    const small = await fetch(`${server.url}/flux-api/event`, {
      method: 'POST',
      body: '{"event":"none"}',
      headers: { 'content-type': 'application/json' },
    })
    expect(small.status).toBe(200)
    await writeFile(gate, '')
    const again = server
    await vi.waitFor(async () => expect(await hasAny(again, 'RUNNING')).toBe(false), {
      timeout: 240_000,
      interval: 500,
    })
    expect(await hasAny(again, 'FAILED')).toBe(false)
    expect(await hasAny(again, 'COMPLETED')).toBe(true)
    await server.kill('SIGTERM')
  })
})
