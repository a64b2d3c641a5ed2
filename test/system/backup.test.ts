// `actorflux backup` beside a server that works: the copy is one moment of all of it.
import { execFile } from 'node:child_process'
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { open } from 'lmdb'
import { afterEach, expect, inject, test } from 'vitest'
import { call, cleanUp, placeFor, startServer } from '../support/server.ts'

const program = inject('program')

afterEach(cleanUp)

const PAIR = {
  input: [{ name: 'n', type: 'integer' }],
  output: [{ name: 'seen', type: 'integer' }],
  states: [
    {
      name: 'W',
      waiting: true,
      input: [{ name: 'n', type: 'integer' }],
      action: { lines: [{ from: ['n'], to: ['seen'] }] },
      transitions: [{ event: 'next', to: 'W' }],
    },
  ],
}

/** Exit code and output. */
const actorflux = (words: string[], env: Record<string, string> = {}) =>
  promisify(execFile)(process.execPath, [program, ...words], { env: { ...process.env, ...env } }).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      out: error.stdout,
      err: error.stderr,
    }),
  )

test('has all that was acknowledged before, and a server starts from it', async () => {
  const place = await placeFor({ 'p/Pair.flux': PAIR })
  const server = await startServer({ program, ...place })
  const contexts = 50
  const lines = Array.from({ length: contexts }, () => '{"fluxName":"Pair"}').join('\n')
  expect(await call(`${server.url}/flux-api/p/executes`, 'POST', lines)).toMatchObject({ status: 200 })
  const acknowledged = new Map<number, number>()
  const over = new AbortController()
  const sending = (async () => {
    for (let n = 1; !over.signal.aborted; n += 1) {
      const id = 1 + (n % contexts)
      const { status } = await call(`${server.url}/flux-api/event?contextId=${id}`, 'POST', {
        event: 'next',
        input: { n },
      })
      if (status === 200) acknowledged.set(id, n)
    }
  })()
  while (acknowledged.size < contexts) await new Promise(setImmediate)
  const before = new Map(acknowledged)
  const into = join(place.folder, 'copy')
  const { code, out, err } = await actorflux(['backup', into], { ACTORFLUX_DATA: place.data })
  over.abort()
  await sending
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toContain(`ACTORFLUX_DATA=${into}`)
  expect((await readdir(into)).toSorted()).toEqual(['default.lock', 'default.mdb'])
  // Nobody else may read it.
  expect((await stat(join(into, 'default.mdb'))).mode & 0o777).toBe(0o600)
  expect(await actorflux(['doctor', '--data', into])).toMatchObject({ code: 0 })
  const copy = await startServer({ program, ...place, data: into })
  for (const [id, n] of before) {
    const { text } = await call(`${copy.url}/flux-api/context?contextId=${id}`)
    const { output }: { output: { gloopProperties: { value: number }[] } } = JSON.parse(text)
    expect(output.gloopProperties[0]?.value).toBeGreaterThanOrEqual(n)
  }
  expect((await server.kill('SIGTERM')).code).toBe(0)
})

test('a copy that did not come to its end is refused, and not served as an empty store', async () => {
  const place = await placeFor({ 'p/Pair.flux': PAIR })
  await mkdir(place.data, { recursive: true })
  const other = open({ path: join(place.data, 'default.mdb'), noSubdir: true })
  await other.put('not', 'ours')
  await other.close()
  const into = join(place.folder, 'copy')
  expect(await actorflux(['backup', into, '--data', place.data])).toMatchObject({ code: 1 })
  expect(await readdir(into)).toContain('default.mdb.unfinished')
  await expect(startServer({ program, ...place, data: into })).rejects.toThrow(
    /did not get ready \(1\)[^]*default\.mdb/,
  )
})

test('writes into an empty folder alone, and not where there is no data', async () => {
  const place = await placeFor({ 'p/Pair.flux': PAIR })
  const into = join(place.folder, 'copy')
  expect(await actorflux(['backup', into, '--data', place.data])).toMatchObject({
    code: 1,
    err: expect.stringContaining('there is no data in'),
  })
  const server = await startServer({ program, ...place })
  await server.kill('SIGTERM')
  await mkdir(into)
  await writeFile(join(into, 'something'), '')
  expect(await actorflux(['backup', into, '--data', place.data])).toMatchObject({
    code: 1,
    err: expect.stringContaining('is not empty'),
  })
  expect(await actorflux(['backup'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('<new folder> is missing'),
  })
  expect(await actorflux(['backup', into], { ACTORFLUX_REDIS_URL: 'redis://127.0.0.1:1' })).toMatchObject({
    code: 1,
    err: expect.stringContaining('the data is in Redis'),
  })
})
