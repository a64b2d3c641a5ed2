// Walks through the ids of an index, in chunks, in either order: as a list of the same ids would be walked through.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { IdWalk } from '../../src/store/lmdb/index/walk.ts'

/** Some ids, cut into chunks of any size. */
const chunked = fc
  .tuple(
    fc.uniqueArray(fc.integer({ min: 1, max: 200 }), { maxLength: 60 }),
    fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 60, maxLength: 60 }),
  )
  .map(([ids, sizes]) => {
    const left = ids.toSorted((one, other) => one - other)
    const chunks: number[][] = []
    for (const size of sizes) if (left.length > 0) chunks.push(left.splice(0, size))
    return chunks
  })

const steps = fc.array(
  fc.oneof(
    fc.constant({ kind: 'next' as const, by: 1 }),
    fc.record({ kind: fc.constant('skip' as const), by: fc.nat(30) }),
    fc.record({ kind: fc.constant('seek' as const), by: fc.nat(60) }),
  ),
  { maxLength: 12 },
)

test.each(['asc', 'desc'] as const)('%s', (order) => {
  fc.assert(
    fc.property(chunked, fc.integer({ min: 1, max: 200 }), steps, (chunks, from, moves) => {
      const sign = order === 'asc' ? 1 : -1
      const places = chunks.flat().map((id) => sign * id)
      if (order === 'desc') places.reverse()
      const first = sign * from
      const walk = new IdWalk(chunks, order, first)
      let left = places.filter((place) => place >= first)
      expect(walk.place).toBe(left[0])
      for (const { kind, by } of moves) {
        const place = (left[0] ?? first) + by
        if (kind === 'next') walk.next()
        else if (kind === 'skip') walk.skip(by)
        else walk.seek(place)
        left = kind === 'seek' ? left.filter((each) => each >= place) : left.slice(by)
        expect(walk.place).toBe(left[0])
      }
    }),
    { numRuns: 2000 },
  )
})
