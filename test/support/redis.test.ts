// The Redis that other tests stand on: it forgets nothing, its cluster is one, and nothing of it stays behind.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { Cluster, Redis } from 'ioredis'
import { expect, inject, test, vi } from 'vitest'
import { z } from 'zod'
import { startRedis, startRedisCluster } from './redis.ts'

async function using<T>(url: string, use: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url)
  try {
    return await use(redis)
  } finally {
    redis.disconnect()
  }
}

const folderOf = (url: string) =>
  using(url, async (redis) => z.tuple([z.string(), z.string()]).parse(await redis.config('GET', 'dir'))[1])

test('the shared Redis answers', async () => {
  expect(await using(inject('redisUrl'), (redis) => redis.ping())).toBe('PONG')
})

test('a server keeps its data over kill and start, and nothing once it is closed', async () => {
  const server = await startRedis({ appendfsync: 'always' })
  try {
    const [pid, folder] = [server.pid, await folderOf(server.url)]
    await using(server.url, (redis) => redis.set('a', '1'))
    await server.signal('SIGKILL')
    expect(server.pid).toBe(0)
    await server.start()
    expect(server.pid).not.toBe(pid)
    expect(await using(server.url, (redis) => redis.get('a'))).toBe('1')
    await expect(server.start()).rejects.toThrow('runs')
    await server.close()
    expect(existsSync(folder)).toBe(false)
  } finally {
    await server.close()
  }
})

test('a server can be stopped and continued', async () => {
  const server = await startRedis({ appendfsync: 'no' })
  try {
    await server.signal('SIGSTOP')
    const pong = using(server.url, (redis) => redis.ping())
    expect(
      await Promise.race([
        pong,
        new Promise((resolve) => {
          setTimeout(resolve, 100, 'silence')
        }),
      ]),
    ).toBe('silence')
    await server.signal('SIGCONT')
    expect(await pong).toBe('PONG')
  } finally {
    await server.close()
  }
})

test('a server that refuses its words tells why', async () => {
  await expect(startRedis({ args: ['--no-such-word', 'yes'] })).rejects.toThrow('no-such-word')
})

test('three masters answer for keys in different slots', async () => {
  const { url, nodes, close } = await startRedisCluster()
  const cluster = new Cluster(url.split(','))
  try {
    const keys = Array.from({ length: 30 }, (_, number) => `key ${number}`)
    for (const key of keys) await cluster.set(key, key)
    for (const key of keys) expect(await cluster.get(key)).toBe(key)
    expect(cluster.nodes('master')).toHaveLength(3)
    for (const node of nodes) expect(await using(node.url, (redis) => redis.dbsize())).toBeGreaterThan(0)
  } finally {
    cluster.disconnect()
    await close()
  }
})

test('a server ends with the process that started it, even if that is killed, and leaves nothing', async () => {
  const script = `
    import { createJiti } from 'jiti'
    const { startRedis } = await createJiti(${JSON.stringify(import.meta.dirname)}).import('./redis.ts')
    process.stdin.on('end', () => process.exit()).resume()
    console.log(JSON.stringify(await startRedis()))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  const { url } = z.object({ url: z.string() }).parse(JSON.parse(String(line)))
  const folder = await folderOf(url)
  expect(existsSync(folder)).toBe(true)
  child.kill('SIGKILL')
  await vi.waitFor(
    () => {
      expect(existsSync(folder)).toBe(false)
    },
    { timeout: 10_000 },
  )
  await expect(
    new Redis(url, { lazyConnect: true, retryStrategy: null }).on('error', () => {}).connect(),
  ).rejects.toThrow()
})
