import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { startRedis } from './support/redis.ts'
import { cleanUp, placeFor, startServer } from './support/server.ts'
import { measure } from './bench/load.ts'
import { SERVICES } from './bench/services.ts'
const cpu = (pid: number) => { const f = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' '); return (Number(f[11]) + Number(f[12])) * 10_000 }
const mainCpu = (pid: number) => { const f = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8').split(') ')[1]!.split(' '); return (Number(f[11]) + Number(f[12])) * 10_000 }
const store = process.argv[2] ?? 'everysec'
const redis = store === 'embedded' ? null : await startRedis({ appendfsync: store as 'always' })
const place = await placeFor(SERVICES)
const server = await startServer({ program: resolve(process.argv[3] ?? 'dist/cli/actorflux.js'), ...place, env: redis ? { ACTORFLUX_REDIS_URL: redis.url } : {} })
const ids: number[] = []
await measure({ url: server.url, connections: 64, call: (n) => ({ method: 'POST', path: '/flux-api/bench/execute', body: { fluxName: 'Spread', input: { nr: n } } }), onAnswer: (b) => { ids.push(JSON.parse(b).contextId) }, until: { requests: 10_000 } })
const call = (n: number) => ({ method: 'POST' as const, path: `/flux-api/event?contextId=${ids[n % ids.length]}`, body: { event: 'tick' } })
await measure({ url: server.url, connections: 64, call, until: { requests: 20_000 } })
for (let i = 0; i < 2; i++) {
  const [a, m, b] = [cpu(server.pid), mainCpu(server.pid), redis ? cpu(redis.pid) : 0]
  const N = 40_000
  await measure({ url: server.url, connections: 64, call, until: { requests: N } })
  console.log(`${store}: server ${((cpu(server.pid) - a) / N).toFixed(1)} µs (main thread ${((mainCpu(server.pid) - m) / N).toFixed(1)}), redis ${redis ? ((cpu(redis.pid) - b) / N).toFixed(1) : '-'} µs per event`)
}
await server.kill('SIGTERM'); await redis?.close(); await cleanUp()
