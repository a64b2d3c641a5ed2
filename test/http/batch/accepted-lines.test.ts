// Lines over real sockets, on both stores: contexts that are named by their keys keep the order of their lines, and an
// event for many is answered by 202, while those behind it wait.
import { describe, expect, inject, test } from 'vitest'
import { openLive, type Live } from '../live.ts'
import { storesOf } from '../../support/effort.ts'

/** Takes its events in one order only. */
const SERVICES = {
  'p/Steps.flux': {
    states: [0, 1, 2].map((n) => ({
      name: `s${n}`,
      waiting: true,
      transitions: [{ to: `s${(n + 1) % 3}`, event: `go${n}` }],
    })),
  },
}

interface Line {
  readonly n?: number
  readonly status?: number
  readonly contextId?: number
  readonly eventId?: string
  readonly transitions?: { readonly contextId: number; readonly state: string }[]
  readonly problem?: { readonly status: number }
  readonly done?: boolean
  readonly ok?: number
}

let live: Live

async function send(path: string, lines: readonly object[]): Promise<Line[]> {
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const { text } = await live.call('POST', path, { body, type: 'application/x-ndjson' })
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

describe.each(storesOf(['embedded', 'Redis']))('on the %s store', (kind) => {
  const open = async () => {
    const store = kind === 'Redis' ? { ACTORFLUX_REDIS_URL: inject('redisUrl'), ACTORFLUX_PARTITIONS: '3' } : {}
    live = await openLive(
      {
        ...store,
        ACTORFLUX_NAMESPACE: `n${Math.random()}`.slice(0, 12).replace('.', ''),
        ACTORFLUX_BROADCAST_ASYNC: '5',
      },
      SERVICES,
    )
  }

  test('lines that name a context by its key are in order, and so are starts', async () => {
    await open()
    const keys = ['a', ' a', 'A', 'ä']
    const starts = await send(
      '/flux-api/p/executes',
      keys.flatMap((key) => [
        { fluxName: 'Steps', key },
        { fluxName: 'Steps', key, existing: 'use' },
        { fluxName: 'Steps', key },
      ]),
    )
    expect(starts.slice(0, -1).map(({ status }) => status)).toEqual(keys.flatMap(() => [200, 200, 409]))
    const ids = keys.map((_, at) => starts[3 * at]?.contextId ?? 0)
    expect(new Set(ids).size).toBe(keys.length)
    const events = Array.from({ length: 150 }, (_, n) =>
      keys.map((key) => ({ event: `go${n % 3}`, key, fluxName: 'Steps' })),
    ).flat()
    const answers = await send('/flux-api/events', [...events, { event: 'go0', key: 'none', fluxName: 'Steps' }])
    expect(answers.at(-1)).toMatchObject({ done: true, ok: events.length, failed: 1 })
    expect(answers.at(-2)).toMatchObject({ status: 404 })
    expect(answers.slice(0, keys.length).map(({ transitions }) => transitions?.[0]?.contextId)).toEqual(ids)
    for (const key of keys) {
      const { json } = await live.call('GET', `/flux-api/context?fluxName=Steps&key=${encodeURIComponent(key)}`)
      expect(json).toMatchObject({ key, currentState: 's0', version: 151 })
    }
  })

  test('an event for many is answered by 202, and runs before the lines behind it', async () => {
    await open()
    const starts = await send(
      '/flux-api/p/executes',
      Array.from({ length: 300 }, () => ({ fluxName: 'Steps' })),
    )
    const ids = starts.slice(0, -1).map(({ contextId }) => contextId)
    const [first, last] = [ids[0], ids.at(-1)]
    const lines = await send('/flux-api/events', [
      ...[0, 1, 2].map((n) => ({ event: `go${n}`, contextId: last })),
      { event: 'go0', eventId: 'many' },
      { event: 'go1', contextId: last },
      { event: 'go2', contextId: last },
      { event: 'go1', contextId: first },
      { event: 'go0', eventId: 'many' },
    ])
    expect(lines.map(({ status, ok }) => status ?? ok)).toEqual([200, 200, 200, 202, 200, 200, 200, 202, 8])
    expect(lines[3]).toEqual({ n: 3, status: 202, eventId: 'many' })
    expect(lines[7]).toEqual({ n: 7, status: 202, eventId: 'many', replayed: true })
    const receipt = await live.call('GET', '/flux-api/event?eventId=many')
    expect(receipt.json).toMatchObject({ done: true, repeated: 1, counts: { moved: 300 } })
  })
})
