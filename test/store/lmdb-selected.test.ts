// Selections of the embedded store's index, where times are looked up: those who have them are too many to be listed, or
// listed with some others.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Selection } from '../../src/ports/store.ts'
import { KeyIndex } from '../../src/store/lmdb/index/key-index.ts'
import { countIds, selectIds, type Selectable } from '../../src/store/lmdb/index/selected.ts'

const IDS = Array.from({ length: 120 }, (_, index) => index + 1)
const MANY = Array.from({ length: 10_000 }, (_, index) => index + 1)
const keysOf = (id: number) => ['all', id % 3 === 0 ? 'third' : 'other']
const dueOf = (id: number) => (id % 2 === 0 ? (id * 7) % 20 : null)
const endOf = (id: number) => (id % 2 === 0 ? null : (id * 11) % 20)

const entry = (id: number) => ({ due: dueOf(id), endedAt: endOf(id) })

const time = fc.integer({ min: 0, max: 20 })
const bound = fc.option(time, { nil: undefined })

test.each([
  ['too many', () => MANY, 50],
  ['listed with others', () => IDS, 500],
])('times of those who are %s', (_, listed, numRuns) => {
  const index = new KeyIndex()
  for (const id of IDS) {
    index.add(id)
    index.replace(id, [], keysOf(id))
  }
  const source: Selectable = { keys: index, entry, mayBeDue: listed, ended: listed }
  fc.assert(
    fc.property(
      fc.subarray(['all', 'third', 'other'], { maxLength: 1 }),
      fc.option(fc.record({ before: time }), { nil: undefined, freq: 2 }),
      fc.option(fc.record({ after: bound, before: bound }), { nil: undefined, freq: 2 }),
      fc.constantFrom('asc' as const, 'desc' as const),
      fc.integer({ min: 1, max: 40 }),
      fc.nat(5),
      (keys, due, ended, order, hops, skipped) => {
        const selection: Selection = { any: [keys], due, ended }
        const expected = IDS.filter((id) => {
          const [dueAt, endedAt] = [dueOf(id), endOf(id)]
          const { after = -1, before = Infinity } = ended ?? {}
          return (
            keys.every((key) => keysOf(id).includes(key)) &&
            (!due || (dueAt !== null && dueAt < due.before)) &&
            (!ended || (endedAt !== null && endedAt > after && endedAt < before))
          )
        })
        let [count, from]: [number, number | null] = [0, 0]
        while (from !== null) {
          const part = countIds(source, { ...selection, ...(from > 0 && { after: from }) }, hops)
          count += part.count
          from = part.rest
        }
        expect(count).toBe(expected.length)
        if (order === 'desc') expected.reverse()
        const found: number[] = []
        let place: Partial<Selection> = {}
        for (let skip = skipped; ;) {
          const { ids, rest } = selectIds(source, { ...selection, ...place, order, limit: 7, skip }, hops)
          found.push(...ids)
          if (rest === null) break
          place = order === 'asc' ? { after: rest.behind } : { before: rest.behind }
          skip = rest.skip
        }
        expect(found).toEqual(expected.slice(skipped))
      },
    ),
    { numRuns },
  )
})
