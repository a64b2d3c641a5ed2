// The cache of contexts: bounded, the least used go first, and large ones don't drive out all others.
import { expect, test } from 'vitest'
import { Recent } from '../../src/runtime/recent.ts'
import { compiled, Hand, TERMINATE } from '../support/turns.ts'

const flux = compiled({ states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'go' }] }] })
const hand = new Hand()
const started = () => hand.start(flux).context

/** Bytes of memory for a character, and characters that a record costs besides its texts, as documented there. */
const [WORST, OVERHEAD] = [24, 2048]

test('a context is known in the era in which it was kept, and until it is forgotten', () => {
  const recent = new Recent(1024 * 1024)
  const context = started()
  const { id } = context.record
  recent.keep(context, { a: 'x' }, 7)
  expect(recent.get(id, 7)).toMatchObject({ record: context.record, flux, texts: { a: 'x' } })
  expect(recent.get(id, 8)).toBeUndefined()
  recent.forget(id)
  expect(recent.get(id, 7)).toBeUndefined()
})

test('one that has ended is not kept, nor what was kept of it', () => {
  const recent = new Recent(1024 * 1024)
  const context = started()
  const { id } = context.record
  recent.keep(context, {}, 0)
  recent.keep(hand.turn(id, [TERMINATE]).context, {}, 0)
  expect(recent.get(id, 0)).toBeUndefined()
})

test('its texts may have 64 K characters, what a record costs besides included', () => {
  const recent = new Recent(1024 * 1024 * 1024)
  const [fits, large] = [started(), started()]
  const most = 64 * 1024 - OVERHEAD
  recent.keep(fits, { a: 'x'.repeat(most - 10), b: 'x'.repeat(10) }, 0)
  recent.keep(large, { a: 'x'.repeat(most - 9), b: 'x'.repeat(10) }, 0)
  expect(recent.get(fits.record.id, 0)).toBeDefined()
  expect(recent.get(large.record.id, 0)).toBeUndefined()
})

test('when there is too much, those that were committed longest ago go, a tenth of all', () => {
  const COUNT = 100
  const size = 10 * OVERHEAD
  const recent = new Recent(COUNT * size * WORST)
  const texts = { a: 'x'.repeat(size - OVERHEAD) }
  const contexts = Array.from({ length: COUNT + 1 }, started)
  const known = () => contexts.flatMap(({ record: { id } }, index) => (recent.get(id, 0) ? [index] : []))
  for (const context of contexts.slice(0, COUNT)) recent.keep(context, texts, 0)
  expect(known()).toHaveLength(COUNT)
  const [first, last] = [contexts[0], contexts[COUNT]]
  if (!first || !last) throw new Error('they are there')
  recent.keep(first, texts, 0)
  expect(known()).toHaveLength(COUNT)
  recent.keep(last, texts, 0)
  expect(known()).toEqual([0, ...Array.from({ length: COUNT - 11 }, (_, index) => index + 12)])
})

test('whatever the memory, 64 M characters are enough', () => {
  const recent = new Recent(Infinity)
  const texts = { a: 'x'.repeat(62 * 1024) }
  const contexts = Array.from({ length: 1025 }, started)
  for (const context of contexts) recent.keep(context, texts, 0)
  expect(contexts.filter(({ record: { id } }) => recent.get(id, 0))).toHaveLength(921)
})
