// Events that came early, and a server that is killed by `kill -9` right after it has answered: none is lost, and none
// is taken twice.
import { afterEach, expect, inject, test } from 'vitest'
import type { EventAnswer } from '../../src/api/events.ts'
import { cleanUp, placeFor, startServer } from '../support/server.ts'

const CONTEXTS = 50
const SERVICES = {
  'p/Early.flux': {
    early: '1d',
    output: [{ name: 'seen', defaultValue: '' }],
    states: [
      { name: 'idle', waiting: true, transitions: [{ to: 'open', event: 'go' }] },
      {
        name: 'open',
        waiting: true,
        input: [{ name: 'n', type: 'integer' }],
        action: { type: 'map', lines: [{ type: 'set', expression: 'seen + n + ","', evaluate: true, to: ['seen'] }] },
        transitions: [{ to: 'open', event: 'add' }],
      },
    ],
  },
}

const add = (key: string, n: number) => ({
  event: 'add',
  key,
  input: { n },
  eventId: `${key}-${n}`,
  orStart: { fluxName: 'Early' },
})

afterEach(cleanUp)

test('are there after kill -9, in their order, and orStart has started one', async () => {
  const place = await placeFor(SERVICES)
  const options = { program: inject('program'), ...place }
  let server = await startServer(options)
  const send = async (body: object): Promise<EventAnswer> => {
    const response = await fetch(`${server.url}/flux-api/event`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(response.status).toBe(200)
    const answer: EventAnswer = JSON.parse(await response.text())
    return answer
  }
  const keys = Array.from({ length: CONTEXTS }, (_, nr) => `k${nr}`)
  const sendBoth = async (key: string) => [await send(add(key, 1)), await send(add(key, 2))]
  const answers = await Promise.all(keys.map(sendBoth))
  expect(answers.flat().flatMap(({ executions }) => executions)).toHaveLength(CONTEXTS)
  // Half of them take theirs in commits that are answered just before the end.
  const half = keys.slice(0, CONTEXTS / 2)
  await Promise.all(half.map((key) => send({ event: 'go', key, fluxName: 'Early' })))
  await server.kill('SIGKILL')
  server = await startServer(options)
  // Sent again, since the sender can't know: it is the same event.
  expect((await send(add('k49', 2))).pending).toHaveLength(1)
  await Promise.all(keys.slice(CONTEXTS / 2).map((key) => send({ event: 'go', key, fluxName: 'Early' })))
  for (const key of keys) {
    const response = await fetch(`${server.url}/flux-api/context?key=${key}&fluxName=Early`)
    expect(await response.json()).toMatchObject({ output: { gloopProperties: [{ value: '1,2,' }] } })
    const receipt = await fetch(`${server.url}/flux-api/event?eventId=${key}-2`)
    expect(await receipt.json()).toMatchObject({ counts: { moved: 1, pending: 0, expired: 0 } })
  }
}, 60_000)
