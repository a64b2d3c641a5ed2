// recorded: a server in this process, with its services, its clock and its answers. What a redesign of the runtime may have to change is here and in quiet.ts alone.
import { existsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBench, type Files } from '../support/runtime.ts'
import { testApp } from '../http/support.ts'
import { Quiet } from './quiet.ts'

export interface Call {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string
}

export interface RecordedServer {
  request(call: Call): Promise<Response>
  advance(milliseconds: number): Promise<void>
  close(): Promise<void>
}

/** Finished contexts stay: nothing that is recorded may depend on when they are purged. */
const RETENTION_MS = 10 * 365 * 86_400_000

/** In memory where the system has such a folder: what is asked is what is answered, not what a power cut leaves. */
const SHARED_MEMORY = '/dev/shm'
const ROOT = existsSync(SHARED_MEMORY) ? SHARED_MEMORY : tmpdir()

export async function openServer(files: Files): Promise<RecordedServer> {
  const quiet = new Quiet()
  const bench = await openBench(files, {
    folder: await mkdtemp(join(ROOT, 'actorflux-')),
    retention: RETENTION_MS,
    wrap: quiet.wrap,
  })
  quiet.watch(bench.clock)
  const { runtime } = bench
  const { app } = testApp({}, { api: runtime.api, webhooks: runtime.webhooks, ready: () => runtime.trouble() })
  return {
    async request({ method, path, headers, body }) {
      const response = await app.request(path, {
        method,
        ...(headers && { headers }),
        ...(body !== undefined && { body }),
      })
      await quiet.settle()
      return response
    },
    advance: (milliseconds) => quiet.advance(milliseconds),
    close: () => bench.close(),
  }
}
