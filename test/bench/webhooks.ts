// Webhooks that verify their sender: deliveries that prove it, deliveries that don't, and a flood of these.
import { randomUUID } from 'node:crypto'
import { sampleOf } from '../../src/cli/webhook-samples.ts'
import { githubScheme } from '../../src/model/webhook-schemes/hmac.ts'
import { event, run, spreadContexts, type Case } from './cases.ts'
import { UNIQUE, type Call } from './client.ts'
import { pace } from './load.ts'
import { SECRET } from './services.ts'

/** Forged requests in a second. */
const FLOOD = 2000
/** Of a whole run; else as long as a round. */
const FLOOD_SECONDS = 60
/** Events of other callers in a second, and their connections: few enough that the server has time for both. */
const OTHERS = { perSecond: 500, connections: 16 }

/** What a flood of forged requests left behind. */
export interface FloodTraces {
  readonly seconds: number
  readonly contexts: number
  /** Bytes, or keys of Redis. */
  readonly storeGrowth: number
  readonly logLines: number
}

export const OTHERS_ALONE = `${OTHERS.perSecond} events a second`
export const OTHERS_BESIDE = `the same beside ${FLOOD} forged a second`

export const WEBHOOKS: { readonly [name: string]: Case } = {
  async webhook(subject) {
    return [
      await run('webhook, start to done', subject, (n) => ({ method: 'GET', path: `/api/hook/${n}` })),
      await run('webhook with a function', { ...subject, seconds: subject.seconds / 2 }, (n) => ({
        method: 'GET',
        path: `/api/double/${n}`,
      })),
      await run('webhook, forged and refused', subject, [push('/api/forged', 'guessed')], { status: 401 }),
      // Each is a new delivery, so none is a repeat.
      await run('webhook, verified and accepted', subject, [push('/api/push', SECRET)], { status: 202 }),
    ]
  },

  /** First alone, to see what it leaves behind, and then beside other callers. */
  async flood(subject) {
    const { server, whole, connections, storeSize } = subject
    const seconds = whole ? FLOOD_SECONDS : Math.max(3, subject.seconds)
    const { url } = server
    const ids = await spreadContexts(subject)
    const ticks = { url, calls: ids.map((id) => event('tick', id)), seconds, ...OTHERS }
    const forged = [push('/api/forged', 'guessed')]
    const flood = { url, connections, calls: forged, status: 401, seconds, perSecond: FLOOD }
    // The first of all makes the server load what it needs.
    await pace({ ...flood, seconds: 1 })
    await pace({ ...ticks, seconds: 1 })
    const [size, before] = [await storeSize(), server.output().length]
    const alone = await pace(flood)
    const logLines = server.output().slice(before).split('\n').length - 1
    const storeGrowth = (await storeSize()) - size
    const traces = { seconds, contexts: await countForged(url), storeGrowth, logLines }
    const without = await pace(ticks)
    const [beside] = await Promise.all([pace(ticks), pace(flood)])
    return [
      { name: `${FLOOD} forged a second`, connections, against: connections, ...alone, traces },
      { name: OTHERS_ALONE, connections: OTHERS.connections, against: connections, ...without },
      { name: OTHERS_BESIDE, connections: OTHERS.connections, against: connections, ...beside },
    ]
  },
}

/** A push of GitHub, signed with that secret. */
function push(path: string, secret: string): Call {
  const { body, headers, contentType } = sampleOf('github', Date.now())
  const request = { method: 'POST', target: path, host: null, headers: [], body: Buffer.from(body) }
  const env = { nowMs: Date.now(), publicUrl: null }
  const signed = githubScheme.sign({ secrets: [secret], toleranceS: 0 }, request, env)
  const delivery = ['X-GitHub-Delivery', `${randomUUID()}-${UNIQUE}`] as const
  const others = headers.filter(([name]) => name !== delivery[0])
  const all = Object.fromEntries([['Content-Type', contentType], ...others, delivery, ...signed])
  return { method: 'POST', path, body: JSON.parse(body), headers: all }
}

/** Contexts of the service that gets forged requests only. */
async function countForged(url: string): Promise<number> {
  const response = await fetch(`${url}/flux-api/contexts?fluxName=Forged`)
  const contexts: unknown = await response.json()
  if (!Array.isArray(contexts)) throw new Error(`listing gave ${response.status}`)
  return contexts.length
}
