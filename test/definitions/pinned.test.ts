// What versions of one format wrote (definitions, records, the embedded store's file, a Redis namespace) is read by all
// that follow.
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { describe, expect, inject, test } from 'vitest'
import { CONTEXT_STATUSES } from '../../src/model/context.ts'
import { FORMAT } from '../../src/model/format.ts'
import { ROW_SPACES } from '../../src/model/rows.ts'
import { openServer } from '../recorded/server.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { readCommands, readCorpus, readDataFolder, readExpected, readVersions } from './pinned/corpus.ts'
import { examine } from './pinned/examine.ts'
import { copiedFolder, filledFolder, openData } from './pinned/fill.ts'
import { openNamespace, replay } from './pinned/redis.ts'
import { definitionIn } from '../support/stores.ts'

/** What the language has, of any version. */
const KEYS = `
  key keyReuse early unlessMoved onEnd url secret internal
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

test('version 0.3 is pinned, the first of this format', () => {
  expect(versions).toContain('0.3')
})

describe.each(versions)('what version %s wrote', async (version) => {
  const corpus = await readCorpus(version)
  const expected = await readExpected(version)

  test('is more than one service could show', () => {
    const texts = corpus.definitions.map(({ text }) => text).join('\n')
    expect(KEYS.filter((key) => !texts.includes(`"${key}":`))).toEqual([])
    expect(VALUES.filter((value) => !texts.includes(`"${value}"`))).toEqual([])
    expect(new Set(corpus.records.map(({ phase }) => phase.split(':')[0]))).toEqual(new Set(CONTEXT_STATUSES))
    for (const { text } of corpus.definitions) expect(text.startsWith(`{"format":${FORMAT},`)).toBe(true)
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
      const hashes = corpus.definitions.map(({ hash }) => hash)
      for (const { context, phase } of corpus.records)
        expect(hashes, phase).toContain((await server.api.getContext({ contextId: context.id })).definition)
    } finally {
      await server.close()
    }
  })

  test('is found in its Redis namespace, the same as in the data folder', async () => {
    const folder = await copiedFolder(await readDataFolder(version))
    const data = await openData(folder, corpus)
    const [url, namespace] = [inject('redisUrl'), `test-${randomUUID()}`]
    await replay(url, await readCommands(version), namespace)
    const store = await openNamespace(url, namespace)
    try {
      for (const { context, log } of corpus.records) {
        const { id } = context
        expect(await store.load({ id })).toEqual(context)
        expect(await store.log({ id, limit: 1000 })).toEqual(log)
      }
      for (const { hash, text } of corpus.definitions)
        for (const each of [store, data]) expect(await definitionIn(each, hash)).toBe(text)
      const counts = await Promise.all(ROW_SPACES.map((space) => data.countRows({ space })))
      expect(counts.filter((count) => count > 0).length).toBeGreaterThan(4)
      expect(await Promise.all(ROW_SPACES.map((space) => store.countRows({ space })))).toEqual(counts)
      expect(await store.highestId()).toBe(await data.highestId())
    } finally {
      await Promise.all([store.close(), data.close()])
      await rm(folder, { recursive: true })
    }
  })
})
