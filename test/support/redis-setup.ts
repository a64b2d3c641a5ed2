// Finds a real Redis for a run of the tests, once: REDIS_URL, a redis-server from the PATH, or one that it installs. Without any, the run fails in one line.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { startRedis } from './redis.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A Redis that all test files share: each test takes a namespace of its own. */
    redisUrl: string
  }
}

const run = promisify(execFile)
const works = (command: string, ...args: string[]) => run(command, args).then(() => true, () => false)

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  await findPrograms()
  const given = process.env['REDIS_URL']
  if (given) {
    project.provide('redisUrl', given)
    return undefined
  }
  const server = await startRedis({ appendfsync: 'everysec' })
  project.provide('redisUrl', server.url)
  return () => server.close()
}

/** Some tests kill Redis, or make a cluster: those need the programs even where a server is given. */
async function findPrograms(): Promise<void> {
  const found = async () => await works('redis-server', '--version') && await works('redis-cli', '--version')
  if (await found()) return
  console.error('redis-server is not on the PATH: installing it')
  await install()
  if (!await found()) throw new Error('The tests need redis-server and redis-cli (7 or newer) on the PATH: apt-get install redis-server, or brew install redis')
}

/** Does nothing where it can't. */
async function install(): Promise<void> {
  if (process.platform === 'darwin') {
    await works('brew', 'install', 'redis')
    return
  }
  const root = process.getuid?.() === 0
  if (!root && !await works('sudo', '-n', 'true')) return
  const apt = (...args: string[]) => {
    // Another run may be installing at this moment.
    const words = ['apt-get', '-o', 'DPkg::Lock::Timeout=120', '-y', '--no-install-recommends', ...args]
    return root ? works('env', 'DEBIAN_FRONTEND=noninteractive', ...words) : works('sudo', '-n', 'env', 'DEBIAN_FRONTEND=noninteractive', ...words)
  }
  await apt('update')
  await apt('install', 'redis-server', 'redis-tools')
}
