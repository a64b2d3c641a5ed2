// wrk as the client of the bench: one thread of it sends several times what a server can answer.
import { execFile, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Call, Seen, Task } from './client.ts'

let found: boolean | undefined

/** Whether wrk is on the PATH. */
export const hasWrk = (): boolean => (found ??= spawnSync('wrk', ['--version']).error === undefined)

/** wrk counts whole seconds. @throws Error when any answer has another status than expected, or none comes */
export async function runWrk({ url, connections, calls, from, seconds, status = 200 }: Task): Promise<Seen> {
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
      randomUUID(),
    ])
    const line = stdout.trimEnd().split('\n').at(-1) ?? ''
    const { errors, refused, ...seen }: Seen & { readonly errors: number; readonly refused: number } = JSON.parse(line)
    // wrk tells statuses apart only by whether they are errors, which begin with 400.
    const failed = errors + (status < 400 ? refused : seen.calls - refused)
    if (failed > 0) throw new Error(`${failed} of ${seen.calls} calls failed: ${stdout}`)
    return seen
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** JSON has no tab and no end of a line in it. */
const lineOf = ({ method, path, body, headers = body && { 'Content-Type': 'application/json' } }: Call) =>
  `${[
    method,
    path,
    body === undefined ? '' : JSON.stringify(body),
    ...Object.entries(headers ?? {}).map(([name, value]) => `${name}=${value}`),
  ].join('\t')}\n`
