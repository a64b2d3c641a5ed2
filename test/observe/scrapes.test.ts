// Many scrapes at once: they cost what one does.
import { expect, test } from 'vitest'
import { ServerMetrics } from '../../src/observe/metrics.ts'

test('scrapes at once share one, and a later one is new', async () => {
  const metrics = new ServerMetrics({ store: 'embedded', version: '1', countContexts: () => Promise.resolve([]) })
  const texts = await Promise.all(Array.from({ length: 100 }, () => metrics.exposition()))
  expect(new Set(texts).size).toBe(1)
  metrics.conflict()
  const { text } = await metrics.exposition()
  expect(text).toContain('actorflux_commit_conflicts_total 1\n')
})
