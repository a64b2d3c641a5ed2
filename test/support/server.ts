// Real servers: processes of the built program, each on a free port of this machine alone. Whatever was started or
// written is gone after `cleanUp`.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Exit {
  /** null when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** What it wrote, to stdout and stderr. */
  readonly output: string
}

export interface ServerOptions {
  /** Path of the built program. */
  readonly program: string
  /** Folders of packages. */
  readonly actors: readonly string[]
  readonly data: string
  /** More settings. */
  readonly env?: { readonly [variable: string]: string }
  /** Options of Node's own. */
  readonly node?: readonly string[]
  /** Options of `serve`. */
  readonly words?: readonly string[]
}

export interface Launched {
  readonly pid: number
  isRunning(): boolean
  /** What it wrote so far, to stdout and stderr. */
  output(): string
  /** Sends the signal; resolves when the process has ended. */
  kill(signal: NodeJS.Signals): Promise<Exit>
  readonly ended: Promise<Exit>
}

export interface Server extends Launched {
  readonly url: string
}

/** Milliseconds that a server may take until it serves. */
const PATIENCE = 60_000

const processes = new Set<ChildProcess>()
const folders = new Set<string>()
process.on('exit', killAll)

/** Starts `serve` and doesn't wait for anything. */
export function launch({ program, actors, data, env, node = [], words = [] }: ServerOptions): Launched {
  const own = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('ACTORFLUX_') && name !== 'NODE_OPTIONS'),
  )
  const child = spawn(process.execPath, [...node, program, 'serve', ...words], {
    cwd: tmpdir(),
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...own,
      ACTORFLUX_HOST: '127.0.0.1',
      ACTORFLUX_PORT: '0',
      ACTORFLUX_ACTORS: actors.join(':'),
      ACTORFLUX_DATA: data,
      ACTORFLUX_TOKENS: `${data}.tokens.json`,
      ACTORFLUX_LOG_LEVEL: 'warn',
      ...env,
    },
  })
  processes.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const ended = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject)
    // Not 'exit': its last words may still be on their way.
    child.once('close', (code, signal) => {
      processes.delete(child)
      resolve({ code, signal, output })
    })
  })
  return {
    pid: child.pid ?? 0,
    ended,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    output: () => output,
    kill(signal) {
      child.kill(signal)
      return ended
    },
  }
}

/**
 * Starts `serve`; resolves when it is ready.
 * @throws Error with what it wrote when it ends instead, or takes too long
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const launched = launch(options)
  for (const limit = Date.now() + PATIENCE; Date.now() < limit && launched.isRunning(); await sleep(10)) {
    const url = /^listening\s+(http\S+)$/m.exec(launched.output())?.[1]
    if (url !== undefined && (await isReady(url))) return { ...launched, url }
  }
  const { code, signal, output } = await launched.kill('SIGKILL')
  throw new Error(`the server did not get ready (${code ?? signal}): ${output}`)
}

const isReady = (url: string) =>
  fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  )

export interface Place {
  readonly folder: string
  readonly actors: readonly string[]
  readonly data: string
}

/**
 * Writes services into a new folder, as a user's that were copied in from elsewhere: path to content; what isn't text
 * becomes JSON.
 */
export async function placeFor(files: { readonly [path: string]: unknown }): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'actorflux-'))
  folders.add(folder)
  const actors = join(folder, 'actors')
  for (const [path, content] of Object.entries(files)) {
    const file = join(actors, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
  }
  return { folder, actors: [actors], data: join(folder, 'data') }
}

/** Kills every server that still runs, and removes what `placeFor` made. */
export async function cleanUp(): Promise<void> {
  const ends = [...processes].map(
    (child) =>
      new Promise((resolve) => {
        child.once('close', resolve)
      }),
  )
  killAll()
  await Promise.all(ends)
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
  folders.clear()
}

function killAll(): void {
  for (const child of processes) child.kill('SIGKILL')
}

/** Sends an object as JSON, a text as lines of JSON. */
export async function call(url: string, method = 'GET', body?: object | string) {
  const response = await fetch(url, {
    method,
    ...(body !== undefined && {
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': typeof body === 'string' ? 'application/x-ndjson' : 'application/json' },
    }),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}
