// The life of a server's process: alone on its data, ended in order by SIGTERM, and not killed for ever by a step that
// kills.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { cleanUp, launch, placeFor, startServer, type Place, type ServerOptions } from '../support/server.ts'
import { Client, Refused } from './client.ts'
import { SERVICES } from './services.ts'

let place: Place
let options: ServerOptions

beforeEach(async () => {
  place = await placeFor(SERVICES)
  options = { program: inject('program'), ...place }
})
afterEach(cleanUp)

const stepsIn = async (file: string) => (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean)

describe('a second server on the same data', () => {
  test('is refused in one line while the first runs, and works right after kill -9', async () => {
    options = { ...options, program: inject('plainProgram') }
    const first = await startServer(options)
    const id = await new Client(first).start('Waiter')
    const { code, output } = await launch(options).ended
    expect(code).toBe(1)
    expect(output.trimEnd()).toMatch(/^actorflux: .+$/)
    expect(output).toContain(place.data)
    expect(await new Client(first).context(id)).toMatchObject({ status: 'WAITING' })

    await first.kill('SIGKILL')
    const second = new Client(await startServer(options))
    expect(await second.event('go', id)).toMatchObject({ transitions: [{ contextId: id, state: 'second' }] })
  })
})

test('a module that ends the process at SIGTERM lets it end well', async () => {
  await mkdir(join(place.actors[0] ?? '', 'ends'), { recursive: true })
  await writeFile(
    join(place.actors[0] ?? '', 'ends/ends.mjs'),
    'process.on("SIGTERM", () => process.exit(0)); export const run = () => 1',
  )
  const action = { type: 'invokeCode', className: 'ends', methodName: 'run' }
  await writeFile(join(place.actors[0] ?? '', 'ends/Ends.flux'), JSON.stringify({ states: [{ name: 'end', action }] }))
  const server = await startServer(options)
  expect(await server.kill('SIGTERM')).toMatchObject({ code: 0, output: expect.not.stringContaining('ended by code') })
})

test('a server that asks all for tokens and has none says so, and what it offers to try sends one', async () => {
  const { output } = await startServer({
    ...options,
    env: { ACTORFLUX_REQUIRE_AUTH: 'true', ACTORFLUX_REQUEST_TIMEOUT: '5s' },
  })
  await vi.waitFor(() => expect(output()).toMatch(/^ {2}curl .* -H 'Authorization: Bearer <token>' /m), 5000)
  expect(output()).toMatch(/^actorflux: warning: every call needs a token, /m)
})

describe('SIGTERM', () => {
  test('answers the request under way, takes no other, and ends with 0 in spite of idle connections', async () => {
    const server = await startServer(options)
    const body = JSON.stringify({ fluxName: 'Waiter' })
    const slow = request(`${server.url}/flux-api/crash/execute`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': body.length },
    })
    const answer = new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      slow.on('error', reject).on('response', (response) => {
        let text = ''
        response
          .setEncoding('utf8')
          .on('data', (part: string) => {
            text += part
          })
          .on('end', () => resolve({ status: response.statusCode, text }))
      })
    })
    slow.write(body.slice(0, 10))
    // Leaves an idle connection behind.
    await new Client(server).list({})
    await sleep(200)

    const ended = server.kill('SIGTERM')
    const at = Date.now()
    await sleep(200)
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow('fetch failed')
    slow.end(body.slice(10))
    const { status, text } = await answer
    expect(status).toBe(200)
    expect(await ended).toMatchObject({ code: 0, signal: null })
    expect(Date.now() - at).toBeLessThan(3000)

    const next = new Client(await startServer(options))
    const { contextId }: { contextId: number } = JSON.parse(text)
    expect(await next.context(contextId)).toMatchObject({ status: 'WAITING', currentState: 'first' })
  })

  test('with a drain delay: not ready at once, serves on, then ends with 0', async () => {
    const server = await startServer({ ...options, env: { ACTORFLUX_DRAIN_DELAY: '2s' } })
    const client = new Client(server)
    const stream = await fetch(`${server.url}/flux-api/stream`)
    const ended = server.kill('SIGTERM')
    const at = Date.now()
    await vi.waitFor(async () => expect((await fetch(`${server.url}/readyz`)).status).toBe(503), { interval: 20 })
    // Readers of streams go to another server at once.
    expect(await stream.text()).toContain('event: bye')
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    const id = await client.start('Waiter')
    expect(await client.event('go', id)).toMatchObject({ transitions: [{ contextId: id, state: 'second' }] })
    expect(Date.now() - at).toBeLessThan(2000)
    expect(await ended).toMatchObject({ code: 0, signal: null })
    expect(Date.now() - at).toBeGreaterThanOrEqual(2000)
  })

  test('lets a step under way finish', async () => {
    const server = await startServer(options)
    const [file, gate] = [join(place.folder, 'steps'), join(place.folder, 'gate')]
    const id = await new Client(server).start('Holder', { file, gate })
    await vi.waitFor(async () => expect(await stepsIn(file)).toHaveLength(1), 5000)
    const ended = server.kill('SIGTERM')
    await sleep(300)
    await writeFile(gate, '')
    expect(await ended).toMatchObject({ code: 0 })

    const next = new Client(await startServer(options))
    expect(await next.context(id)).toMatchObject({ status: 'COMPLETED' })
    expect(await stepsIn(file)).toHaveLength(1)
  })

  test('that comes twice, as npm and systemd send it, is one: what is under way is finished', async () => {
    const server = await startServer(options)
    const [file, gate] = [join(place.folder, 'steps'), join(place.folder, 'gate')]
    const id = await new Client(server).start('Holder', { file, gate })
    await vi.waitFor(async () => expect(await stepsIn(file)).toHaveLength(1), 5000)
    const ended = server.kill('SIGTERM')
    void server.kill('SIGTERM')
    await sleep(100)
    void server.kill('SIGINT')
    await sleep(200)
    expect(server.isRunning()).toBe(true)
    await writeFile(gate, '')
    expect(await ended).toMatchObject({ code: 0, signal: null })

    const next = new Client(await startServer(options))
    expect(await next.context(id)).toMatchObject({ status: 'COMPLETED' })
    expect(await stepsIn(file)).toHaveLength(1)
  })

  test('that comes again after 2 s ends the server at once', async () => {
    const server = await startServer(options)
    const [file, gate] = [join(place.folder, 'steps'), join(place.folder, 'gate')]
    await new Client(server).start('Holder', { file, gate })
    await vi.waitFor(async () => expect(await stepsIn(file)).toHaveLength(1), 5000)
    const ended = server.kill('SIGTERM')
    await sleep(2500)
    expect(server.isRunning()).toBe(true)
    void server.kill('SIGTERM')
    // Well before the 9 s that functions may take.
    expect(await Promise.race([ended, sleep(4000)])).toMatchObject({ code: 1, signal: null })
  }, 20_000)
})

describe('a step that kills its process', () => {
  test('fails with LeaseLost after five takeovers, and the server lives on', async () => {
    const file = join(place.folder, 'steps')
    const first = await startServer(options)
    // The answer may die with the server.
    await new Client(first).start('Crasher', { file }).catch((error: unknown) => {
      if (error instanceof Refused) throw error
    })
    expect(await first.ended).toMatchObject({ signal: 'SIGKILL' })
    for (let takeover = 1; takeover <= 5; takeover++)
      expect(await launch(options).ended).toMatchObject({ signal: 'SIGKILL' })

    const client = new Client(await startServer(options))
    const failed = await vi.waitFor(async () => {
      const failed = await client.list({ status: 'FAILED' })
      expect(failed).toHaveLength(1)
      return failed
    }, 5000)
    expect(failed).toMatchObject([{ fluxName: 'Crasher', error: { type: 'LeaseLost' } }])
    const steps = await stepsIn(file)
    expect(steps).toHaveLength(6)
    expect(new Set(steps).size).toBe(1)
  }, 40_000)
})
