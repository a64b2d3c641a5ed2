// Lists and counts over HTTP, in both formats.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { xmlSchema } from '../../src/http/docs/xsd.ts'
import { decodeXml } from '../../src/http/formats/xml/decode.ts'
import { openLive, type Live } from './live.ts'

const waiting = { tags: ['${tag}'], input: [{ name: 'tag' }], states: [{ name: 'open', waiting: true }] }
const xsd = xmlSchema()

let live: Live
const ids: number[] = []
beforeAll(async () => {
  live = await openLive(
    {},
    {
      'p/Waits.flux': {
        ...waiting,
        states: [{ name: 'open', waiting: true, transitions: [{ event: 'go', to: 'open' }] }],
      },
      'p/Fails.flux': { states: [{ name: 'act', action: { type: 'script', script: "throw new RangeError('no')" } }] },
    },
  )
  for (const fluxName of ['Waits', 'Fails', 'Waits', 'Fails', 'Waits']) {
    const { json } = await live.call('POST', '/flux-api/p/execute', { body: { fluxName, input: {} } })
    ids.push(Number(Object(json).contextId))
  }
  for (const contextId of [ids[1], ids[3]])
    await live.call('GET', `/flux-api/context/wait?contextId=${contextId}&status=FAILED`)
})
afterAll(() => live.close())

/** The answer in JSON, of which that in XML is known to say the same, as the schema allows. */
async function answerOf(path: string): Promise<{ readonly json: unknown; readonly next: string | null }> {
  const [json, xml] = [await live.call('GET', path), await live.call('GET', path, { accept: 'application/xml' })]
  expect([json.status, xml.status], json.text).toEqual([200, 200])
  expect(decodeXml(xml.text, { maxDepth: 64, maxValues: 100_000 })).toEqual(json.json)
  const { errors } = await validateXML({ xml: xml.text, schema: xsd })
  expect(errors).toEqual([])
  return { json: json.json, next: /<([^>]*)>; rel="next"/.exec(json.headers.get('link') ?? '')?.[1] ?? null }
}

const idsIn = (list: unknown): number[] => (Array.isArray(list) ? list.map((each) => Number(Object(each).id)) : [])

test('a list goes down page by page', async () => {
  const found: number[] = []
  for (let path: string | null = '/flux-api/contexts?status=all&order=desc&limit=2'; path !== null;) {
    const { json, next } = await answerOf(path)
    found.push(...idsIn(json))
    path = next
  }
  expect(found).toEqual(ids.toReversed())
})

test('a summary has type and message of an error, and no data', async () => {
  const { json } = await answerOf('/flux-api/contexts?status=FAILED&errorType=RangeError&view=summary')
  expect(idsIn(json)).toEqual([ids[1], ids[3]])
  const [summary] = Array.isArray(json) ? json : []
  expect(summary).toMatchObject({ fluxName: 'Fails', status: 'FAILED', error: { type: 'RangeError', message: 'no' } })
  for (const name of ['input', 'output', 'stateContexts', 'executionHistory', 'pending'])
    expect(Object.keys(Object(summary))).not.toContain(name)
  expect(Object.keys(Object(summary).error).sort()).toEqual(['message', 'type'])
})

test('without a status, a list of errors or ends has none that have ended', async () => {
  expect((await answerOf('/flux-api/contexts?errorType=RangeError')).json).toEqual([])
  expect((await answerOf('/flux-api/contexts?endedAfter=0')).json).toEqual([])
  expect(idsIn((await answerOf('/flux-api/contexts?endedAfter=0&status=all')).json)).toEqual([ids[1], ids[3]])
})

test('counts are by status, state or service', async () => {
  expect((await answerOf('/flux-api/contexts/count')).json).toEqual({
    total: 5,
    by: 'status',
    counts: { FAILED: 2, WAITING: 3 },
  })
  expect((await answerOf('/flux-api/contexts/count?by=currentState')).json).toEqual({
    total: 3,
    by: 'currentState',
    counts: { open: 3 },
  })
  expect((await answerOf('/flux-api/contexts/count?by=fluxName&status=all')).json).toEqual({
    total: 5,
    by: 'fluxName',
    counts: { 'p/Fails': 2, 'p/Waits': 3 },
  })
  expect((await answerOf('/flux-api/contexts/count?startedBefore=2020-01-01')).json).toEqual({
    total: 0,
    by: 'status',
    counts: {},
  })
})
