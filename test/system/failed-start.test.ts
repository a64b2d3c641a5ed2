// A server that can't start leaves nothing behind: neither processes nor its data folder's lock.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { startServer } from '../../src/main.ts'
import { readSettings } from '../../src/settings.ts'
import { writeFiles } from '../support/engine.ts'
import { silent as log } from '../support/silent.ts'

/** Ids of the processes that this one has started, without those that were there before. */
async function children(before: readonly string[] = []): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'ppid=,pid=,comm='])
  const own = stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([parent, , name]) => parent === String(process.pid) && name !== 'ps')
  return own.map(([, id = '']) => id).filter((id) => !before.includes(id))
}

test.each([
  ['a malformed file of tokens', { tokens: '{', data: null, error: /tokens\.json is not JSON/ }],
  ['a data folder that is a file', { tokens: '{"tokens":[]}', data: 'no folder', error: /data/ }],
])('with %s, no process is left that checked the scripts of services', async (_, { tokens, data, error }) => {
  const folder = await mkdtemp(join(tmpdir(), 'actorflux-'))
  try {
    await writeFiles(join(folder, 'actors'), {
      'p/Script.flux': { states: [{ name: 's', action: { type: 'script', script: 'return 1', outputs: [] } }] },
    })
    await writeFile(join(folder, 'tokens.json'), tokens)
    if (data !== null) await writeFile(join(folder, 'data'), data)
    const before = await children()
    const settings = {
      ...readSettings({}),
      host: '127.0.0.1',
      port: 0,
      actors: [join(folder, 'actors')],
      data: join(folder, 'data'),
      tokens: join(folder, 'tokens.json'),
    }
    await expect(startServer(settings, { log })).rejects.toThrow(error)
    await vi.waitFor(async () => expect(await children(before)).toEqual([]), { timeout: 5000, interval: 100 })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
