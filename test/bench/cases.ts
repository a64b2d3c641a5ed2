// What is measured. Each case speaks to a server over HTTP alone, and gives rows of the table.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from '../support/server.ts'
import type { Call } from './client.ts'
import { ownMemory } from './footprint.ts'
import { holdRequests } from './hold.ts'
import { measure, percentiles, sendAll, type Measured } from './load.ts'
import { startReaders } from './readers.ts'
import { stream, type Streamed } from './stream.ts'
import type { FloodTraces } from './webhooks.ts'

export interface Sizes {
  readonly connections: number
  /** Of each round. */
  readonly seconds: number
  /** Of each measurement; their median counts. */
  readonly rounds: number
  /** Whether what has an end of its own is measured up to it, and not for so many seconds. */
  readonly whole: boolean
  /** Waiting contexts among which pages are listed. */
  readonly contexts: number
}

export interface Row extends Measured {
  readonly name: string
  readonly connections: number
  /** Connections of the handler that it is held against; its own if left out. */
  readonly against?: number
  /** Of a stream of lines. */
  readonly growth?: Streamed['growth']
  readonly memory?: Streamed['memory']
  /** Of a flood of forged requests. */
  readonly traces?: FloodTraces
}

/** A server under measurement. */
export interface Subject extends Sizes {
  readonly server: Server
}

export interface CaseSubject extends Subject {
  /** Bytes of the embedded store's files, or keys of Redis. */
  readonly storeSize: () => Promise<number>
}

export type Case = (subject: CaseSubject) => Promise<Row[]>

/** Contexts that take events. */
const SPREAD = 10_000
const STEPS = 5000
const BROADCASTS = 8
/** Open streams of moves. */
const READERS = 200
/** Events of one request, a line each. */
const LINES = 1_000_000

const execute = (fluxName: string, nr: number, tags: readonly string[] = []): Call =>
  executeWith(fluxName, { nr }, tags)
const executeWith = (fluxName: string, input: object, tags: readonly string[] = []): Call => ({
  method: 'POST',
  path: '/flux-api/bench/execute',
  body: { fluxName, input, tags },
})
export const event = (name: string, contextId?: number): Call => ({
  method: 'POST',
  path: contextId === undefined ? '/flux-api/event' : `/flux-api/event?contextId=${contextId}`,
  body: { event: name },
})

/** Calls that are sent again and again; no case tells more of them apart. */
const CALLS_IN_TURN = 10_000

/** Runs for a while, after warming up. */
export async function run(
  name: string,
  { server, seconds, rounds, connections }: Subject,
  calls: readonly Call[] | ((n: number) => Call),
  expected: { readonly status?: number } = {},
): Promise<Row> {
  const list = typeof calls === 'function' ? Array.from({ length: CALLS_IN_TURN }, (_, n) => calls(n)) : calls
  const { url, pid } = server
  const warmUpSeconds = Math.min(1.5, seconds / 2)
  return {
    name,
    connections,
    ...(await measure({ url, pid, connections, calls: list, warmUpSeconds, seconds, rounds, ...expected })),
  }
}

/** Starts so many contexts; gives their ids. */
async function start({ server, connections }: Subject, requests: number, call: (n: number) => Call): Promise<number[]> {
  const ids: number[] = []
  const onAnswer = (body: string) => {
    ids.push(JSON.parse(body).contextId)
  }
  await sendAll({ url: server.url, connections: Math.min(connections, requests), requests, call, onAnswer })
  return ids
}

/** What was not sent by the measuring client. */
const timed = (perSecond: number, times: readonly number[]): Measured => {
  const { p50, p99 } = percentiles(times)
  return { perSecond, p50Ms: p50, p99Ms: p99, cpuUs: null }
}

const spread = new WeakMap<Server, Promise<number[]>>()
export function spreadContexts(subject: Subject): Promise<number[]> {
  const ids = spread.get(subject.server) ?? start(subject, SPREAD, (n) => execute('Spread', n))
  spread.set(subject.server, ids)
  return ids
}

/** Each group has a server of its own. */
export const CALLS: { readonly [name: string]: Case } = {
  async event(subject) {
    const ids = await spreadContexts(subject)
    const calls = ids.map((id) => event('tick', id))
    const name = `event by id, ${ids.length} contexts`
    return [
      await run(name, subject, calls),
      {
        ...(await run(name, { ...subject, connections: 1, seconds: subject.seconds / 3 }, calls)),
        against: subject.connections,
      },
    ]
  },

  /** Beside single calls in the same run. Times are those from the writing of a line to its answer. */
  async batch(subject) {
    const { server, seconds, whole } = subject
    const ids = await spreadContexts(subject)
    const single = (n: number) => event('tick', ids[n % ids.length])
    const line = (n: number) => ({ event: 'tick', contextId: ids[n % ids.length] })
    const { url, pid } = server
    await stream({ url, pid, line, most: SPREAD, seconds: 60 })
    const streamed = await stream({ url, pid, line, most: LINES, seconds: whole ? Infinity : seconds })
    return [
      await run('single events, to compare', subject, single),
      { name: `events by NDJSON, ${streamed.lines}`, connections: 1, against: subject.connections, ...streamed },
    ]
  },

  /** Each of the contexts that are moved is waited for. */
  async waits(subject) {
    const ids = await spreadContexts(subject)
    const calls = ids.map((id) => event('tick', id))
    const { pid, url } = subject.server
    const [without, before] = [await run('ticks, nobody waits', subject, calls), await ownMemory(pid)]
    const held = await holdRequests(
      url,
      ids.map((id) => `/flux-api/context/wait?contextId=${id}&state=done&timeout=300`),
    )
    const each = ((await ownMemory(pid)) - before) / ids.length
    try {
      const name = `ticks beside ${ids.length} held waits (${each.toFixed(1)} KB each)`
      return [without, await run(name, subject, calls)]
    } finally {
      held.release()
    }
  },

  /** Each stream gets every move. The processor time of the readers is not that of the server. */
  async streams(subject) {
    const ids = await spreadContexts(subject)
    const calls = ids.map((id) => event('tick', id))
    const without = await run('ticks, nobody reads', subject, calls)
    const readers = await startReaders(subject.server.url, READERS)
    try {
      await readers.taken()
      const row = await run('', subject, calls)
      const bytes = await readers.taken()
      return [without, { ...row, name: `ticks beside ${READERS} streams, ${(bytes / 1e6).toFixed(0)} MB read` }]
    } finally {
      readers.stop()
    }
  },

  async hot(subject) {
    const [id] = await start(subject, 1, (n) => execute('Hot', n))
    return [await run('event by id, one context', subject, [event('heat', id)])]
  },

  start: async (subject) => [await run('start', subject, (n) => execute('Common', n))],

  done: async (subject) => [await run('start to done, three map states', subject, (n) => execute('Mapping', n))],

  /** Times are those that the contexts themselves tell, in whole milliseconds. */
  async step(subject) {
    await start(subject, STEPS / 5, (n) => execute('Calling', n))
    const begun = performance.now()
    const ids = await start(subject, STEPS, (n) => execute('Calling', n))
    while ((await list(subject, 'fluxName=Calling&limit=1')).length > 0) await sleep(5)
    const perSecond = (STEPS / (performance.now() - begun)) * 1000
    const times: number[] = []
    for await (const { startedAt, endedAt } of completed(subject, 'Calling', Math.min(...ids) - 1))
      times.push(endedAt - startedAt)
    if (times.length !== STEPS) throw new Error(`${times.length} of ${STEPS} contexts completed`)
    return [{ name: 'start to done, one function', connections: subject.connections, ...timed(perSecond, times) }]
  },

  /** Contexts that are all due within one second; times are how late they were woken, by their own telling. */
  async due(subject) {
    const { contexts } = subject
    // They must all be there before the first of them is due.
    const first = Date.now() + contexts / 2 + 5000
    await start(subject, contexts, (n) => executeWith('Due', { due: first + Math.floor((n / contexts) * 1000) }))
    if (Date.now() > first) throw new Error('starting them took too long')
    while ((await list(subject, 'fluxName=Due&limit=1')).length > 0) await sleep(100)
    const late: number[] = []
    for await (const { endedAt, input } of completed(subject, 'Due', 0))
      late.push(endedAt - Number(input.gloopProperties[0]?.value))
    const early = late.filter((time) => time < 0).length
    if (late.length !== contexts || early > 0)
      throw new Error(`${late.length} of ${contexts} contexts were woken, ${early} of them early`)
    return [
      {
        name: `${contexts} due within one second`,
        connections: 1,
        against: subject.connections,
        ...timed(contexts / (1 + percentiles(late).p99 / 1000), late),
      },
    ]
  },

  /** In contexts moved each second; times are those of a whole broadcast. */
  async broadcast(subject) {
    await spreadContexts(subject)
    let moved = 0
    const onAnswer = (body: string) => {
      moved += JSON.parse(body).transitions.length
    }
    const once = (requests: number) =>
      sendAll({ url: subject.server.url, connections: 1, requests, call: () => event('tick'), onAnswer })
    await once(1)
    moved = 0
    const begun = performance.now()
    const times = await once(BROADCASTS)
    return [
      {
        name: `broadcast to ${moved / BROADCASTS}`,
        connections: 1,
        against: subject.connections,
        ...timed((moved / (performance.now() - begun)) * 1000, times),
      },
    ]
  },
}

export const LISTS: { readonly [name: string]: Case } = {
  async list(subject) {
    const { contexts } = subject
    const deep = Math.floor((contexts / 30) * 0.9)
    const queries: readonly (readonly [name: string, query: (n: number) => string])[] = [
      ['first pages', (n) => `page=${n % 10}`],
      ['deep pages', (n) => `page=${deep + (n % 100)}`],
      ['by fluxName (1 in 10)', (n) => `fluxName=Rare&page=${n % 10}`],
      ['by fluxName, deep', (n) => `fluxName=Rare&page=${Math.floor(deep / 10) + (n % 10)}`],
      ['by tag (1 in 1,000)', (n) => `tag=t${n % 1000}`],
      ['by fluxName and tag', (n) => `fluxName=Rare&tag=even&page=${n % 10}`],
      ['newest first', (n) => `order=desc&page=${n % 10}`],
      ['summaries, all statuses', (n) => `order=desc&status=all&view=summary&page=${n % 10}`],
      ['by service and state, newest first', (n) => `order=desc&fluxName=Rare&currentState=counting&page=${n % 10}`],
      ['started lately', () => `startedAfter=${Date.now() - 3_600_000}`],
      ['updated lately, newest first', () => `order=desc&updatedAfter=${Date.now() - 3_600_000}`],
      ['failed by type: none', () => 'status=FAILED&errorType=TypeError&order=desc'],
      ['due: none', () => `dueBefore=${Date.now()}`],
    ]
    const rows: Row[] = []
    for (const connections of [1, subject.connections]) {
      const few = { ...subject, connections, seconds: subject.seconds / 3 }
      for (const [name, query] of queries)
        rows.push(
          await run(`list ${name}`, few, (n) => ({ method: 'GET', path: `/flux-api/contexts?limit=30&${query(n)}` })),
        )
      for (const by of ['status', 'currentState', 'fluxName'])
        rows.push(
          await run(`count by ${by}`, few, () => ({ method: 'GET', path: `/flux-api/contexts/count?by=${by}` })),
        )
    }
    return rows
  },
}

/**
 * Fills a server with contexts that wait, one in ten of another service, each with a tag of 1,000, every other one with
 * a second.
 */
export async function populate(subject: Subject): Promise<void> {
  await start(subject, subject.contexts, (n) =>
    execute(n % 10 === 0 ? 'Rare' : 'Common', n, [`t${n % 1000}`, ...(n % 20 < 10 ? ['even'] : [])]),
  )
}

interface View {
  readonly id: number
  readonly startedAt: number
  readonly endedAt: number
  readonly input: { readonly gloopProperties: readonly { readonly value: unknown }[] }
}

/** All contexts of a service that completed, with ids above that one. */
async function* completed(subject: Subject, fluxName: string, above: number): AsyncGenerator<View> {
  for (let after = above; ;) {
    const page = await list(
      subject,
      `fluxName=${fluxName}&status=COMPLETED&limit=1000${after > 0 ? `&after=${after}` : ''}`,
    )
    if (page.length === 0) return
    yield* page
    after = page.at(-1)?.id ?? 0
  }
}

async function list({ server }: Subject, query: string): Promise<View[]> {
  const response = await fetch(`${server.url}/flux-api/contexts?${query}`)
  if (response.status !== 200) throw new Error(`listing gave ${response.status}`)
  return JSON.parse(await response.text())
}
