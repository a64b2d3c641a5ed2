// The cache of contexts: bounded by their sizes, the least used go first, and no single one drives out all others.
import { expect, test } from 'vitest'
import { ContextCache } from '../../src/engine/contexts/context-loader.ts'
import { compiled, Hand, TERMINATE } from '../support/turns.ts'

const flux = compiled({ states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'go' }] }] })
const hand = new Hand()
const started = () => hand.start(flux).context

/** Bytes of memory for a character, and characters that a record costs besides its texts, as documented there. */
const [WORST, OVERHEAD] = [24, 128]

test('a context is known in the incarnation in which it was kept, and until it is forgotten', () => {
  const cache = new ContextCache(1024 * 1024)
  const context = started()
  const { id } = context.record
  cache.put(context, { a: 'x' }, 7)
  expect(cache.get(id, 7)).toMatchObject({ record: context.record, flux, texts: { a: 'x' } })
  expect(cache.get(id, 8)).toBeUndefined()
  cache.delete(id)
  expect(cache.get(id, 7)).toBeUndefined()
})

test('one that has ended is not kept, nor what was kept of it', () => {
  const cache = new ContextCache(1024 * 1024)
  const context = started()
  const { id } = context.record
  cache.put(context, {}, 0)
  cache.put(hand.turn(id, [TERMINATE]).context, {}, 0)
  expect(cache.get(id, 0)).toBeUndefined()
})

test('its texts may have a quarter of the memory, what a record costs besides included, however large that is', () => {
  const SUM = 8 * 1024 * 1024
  const cache = new ContextCache(SUM * WORST)
  const [fits, large] = [started(), started()]
  const most = SUM / 4 - OVERHEAD
  cache.put(fits, { a: 'x'.repeat(most - 10), b: 'x'.repeat(10) }, 0)
  cache.put(large, { a: 'x'.repeat(most - 9), b: 'x'.repeat(10) }, 0)
  expect(cache.get(fits.record.id, 0)).toBeDefined()
  expect(cache.get(large.record.id, 0)).toBeUndefined()
})

test('when there is too much, those that came to be known longest ago go, a tenth of all', () => {
  const COUNT = 100
  const size = 10 * OVERHEAD
  const cache = new ContextCache(COUNT * size * WORST)
  const texts = { a: 'x'.repeat(size - OVERHEAD) }
  const contexts = Array.from({ length: COUNT + 1 }, started)
  const known = () => contexts.flatMap(({ record: { id } }, index) => (cache.get(id, 0) ? [index] : []))
  for (const context of contexts.slice(0, COUNT)) cache.put(context, texts, 0)
  expect(known()).toHaveLength(COUNT)
  const [first, last] = [contexts[0], contexts[COUNT]]
  if (!first || !last) throw new Error('they are there')
  cache.put(first, texts, 0)
  expect(known()).toHaveLength(COUNT)
  cache.put(last, texts, 0)
  expect(known()).toEqual(Array.from({ length: COUNT - 10 }, (_, index) => index + 11))
})

test('whatever the memory, 64 M characters are enough', () => {
  const cache = new ContextCache(Infinity)
  const texts = { a: 'x'.repeat(64 * 1024 - OVERHEAD) }
  const contexts = Array.from({ length: 1025 }, started)
  for (const context of contexts) cache.put(context, texts, 0)
  expect(contexts.filter(({ record: { id } }) => cache.get(id, 0))).toHaveLength(921)
})
