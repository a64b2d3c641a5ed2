// A real server on a data file that was damaged: refused in one line, by `doctor` as well.
import { randomBytes } from 'node:crypto'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, open, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { open as openLmdb } from 'lmdb'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { cleanUp, launch, placeFor, startServer, type Place, type ServerOptions } from '../support/server.ts'
import { Client, forEach } from './client.ts'
import { SERVICES } from './services.ts'

const COUNT = 200

let place: Place
let options: ServerOptions
let file: string
let ids: number[]

const lineOf = (id: number) => `"msg":"the stored record of context ${id} can't be read"`

beforeAll(async () => {
  place = await placeFor(SERVICES)
  const server = await startServer({ program: inject('program'), ...place })
  ids = await forEach(
    Array.from({ length: COUNT }, (_, index) => index),
    () => new Client(server).start('Waiter'),
  )
  await server.kill('SIGTERM')
}, 60_000)
afterAll(cleanUp)

beforeEach(async () => {
  const data = await mkdtemp(join(place.folder, 'damaged-'))
  await cp(place.data, data, { recursive: true })
  options = { program: inject('program'), ...place, data }
  file = join(data, 'default.mdb')
})

/** Runs `actorflux doctor` on the data. */
async function doctor(): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const run = promisify(execFile)(process.execPath, [options.program, 'doctor'], {
    env: { ...process.env, ACTORFLUX_DATA: options.data },
  })
  return run.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: unknown; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
  )
}

async function overwrite(at: number, bytes: Buffer): Promise<void> {
  const handle = await open(file, 'r+')
  await handle.write(bytes, 0, bytes.length, at)
  await handle.close()
}

const DAMAGE: { readonly [what: string]: () => Promise<void> } = {
  'cut short': async () => truncate(file, (await stat(file)).size - 100),
  'cut in half': async () => truncate(file, (await stat(file)).size / 2),
  // Every other page, so that one of them is in use.
  noisy: async () => {
    for (let at = 8; at < (await stat(file)).size / 4096; at += 2) await overwrite(at * 4096, randomBytes(4096))
  },
  'zero at its head': () => overwrite(0, Buffer.alloc(4096)),
}

describe('a data file that is damaged', () => {
  test.each(Object.keys(DAMAGE))(
    '(%s) is refused in one line that names the backup, by doctor as well',
    async (what) => {
      await DAMAGE[what]?.()
      const { code, signal, output } = await launch(options).ended
      expect({ code, signal }).toEqual({ code: 1, signal: null })
      expect(output).toMatch(
        /^actorflux: the data in [^\n]*default\.mdb [^\n]*; restore a backup [^\n]* as actorflux backup makes it\n$/,
      )
      expect(await doctor()).toEqual({ code: 1, stdout: '', stderr: output })
    },
    60_000,
  )

  test('(not at all, that is) is called whole', async () => {
    expect(await doctor()).toMatchObject({ code: 0, stdout: expect.stringMatching(/is whole: 200 contexts\n$/) })
  }, 60_000)

  test('(empty) is refused in one line', async () => {
    await truncate(file)
    expect(await launch(options).ended).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^actorflux: the data file [^\n]* is gone or empty, [^\n]*\n$/),
    })
    expect(await doctor()).toMatchObject({ code: 1 })
  }, 60_000)
})

test('a stored record that is garbage, or holds garbage, spoils nothing but itself', async () => {
  const [first = 0, second = 0, third = 0] = ids
  const root = openLmdb({ path: file, noSubdir: true, overlappingSync: false })
  const contexts = root.openDB<Buffer, number>('contexts', { encoding: 'binary' })
  const record = contexts.get(second) ?? Buffer.alloc(0)
  const texts = record.indexOf('{"package"')
  await contexts.put(first, Buffer.from('garbage'))
  // The facts are right, and the lengths are: only its parts are no JSON.
  await contexts.put(second, Buffer.concat([record.subarray(0, texts), Buffer.alloc(record.length - texts, '#')]))
  await root.close()

  const server = await startServer({ ...options, env: { ACTORFLUX_LOG_LEVEL: 'error' } })
  const client = new Client(server)
  const whole = ids.filter((id) => id !== first && id !== second).sort((a, b) => a - b)
  for (let look = 0; look < 3; look++)
    expect((await client.list({ fluxName: 'Waiter' })).map(({ id }) => id)).toEqual(whole)
  const { transitions, ignored } = await client.event('go')
  expect(transitions).toHaveLength(COUNT - 2)
  expect(ignored).toEqual([])
  for (const id of [first, second]) {
    const response = await fetch(`${server.url}/flux-api/context?contextId=${id}`)
    expect(response.status).toBe(500)
    expect(await response.json()).toMatchObject({
      type: 'urn:actorflux:problem:unreadable-record',
      detail: `the stored record of context ${id} can't be read`,
    })
    expect((await fetch(`${server.url}/flux-api/terminate?contextId=${id}`, { method: 'DELETE' })).status).toBe(500)
  }
  expect(await client.context(third)).toMatchObject({ currentState: 'second' })
  const told = (id: number) =>
    server
      .output()
      .split('\n')
      .filter((line) => line.includes(lineOf(id))).length
  expect([told(first), told(second)]).toEqual([1, 1])
  await server.kill('SIGTERM')
  expect(await doctor()).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`the stored record of context ${first} can't be read`),
  })
}, 60_000)
