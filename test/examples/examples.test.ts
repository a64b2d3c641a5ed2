import { readFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkServices } from '../../src/main.ts'
import { isObject, type JsonObject } from '../../src/model/json/value.ts'
import { readSettings } from '../../src/settings.ts'
import { openSuite, type ScenarioResult } from '../../src/testing/scenario/suite.ts'
import { ACTORS, listExamples, PACKAGE, PROVIDERS } from './examples.ts'
import { openLive, type Live } from '../http/live.ts'
import { silent } from '../support/silent.ts'

const names = await listExamples(ACTORS)
const inFolders = await Promise.all(
  [ACTORS, ...PROVIDERS].map(async (folder) =>
    (await listExamples(folder)).map((fluxName) => [fluxName, folder] as const),
  ),
)
const all = inFolders.flat()

const read = async (fluxName: string, folder = ACTORS): Promise<JsonObject> =>
  JSON.parse(await readFile(`${join(folder, PACKAGE, ...fluxName.split('.'))}.flux`, 'utf8'))

const listOf = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : [])

test('all load without a fault and without a warning, and without a secret', async () => {
  const { services, report } = await checkServices(readSettings({ ACTORFLUX_ACTORS: ACTORS }), { log: silent, env: {} })
  expect(report).toEqual([])
  expect(services.filter((service) => service.package === PACKAGE).map(({ fluxName }) => fluxName)).toEqual(names)
})

test.each(PROVIDERS)('those of %s load beside them, and only miss their secrets', async (folder) => {
  const settings = readSettings({ ACTORFLUX_ACTORS: `${ACTORS}${delimiter}${folder}` })
  const { services, report } = await checkServices(settings, { log: silent, env: {} })
  const own = (await listExamples(folder)).length
  expect([services.length, report.length]).toEqual([names.length + own, own])
  expect(report.filter(({ reason }) => !reason.startsWith('there is no secret '))).toEqual([])
})

test('their scenarios go as they say, and take every transition', async () => {
  const suite = await openSuite({ folders: [ACTORS], within: null, filter: '' })
  const results: ScenarioResult[] = []
  for await (const result of suite.run()) results.push(result)
  suite.close()
  expect(results.filter(({ ok }) => !ok)).toEqual([])
  expect(new Set(results.map(({ service }) => service))).toEqual(new Set(names.map((name) => `${PACKAGE}/${name}`)))
  const never = suite.services.flatMap((flux) => suite.coverage.of(flux).transitions.never)
  expect(never).toEqual([])
})

describe.each(all)('%s', (fluxName, within) => {
  test('says what it shows, what to send and what to see', async () => {
    const { comment } = await read(fluxName, within)
    for (const word of ['Shows:', 'Send:', 'See:']) expect(comment).toContain(word)
  })

  test('draws from left to right, its states apart', async () => {
    const states = listOf((await read(fluxName, within))['states']).map(({ name, x, y }) => ({
      name,
      x: Number(x),
      y: Number(y),
    }))
    for (const { x, y } of states) expect([x, y].every(Number.isFinite)).toBe(true)
    const close = states.flatMap((one, index) =>
      states.slice(index + 1).filter((other) => Math.hypot(one.x - other.x, one.y - other.y) < 125),
    )
    expect(close).toEqual([])
    expect(states[0]?.x).toBe(Math.min(...states.map(({ x }) => x)))
  })
})

describe('on a server', () => {
  let server: Live
  beforeAll(async () => {
    server = await openLive({ ACTORFLUX_ACTORS: ACTORS }, {})
  })
  afterAll(() => server.close())

  // Webhooks have a test that calls them as their comments say.
  test.each(names.filter((name) => !/^webhooks\.(?!Deployment)/.test(name)))(
    'the first command in the comment of %s starts it',
    async (fluxName) => {
      const { comment } = await read(fluxName)
      const [, body = '', path = ''] = /curl --json '([^']*)' localhost:8080(\S+)/.exec(String(comment)) ?? []
      const answer = await fetch(server.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      expect(answer.status).toBe(200)
      const contextId = /"contextId":(\d+)/.exec(await answer.text())?.[1]
      const started = await fetch(`${server.url}/flux-api/context?contextId=${contextId}`)
      expect(await started.json()).toMatchObject({ fluxName, package: PACKAGE, error: null })
    },
  )
})
