// recorded: a server in this process, with its services, its clock and its answers. Only this file and quiet.ts know
// how a server is made and what its store is given.
import { existsSync, statfsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FluxApi } from '../../src/api/calls.ts'
import type { Store } from '../../src/ports/store.ts'
import { testApp } from '../http/support.ts'
import { openBench, type Files } from '../support/engine.ts'
import type { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { Quiet, within, type Stored } from './quiet.ts'

export interface Call {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string
}

export interface RecordedServer {
  /** The calls in process, with all rights. */
  readonly api: FluxApi
  /** As `request`, and doesn't wait for what it sets off. */
  send(call: Call): Promise<Response>
  /** Resolves when nothing is under way. */
  settle(): Promise<void>
  request(call: Call): Promise<Response>
  advance(milliseconds: number): Promise<void>
  /** Stops as a server does, and leaves its folder. */
  stop(): Promise<void>
  close(): Promise<void>
}

/** Finished contexts stay: nothing that is recorded may depend on when they are purged. */
const RETENTION_MS = 10 * 365 * 86_400_000

/** In memory where the system has room for it: what is asked is what is answered, not what a power cut leaves. */
const SHARED_MEMORY = '/dev/shm'
/** The embedded store keeps some of it free. */
const ROOM_BYTES = 256 * 1024 * 1024
const ROOT = hasRoom(SHARED_MEMORY) ? SHARED_MEMORY : tmpdir()

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize > ROOM_BYTES
}

/** A folder of its own for a server's services and data. */
export const newFolder = (): Promise<string> => mkdtemp(join(ROOT, 'actorflux-'))

export interface ServerOptions {
  /** Where it has its services and data; a new one if left out. It is removed in the end. */
  readonly folder?: string
  readonly clock?: SimulatedClock
  /** What its store holds already. */
  readonly stored?: readonly Stored[]
  readonly wrap?: (store: Store) => Store
}

export async function openServer(files: Files, options: ServerOptions = {}): Promise<RecordedServer> {
  const { folder = await newFolder(), clock, stored = [], wrap = (store: Store) => store } = options
  const quiet = new Quiet(stored)
  const bench = await openBench(files, {
    folder,
    onDisk: true,
    ...(clock && { clock }),
    retention: RETENTION_MS,
    wrap: (store) => wrap(quiet.wrap(store)),
  })
  quiet.watch(bench.clock)
  const { engine } = bench
  const { app } = testApp({}, { api: engine.calls, webhooks: engine.webhooks, ready: () => engine.trouble() })
  const send = async ({ method, path, headers, body }: Call): Promise<Response> =>
    app.request(path, { method, ...(headers && { headers }), ...(body !== undefined && { body }) })
  return {
    api: bench,
    send,
    settle: () => quiet.settle(),
    async request(call) {
      const response = await within(send(call), `${call.method} ${call.path}`)
      await quiet.settle()
      return response
    },
    advance: (milliseconds) => quiet.advance(milliseconds),
    async stop() {
      engine.webhooks.giveUp()
      await engine.close({ grace: 0 })
    },
    close: () => within(bench.close(), 'the end of the server'),
  }
}
