// Redis for tests: real servers on ports of this machine alone, each with its data in a folder of its own. Whatever was
// started ends with the process that started it.
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'

export interface RedisServer {
  /** `redis://127.0.0.1:<port>` */
  readonly url: string
  /** 0 while it is ended. */
  readonly pid: number
  /** Sends the signal; after SIGKILL or SIGTERM, resolves when it has ended. */
  signal(signal: NodeJS.Signals): Promise<void>
  /** Starts it again on the same port and data, after it was ended. Resolves when it has read its data and answers. */
  start(): Promise<void>
  /** Kills it, and removes its data. */
  close(): Promise<void>
}

export interface RedisOptions {
  /** When what was written is on the disk; at each write if left out. */
  readonly appendfsync?: 'always' | 'everysec' | 'no'
  /** More words for the command line of redis-server; they win over those given anyway. */
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
/** How often a port that is taken is given up for another. */
const ATTEMPTS = 20

/** @throws Error when there is no redis-server, or it doesn't start */
export async function startRedis({ appendfsync = 'always', args = [] }: RedisOptions = {}): Promise<RedisServer> {
  for (let attempt = 1; ; attempt += 1) {
    const port = anyPort()
    const folder = await mkdtemp(join(tmpdir(), 'actorflux-redis-'))
    const words = [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      folder,
      '--save',
      '',
      '--appendonly',
      'yes',
      '--appendfsync',
      appendfsync,
      '--maxmemory-policy',
      'noeviction',
      '--daemonize',
      'no',
      ...args,
      ...(args.includes('--cluster-enabled') ? ['--cluster-port', String(anyPort())] : []),
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

/**
 * Below the ports that systems give to connections, so that none takes it while the server is ended (a client that
 * tries again and again may even meet itself there).
 */
const anyPort = (): number => randomInt(10_000, 32_000)

function serverOf(port: number, folder: string, words: readonly string[]): RedisServer {
  let child: ChildProcess | null = null
  let ended: Promise<void> = Promise.resolve()
  const end = async (signal: NodeJS.Signals) => {
    child?.kill(signal)
    await ended
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    get pid() {
      return child?.pid ?? 0
    },
    async signal(signal) {
      if (signal === 'SIGKILL' || signal === 'SIGTERM') await end(signal)
      else child?.kill(signal)
    },
    async start() {
      if (child) throw new Error('this redis-server runs')
      const started = spawn('redis-server', words, { stdio: ['ignore', 'pipe', 'pipe'] })
      child = started
      ended = new Promise((resolve) => {
        started.once('close', () => {
          child = null
          resolve()
        })
      })
      guard(started, folder)
      await untilItServes(started)
    },
    async close() {
      await end('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Kills it and removes its folder once this process is gone, no matter how: a shell of its own then comes to the end of
 * what it reads.
 */
function guard(server: ChildProcess, folder: string): void {
  if (server.pid === undefined) return
  const script = 'read -r ended || { kill -9 "$1"; rm -rf "$2"; }'
  const shell = spawn('sh', ['-c', script, 'sh', String(server.pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  shell.unref()
  shell.stdin.on('error', () => {})
  server.once('exit', () => shell.stdin.end('ended\n'))
}

/** Goes by what this very server says: at its port another one might answer. It says so after it has read its data. */
async function untilItServes(server: ChildProcess): Promise<void> {
  let patience: NodeJS.Timeout | undefined
  await new Promise<void>((resolve, reject) => {
    let output = ''
    const hear = (text: string) => {
      output = (output + text).slice(-10_000)
      if (output.includes('Ready to accept connections')) resolve()
    }
    for (const stream of [server.stdout, server.stderr]) stream?.setEncoding('utf8').on('data', hear)
    patience = setTimeout(() => reject(new Error(`redis-server does not serve: ${output}`)), PATIENCE)
    server.once('error', reject)
    server.once('close', (code, signal) => reject(new Error(`redis-server ended (${code ?? signal}): ${output}`)))
  }).finally(() => clearTimeout(patience))
}

/** Three masters, made one by `redis-cli --cluster create`. */
export async function startRedisCluster({
  appendfsync = 'no',
}: Pick<RedisOptions, 'appendfsync'> = {}): Promise<RedisCluster> {
  const args = ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf', '--cluster-node-timeout', '2000']
  const nodes: RedisServer[] = []
  const close = async () => {
    await Promise.all(nodes.map((node) => node.close()))
  }
  try {
    while (nodes.length < 3) nodes.push(await startRedis({ appendfsync, args }))
    const places = nodes.map(({ url }) => new URL(url).host)
    await promisify(execFile)('redis-cli', ['--cluster', 'create', ...places, '--cluster-yes'], { timeout: PATIENCE })
    await Promise.all(nodes.map(untilItKnowsAll))
    return { url: nodes.map(({ url }) => url).join(','), nodes, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** A node may still believe that the cluster is down when redis-cli has ended. */
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
