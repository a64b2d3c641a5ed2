// The parts of the index in memory, against the simplest that could be right.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { IdSet, KeyIndex, type Posting } from '../../src/store/lmdb/index/key-index.ts'
import type { SelectQuery } from '../../src/ports/store.ts'
import { selectIds } from '../../src/store/lmdb/index/selected.ts'
import { TimeQueue } from '../../src/store/lmdb/index/time-queue.ts'
import { IdWalk } from '../../src/store/lmdb/index/walk.ts'

const above = ({ chunks }: IdSet, after: number) => new IdWalk(chunks, 'asc', after + 1)

/** Ids that have any of the keys, up to and including one of them. */
const having = (index: KeyIndex, keys: readonly string[], query: Partial<SelectQuery> = {}) =>
  selectIds(
    { keys: index, entry: () => null, mayBeDue: () => [], ended: () => [] },
    { any: keys.map((key) => [key]), order: 'asc', limit: 9, ...query },
    Infinity,
  ).ids

function all(set: IdSet, after = 0): number[] {
  const ids: number[] = []
  for (const walk = above(set, after); walk.place !== undefined; walk.next()) ids.push(walk.place)
  return ids
}

describe('an id set', () => {
  it('holds what was added and not deleted, in order', () => {
    const changes = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 3000 })), {
      maxLength: 4000,
      size: 'max',
    })
    fc.assert(
      fc.property(changes, fc.nat(3000), fc.nat(3000), fc.nat(3000), (steps, after, skip, seek) => {
        const set = new IdSet()
        const model = new Set<number>()
        for (const [add, id] of steps) {
          if (add) set.add(id)
          else set.delete(id)
          if (add) model.add(id)
          else model.delete(id)
        }
        const ids = [...model].sort((a, b) => a - b)
        expect(set.size).toBe(ids.length)
        expect(all(set)).toEqual(ids)
        const walk = above(set, after)
        walk.skip(skip)
        const rest = ids.filter((id) => id > after).slice(skip)
        expect(walk.place).toBe(rest[0])
        walk.seek(seek)
        expect(walk.place).toBe(rest.find((id) => id >= seek))
      }),
      { numRuns: 50 },
    )
  })

  it('stays in order when thousands come from both ends and most go again', () => {
    const set = new IdSet()
    for (let id = 1; id <= 20_000; id++) {
      set.add(20_000 + id)
      set.add(20_001 - id)
    }
    expect(all(set)).toEqual(Array.from({ length: 40_000 }, (_, index) => index + 1))
    for (let id = 1; id <= 40_000; id++) if (id % 97 !== 0) set.delete(id)
    expect(all(set)).toEqual(Array.from({ length: Math.floor(40_000 / 97) }, (_, index) => 97 * (index + 1)))
    expect(all(set, 970)).toEqual(all(set).slice(10))
  })
})

describe('the inverted index', () => {
  it('forgets a word that nobody has any more', () => {
    const keyIndex = new KeyIndex()
    keyIndex.add(1)
    const before = keyIndex.replace(1, [], ['a', 'b'])
    const after = keyIndex.replace(1, before, ['b'])
    expect(keyIndex.size).toBe(1)
    keyIndex.remove(1, after)
    expect(keyIndex.size).toBe(0)
  })

  it('gives contexts whose words come in one array one list, as long as anyone has each of the words', () => {
    const keyIndex = new KeyIndex()
    const words = ['a', 'b']
    const [one, two] = [1, 2].map((id) => keyIndex.replace(id, [], words))
    expect(two).toBe(one)
    keyIndex.remove(1, one ?? [])
    keyIndex.remove(2, two ?? [])
    const other = keyIndex.replace(3, [], ['a'])
    const again = keyIndex.replace(4, [], words)
    expect(having(keyIndex, ['a'])).toEqual([3, 4])
    keyIndex.remove(3, other)
    expect(having(keyIndex, ['a'])).toEqual([4])
    expect(having(keyIndex, ['b'])).toEqual([4])
    keyIndex.remove(4, again)
    expect(keyIndex.size).toBe(0)
  })

  it('finds and pages as a filter over all contexts does', () => {
    const word = fc.constantFrom('a', 'b', 'c', 'd', 'nobody')
    const page = fc.record({
      limit: fc.nat(20),
      skip: fc.nat(30),
      after: fc.nat(120),
    })
    fc.assert(
      fc.property(
        fc.array(fc.subarray<string>(['a', 'b', 'c', 'd']), { maxLength: 120 }),
        fc.array(word, { maxLength: 3 }),
        page,
        fc.nat(130),
        (contexts, words, { limit, skip, after }, upTo) => {
          const keyIndex = new KeyIndex()
          const postings = new Map<number, readonly Posting[]>()
          for (const [index, own] of contexts.entries()) {
            keyIndex.add(index + 1)
            postings.set(index + 1, keyIndex.replace(index + 1, keyIndex.replace(index + 1, [], ['a', 'x']), own))
          }
          const matching = (test: (own: readonly string[]) => boolean): number[] =>
            contexts.flatMap((own, index) => (test(own) && index + 1 > after ? [index + 1] : []))
          expect(having(keyIndex, words, { before: upTo + 1, limit, skip, after })).toEqual(
            matching((own) => words.some((each) => own.includes(each)))
              .filter((id) => id <= upTo)
              .slice(skip, skip + limit),
          )
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('a time queue', () => {
  it('gives the earliest first, by the times that hold', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(50), fc.option(fc.nat(1000))), { maxLength: 400 }), (changes) => {
        const times = new Map<number, number>()
        const queue = new TimeQueue((id) => times.get(id) ?? null)
        for (const [id, time] of changes) {
          if (time === null) times.delete(id)
          else {
            times.set(id, time)
            queue.push(id, time)
          }
        }
        const expected = [...times.values()].sort((a, b) => a - b)
        const given: number[] = []
        for (let top = queue.peek(); top !== null; top = queue.peek()) {
          given.push(top.time)
          times.delete(top.id)
        }
        expect(given).toEqual(expected)
      }),
    )
  })

  it("isn't filled by a time that comes again and again", () => {
    const times = new Map<number, number>()
    const queue = new TimeQueue((id) => times.get(id) ?? null)
    for (let turn = 0; turn < 100_000; turn++) {
      times.set(7, turn % 2)
      queue.push(7, turn % 2)
    }
    expect(queue.size).toBeLessThan(3000)
    expect(queue.peek()).toEqual({ id: 7, time: 1 })
  })

  it("isn't filled with times that hold no longer", () => {
    const times = new Map<number, number>()
    const queue = new TimeQueue((id) => times.get(id) ?? null)
    for (let time = 0; time < 200_000; time++) {
      times.set(time % 100, time)
      queue.push(time % 100, time)
    }
    expect(queue.size).toBeLessThan(3000)
    expect(queue.peek()).toEqual({ id: 0, time: 199_900 })
  })
})
