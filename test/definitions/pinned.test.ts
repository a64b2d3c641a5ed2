// Definitions and records of earlier versions load, are shown, and go on.
import { describe, expect, test } from 'vitest'
import { SimulatedClock } from '../support/simulated-clock.ts'
import { CONTEXT_STATUSES } from '../../src/model/context.ts'
import { openServer } from '../recorded/server.ts'
import { readCorpus, readDataFolder, readExpected, readVersions } from './pinned/corpus.ts'
import { examine } from './pinned/examine.ts'
import { copiedFolder, filledFolder } from './pinned/fill.ts'

/** What the language has, of any version. */
const KEYS = `
  triggers tags startState input output webhooks secured allowExtraProperties states name displayName comment waiting action
  transitions to event wait lines comments type from expression evaluate array defaultValue required allowNull reference
  gloopProperties min max minLength maxLength choices allowOtherValues urlPath httpMethods enabled timeout className
  methodName inputs outputs retry isolate maxAttempts delay factor maxDelay script
`
  .trim()
  .split(/\s+/)
const VALUES = `
  map invokeCode invokeFlux script set $else $exception $fluxEvent $fluxTerminate $request $response $fluxException string
  character boolean byte short integer long float double bigInteger bigDecimal date byte[] object model any
`
  .trim()
  .split(/\s+/)

/** Milliseconds: it starts processes for scripts. */
const TIMEOUT_MS = 90_000

const versions = await readVersions()

test('version 0.1 is pinned', () => {
  expect(versions).toContain('0.1')
})

describe.each(versions)('what version %s wrote', async (version) => {
  const corpus = await readCorpus(version)
  const expected = await readExpected(version)

  test('is more than one service could show', () => {
    const texts = corpus.definitions.map(({ text }) => text).join('\n')
    expect(KEYS.filter((key) => !texts.includes(`"${key}":`))).toEqual([])
    expect(VALUES.filter((value) => !texts.includes(`"${value}"`))).toEqual([])
    expect(new Set(corpus.records.map(({ phase }) => phase.split(':')[0]))).toEqual(new Set(CONTEXT_STATUSES))
  })

  test('is shown, and goes on, as it did', { timeout: TIMEOUT_MS }, async () => {
    const found = await examine(corpus, await filledFolder(corpus))
    expect(Object.keys(found)).toEqual(Object.keys(expected))
    for (const [part, list] of Object.entries(expected)) {
      expect(found[part]).toHaveLength(list.length)
      for (const [index, one] of list.entries())
        expect(found[part]?.[index], `${part}, ${corpus.records[index]?.phase}`).toEqual(one)
    }
  })

  test('is found in its data folder', async () => {
    const folder = await copiedFolder(await readDataFolder(version))
    const server = await openServer(corpus.code, { folder, clock: new SimulatedClock(corpus.now) })
    try {
      const ids = await Promise.all(
        CONTEXT_STATUSES.map(async (status) =>
          (await server.api.listContexts({ status, limit: 1000 })).map(({ id }) => id),
        ),
      )
      expect(ids.flat().toSorted((a, b) => a - b)).toEqual(corpus.records.map(({ context }) => context.id))
      for (const { context, phase } of corpus.records) {
        const view = await server.api.getContext({ contextId: context.id })
        expect(view.definition, phase).toMatch(/^[0-9a-f]{64}$/)
        expect(
          corpus.definitions.map(({ hash }) => hash),
          phase,
        ).toContain(view.definition)
      }
    } finally {
      await server.close()
    }
  })
})
