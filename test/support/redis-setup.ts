// Finds a real Redis for a run of the tests: REDIS_URL, a redis-server from the PATH, or one that it installs, which it
// says before. Without any, the run ends with one line.
import { setTimeout as sleep } from 'node:timers/promises'
import { execFile } from 'node:child_process'
import { open } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { tryLock } from 'fs-native-extensions'
import type { TestProject } from 'vitest/node'
import { startRedis } from './redis.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A Redis that all test files share: each test takes a namespace of its own. */
    redisUrl: string
  }
}

/** What tests stand on: the first with a port of one's own choice for the bus of a cluster. */
const OLDEST = 7

/** `false`: nothing is installed. */
const INSTALL = 'ACTORFLUX_TEST_INSTALL'

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (!(await found()) && (process.env[INSTALL] === 'false' || !(await installed()))) {
    console.error(
      `The tests need redis-server and redis-cli, ${OLDEST}.0 or newer, on the PATH: apt-get install redis-server, or brew install redis`,
    )
    process.exit(1)
  }
  const given = process.env['REDIS_URL']
  if (given) {
    project.provide('redisUrl', given)
    return undefined
  }
  const server = await startRedis({ appendfsync: 'everysec' })
  project.provide('redisUrl', server.url)
  return () => server.close()
}

/** Looked for even where a server is given: some tests kill one, or make a cluster. */
async function found(): Promise<boolean> {
  const versions = await Promise.all(['redis-server', 'redis-cli'].map((program) => output([program, '--version'])))
  return versions.every((version) => Number(/\d+/.exec(version)?.[0]) >= OLDEST)
}

/** One run at a time: another waits, and finds what this one installed. */
async function installed(): Promise<boolean> {
  const lock = await open(join(tmpdir(), `actorflux-install-${userInfo().uid}.lock`), 'a')
  try {
    while (!tryLock(lock.fd)) await sleep(200)
    if (await found()) return true
    const commands = await installation()
    const [last] = commands.slice(-1)
    if (last)
      console.error(
        `redis-server ${OLDEST}.0 or newer is not on the PATH: installing it (${last.join(' ')}); ${INSTALL}=false prevents that`,
      )
    for (const command of commands) await output(command)
    return await found()
  } finally {
    await lock.close()
  }
}

/**
 * The commands that install it here: Homebrew, or Debian's packages for whoever may install them. Empty where there is
 * no way.
 */
async function installation(): Promise<string[][]> {
  if (await output(['brew', '--version'])) return [['brew', 'install', 'redis']]
  const sudo = userInfo().uid === 0 ? [] : ['sudo', '-n']
  // Something else may be installing at this moment: it is waited for.
  const apt = [...sudo, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-o', 'DPkg::Lock::Timeout=120']
  if (!(await output([...apt, '--version']))) return []
  return [
    [...apt, 'update'],
    [...apt, 'install', '-y', '--no-install-recommends', 'redis-server', 'redis-tools'],
  ]
}

/** What the command writes to stdout; nothing if it fails. */
async function output([command = '', ...args]: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { maxBuffer: Infinity }).catch(() => ({ stdout: '' }))
  return stdout
}
