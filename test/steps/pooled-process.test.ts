// The limit of a process of a pool, when the server's own process is held up.
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PooledProcess } from '../../src/steps/processes/pooled-process.ts'

/** Answers each message, and then makes the file that it names. */
const CHILD = `
process.on('message', ({ file }) => {
  process.send('answer', () => {
    if (file !== '') require('node:fs').writeFileSync(file, '')
  })
})
process.on('disconnect', () => process.exit())
`
const LIMIT_MS = 300
const told: string[] = []
let folder = ''
let child: PooledProcess<{ readonly file: string }, string>

beforeEach(async () => {
  told.length = 0
  folder = await mkdtemp(join(tmpdir(), 'actorflux-pooled-'))
  const events = { onMessage: (text: string) => void told.push(text), onEnd: (how: string) => void told.push(how) }
  const module = pathToFileURL(join(folder, 'child'))
  await writeFile(`${module.pathname}.js`, CHILD)
  child = new PooledProcess({ module, flags: [], env: process.env, output: false }, events)
  child.send({ file: '' })
  await vi.waitFor(() => expect(told.splice(0)).toEqual(['answer']), { timeout: 20_000 })
})
afterEach(async () => {
  child.kill()
  await rm(folder, { recursive: true })
})

/** Holds up this process until the file is there, and for that long at least. */
function block(file: string, milliseconds: number): void {
  const nap = new Int32Array(new SharedArrayBuffer(4))
  const start = performance.now()
  while (performance.now() - start < milliseconds || !existsSync(file)) Atomics.wait(nap, 0, 0, 5)
}

test('an answer that came in time is read before the limit takes effect, though this process was held up', async () => {
  const file = join(folder, 'answered')
  child.send({ file })
  child.limit(LIMIT_MS, () => told.push('limit'))
  block(file, 2 * LIMIT_MS)
  await vi.waitFor(() => expect(told).toContain('limit'))
  expect(told).toEqual(['answer', 'limit'])
})

test('a limit takes effect once, unless it is removed or another is set', async () => {
  child.limit(50, () => told.push('first'))
  child.limit(10, () => told.push('second'))
  await vi.waitFor(() => expect(told).toEqual(['second']))
  child.limit(10, () => told.push('third'))
  child.unlimit()
  await new Promise<void>((resolve) => {
    child.limit(150, resolve)
  })
  expect(told).toEqual(['second'])
})
