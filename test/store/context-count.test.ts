// The count of contexts on the embedded store, over more contexts than are looked at in one turn of the event loop.
import { expect, test } from 'vitest'
import { ContextReader, type ContextReaderParts } from '../../src/store/lmdb/context-reader.ts'
import { Memory } from '../../src/store/lmdb/index/memory.ts'

test('a count of many contexts is made in pieces', async () => {
  const memory = new Memory()
  const facts = { version: 1, due: null, endedAt: null, parent: null, owner: null, firstRow: 0, nextRow: 0, large: [] }
  for (let id = 1; id <= 50_000; id += 1)
    memory.put(id, {
      ...facts,
      indexKeys: [
        'all',
        ...(id <= 20_000 ? ['low'] : []),
        ...(id % 5 === 0 ? ['fifth'] : []),
        ...(id > 30_000 ? ['high'] : []),
      ],
    })
  const reader = new ContextReader({ memory } as Pick<ContextReaderParts, 'memory'> as ContextReaderParts)
  let turns = 0
  const tick = setInterval(() => (turns += 1), 0)
  expect(await reader.count(['all'])).toBe(50_000)
  expect(await reader.count(['all', 'low'])).toBe(20_000)
  expect(await reader.count(['fifth', 'low'])).toBe(4000)
  expect(await reader.count(['fifth', 'all'])).toBe(10_000)
  expect(await reader.count(['low', 'high'])).toBe(0)
  clearInterval(tick)
  expect(turns).toBeGreaterThan(0)
})
