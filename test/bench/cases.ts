// What is measured. Each case speaks to a server over HTTP alone, and gives rows of the table.
import { sleep, type Server } from '../support/server.ts'
import { measure, percentiles, type Call, type Measured } from './load.ts'

export interface Sizes {
  readonly connections: number
  /** Of each measurement. */
  readonly seconds: number
  /** Waiting contexts among which pages are listed. */
  readonly contexts: number
}

export interface Row extends Measured {
  readonly name: string
  readonly connections: number
  /** Connections of the handler that it is held against; its own if left out. */
  readonly against?: number
}

/** A server under measurement. */
export interface Subject extends Sizes {
  readonly server: Server
}

type Case = (subject: Subject) => Promise<Row[]>

/** Contexts that take events. */
const SPREAD = 10_000
const STEPS = 5000
const BROADCASTS = 8

const execute = (fluxName: string, nr: number, tags: readonly string[] = []): Call =>
  ({ method: 'POST', path: '/flux-api/bench/execute', body: { fluxName, input: { nr }, tags } })
const event = (name: string, contextId?: number): Call =>
  ({ method: 'POST', path: contextId === undefined ? '/flux-api/event' : `/flux-api/event?contextId=${contextId}`, body: { event: name } })

/** Runs for a while, after warming up. */
async function run(name: string, { server, seconds, connections }: Subject, call: (n: number) => Call): Promise<Row> {
  const warmUp = Math.min(1.5, seconds / 2)
  return { name, connections, ...await measure({ url: server.url, connections, call, until: { warmUp, seconds } }) }
}

/** Starts so many contexts; gives their ids. */
async function start({ server, connections }: Subject, requests: number, call: (n: number) => Call): Promise<number[]> {
  const ids: number[] = []
  const onAnswer = (body: string) => { ids.push(JSON.parse(body).contextId) }
  await measure({ url: server.url, connections: Math.min(connections, requests), call, onAnswer, until: { requests } })
  return ids
}

const spread = new WeakMap<Server, Promise<number[]>>()
function spreadContexts(subject: Subject): Promise<number[]> {
  const ids = spread.get(subject.server) ?? start(subject, SPREAD, (n) => execute('Spread', n))
  spread.set(subject.server, ids)
  return ids
}

/** Each group has a server of its own. */
export const CALLS: { readonly [name: string]: Case } = {
  async event(subject) {
    const ids = await spreadContexts(subject)
    return [await run(`event by id, ${ids.length} contexts`, subject, (n) => event('tick', ids[n % ids.length]))]
  },

  async hot(subject) {
    const [id] = await start(subject, 1, (n) => execute('Hot', n))
    return [await run('event by id, one context', subject, () => event('heat', id))]
  },

  start: async (subject) => [await run('start', subject, (n) => execute('Common', n))],

  done: async (subject) => [await run('start to done, three map states', subject, (n) => execute('Mapping', n))],

  /** Times are those that the contexts themselves tell, in whole milliseconds. */
  async step(subject) {
    await start(subject, STEPS / 5, (n) => execute('Calling', n))
    const begun = performance.now()
    const ids = await start(subject, STEPS, (n) => execute('Calling', n))
    while ((await list(subject, 'fluxName=Calling&limit=1')).length > 0) await sleep(5)
    const perSecond = STEPS / (performance.now() - begun) * 1000
    const times: number[] = []
    for (let after = Math.min(...ids) - 1; times.length < STEPS;) {
      const page = await list(subject, `fluxName=Calling&status=COMPLETED&limit=1000&after=${after}`)
      if (page.length === 0) throw new Error(`only ${times.length} of ${STEPS} contexts completed`)
      for (const { startedAt, endedAt } of page) times.push(endedAt - startedAt)
      after = page.at(-1)?.id ?? 0
    }
    return [{ name: 'start to done, one function', connections: subject.connections, perSecond, ...percentiles(times) }]
  },

  /** In contexts moved each second; times are those of a whole broadcast. */
  async broadcast(subject) {
    await spreadContexts(subject)
    let moved = 0
    const onAnswer = (body: string) => { moved += JSON.parse(body).transitions.length }
    const once = (requests: number) => measure({ url: subject.server.url, connections: 1, call: () => event('tick'), onAnswer, until: { requests } })
    await once(1)
    moved = 0
    const { perSecond, ...times } = await once(BROADCASTS)
    return [{ name: `broadcast to ${moved / BROADCASTS}`, connections: 1, against: subject.connections, perSecond: perSecond * moved / BROADCASTS, ...times }]
  },
}

export const LISTS: { readonly [name: string]: Case } = {
  async list(subject) {
    const { contexts } = subject
    const deep = Math.floor(contexts / 30 * 0.9)
    const queries: readonly (readonly [name: string, query: (n: number) => string])[] = [
      ['first pages', (n) => `page=${n % 10}`],
      ['deep pages', (n) => `page=${deep + n % 100}`],
      ['by fluxName (1 in 10)', (n) => `fluxName=Rare&page=${n % 10}`],
      ['by fluxName, deep', (n) => `fluxName=Rare&page=${Math.floor(deep / 10) + n % 10}`],
      ['by tag (1 in 1,000)', (n) => `tag=t${n % 1000}`],
      ['by fluxName and tag', (n) => `fluxName=Rare&tag=even&page=${n % 10}`],
    ]
    const rows: Row[] = []
    for (const connections of [1, subject.connections]) {
      const few = { ...subject, connections, seconds: subject.seconds / 3 }
      for (const [name, query] of queries) rows.push(await run(`list ${name}`, few, (n) => ({ method: 'GET', path: `/flux-api/contexts?limit=30&${query(n)}` })))
    }
    return rows
  },
}

/** Fills a server with contexts that wait, one in ten of another service, each with a tag of 1,000, every other one with a second. */
export async function populate(subject: Subject): Promise<void> {
  await start(subject, subject.contexts, (n) => execute(n % 10 === 0 ? 'Rare' : 'Common', n, [`t${n % 1000}`, ...(n % 20 < 10 ? ['even'] : [])]))
}

async function list({ server }: Subject, query: string): Promise<{ id: number; startedAt: number; endedAt: number }[]> {
  const response = await fetch(`${server.url}/flux-api/contexts?${query}`)
  if (response.status !== 200) throw new Error(`listing gave ${response.status}`)
  return JSON.parse(await response.text())
}
