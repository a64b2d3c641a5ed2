// wrk as the client of the bench: one thread of it sends several times what a server can answer.
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Call, Seen, Task } from './client.ts'

let found: boolean | undefined

/** Whether wrk is on the PATH. */
export const hasWrk = (): boolean => (found ??= spawnSync('wrk', ['--version']).error === undefined)

/** wrk counts whole seconds. @throws Error when any answer isn't 2xx, or none comes */
export async function runWrk({ url, connections, calls, from, seconds }: Task): Promise<Seen> {
  const folder = await mkdtemp(join(tmpdir(), 'actorflux-wrk-'))
  try {
    const file = join(folder, 'calls')
    await writeFile(file, calls.map(lineOf).join(''))
    const { stdout } = await promisify(execFile)('wrk', [
      '--threads=1',
      `--connections=${connections}`,
      `--duration=${Math.max(1, Math.round(seconds))}s`,
      '--timeout=10s',
      `--script=${resolve(import.meta.dirname, 'wrk.lua')}`,
      url,
      '--',
      file,
      String(from),
    ])
    const line = stdout.trimEnd().split('\n').at(-1) ?? ''
    const { errors, ...seen }: Seen & { readonly errors: number } = JSON.parse(line)
    if (errors > 0) throw new Error(`${errors} of ${seen.calls} calls failed: ${stdout}`)
    return seen
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** JSON has no tab and no end of a line in it. */
const lineOf = ({ method, path, body }: Call) =>
  `${method}\t${path}\t${body === undefined ? '' : JSON.stringify(body)}\n`
