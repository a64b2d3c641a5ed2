// Redis for tests: real servers on free ports of this machine alone, each with its data in a folder of its own. Whatever was started is gone when the process ends.
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'

export interface RedisServer {
  /** `redis://127.0.0.1:<port>` */
  readonly url: string
  readonly pid: number
  /** Sends the signal; with one that ends it, resolves when it has ended. */
  signal(signal: NodeJS.Signals): Promise<void>
  /** Starts it again on the same port and data, after it was ended. Resolves when it serves. */
  start(): Promise<void>
  /** Kills it, and removes its data. */
  close(): Promise<void>
}

export interface RedisOptions {
  /** When what was written is on the disk; at each write if left out. */
  readonly appendfsync?: 'always' | 'everysec' | 'no'
  readonly args?: readonly string[]
}

export interface RedisCluster {
  /** All nodes, separated by commas. */
  readonly url: string
  readonly nodes: readonly RedisServer[]
  close(): Promise<void>
}

/** Milliseconds that a server, or a cluster, may take until it serves. */
const PATIENCE = 20_000
/** Ports that were taken between looking and starting are given up so often. */
const ATTEMPTS = 10

const children = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

/** @throws Error when there is no redis-server, or it doesn't start */
export async function startRedis({ appendfsync = 'always', args = [] }: RedisOptions = {}): Promise<RedisServer> {
  for (let attempt = 1; ; attempt += 1) {
    const [port, busPort] = [await freePort(), await freePort()]
    const folder = await mkdtemp(join(tmpdir(), 'actorflux-redis-'))
    const words = [
      '--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'yes', '--appendfsync', appendfsync,
      '--maxmemory-policy', 'noeviction', '--daemonize', 'no', ...args, ...args.includes('--cluster-enabled') ? ['--cluster-port', String(busPort)] : [],
    ]
    const server = serverOf(port, folder, words)
    try {
      await server.start()
      return server
    } catch (error) {
      await server.close()
      if (attempt === ATTEMPTS || !String(error).includes('Address already in use')) throw error
    }
  }
}

function serverOf(port: number, folder: string, words: readonly string[]): RedisServer {
  let child: ChildProcess | null = null
  let ended: Promise<unknown> = Promise.resolve()
  const end = async (signal: NodeJS.Signals) => {
    child?.kill(signal)
    await ended
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    get pid() { return child?.pid ?? 0 },
    async signal(signal) {
      if (signal === 'SIGKILL' || signal === 'SIGTERM') await end(signal)
      else child?.kill(signal)
    },
    async start() {
      const started = spawn('redis-server', words, { stdio: ['ignore', 'pipe', 'pipe'] })
      child = started
      children.add(started)
      let output = ''
      for (const stream of [started.stdout, started.stderr]) stream.setEncoding('utf8').on('data', (text: string) => { output += text })
      const failed = new Promise<never>((_, reject) => {
        started.once('error', reject)
        started.once('close', (code, signal) => reject(new Error(`redis-server ended (${code ?? signal}): ${output}`)))
      })
      failed.catch(() => {})
      ended = once(started, 'close').finally(() => children.delete(started)).catch(() => {})
      await Promise.race([failed, untilItServes(port)])
    },
    async close() {
      await end('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function untilItServes(port: number): Promise<void> {
  for (const end = Date.now() + PATIENCE; !await answers(port); await sleep(20)) if (Date.now() > end) throw new Error('redis-server does not answer')
}

/** Whether it says more than that it is still reading its data: one that wants a password serves, too. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    socket.on('error', () => resolve(false)).on('close', () => resolve(false))
    socket.on('data', (data) => {
      resolve(/^(\+PONG|-NOAUTH)/.test(data.toString()))
      socket.destroy()
    })
  })
}

/** Three masters, made one by `redis-cli --cluster create`. */
export async function startRedisCluster({ appendfsync = 'no' }: Pick<RedisOptions, 'appendfsync'> = {}): Promise<RedisCluster> {
  const args = ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf', '--cluster-node-timeout', '2000']
  const nodes = await Promise.all([1, 2, 3].map(() => startRedis({ appendfsync, args })))
  const close = async () => { await Promise.all(nodes.map((node) => node.close())) }
  try {
    const places = nodes.map(({ url }) => new URL(url).host)
    await promisify(execFile)('redis-cli', ['--cluster', 'create', ...places, '--cluster-yes'])
    await Promise.all(nodes.map(untilItKnowsAll))
    return { url: nodes.map(({ url }) => url).join(','), nodes, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function untilItKnowsAll({ url }: RedisServer): Promise<void> {
  const redis = new Redis(url)
  try {
    for (const end = Date.now() + PATIENCE; ; await sleep(50)) {
      const info = String(await redis.call('CLUSTER', 'INFO'))
      if (info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3')) return
      if (Date.now() > end) throw new Error(`the cluster does not come about: ${info}`)
    }
  } finally {
    redis.disconnect()
  }
}

/** Nothing listened there a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

const sleep = (milliseconds: number) => new Promise<void>((resolve) => { setTimeout(resolve, milliseconds) })
