// Ids of new contexts: as many are reserved at once as are waited for, and none is kept for later.
import { expect, test } from 'vitest'
import { unavailable } from '../../src/model/failure.ts'
import { Ids } from '../../src/engine/contexts/ids.ts'
import { emptyStore } from '../support/stores.ts'

/** On a store of so many partitions; each of the faults makes one reservation fail. */
function open(partitions: number) {
  const asked: { count: number; partition: number }[] = []
  const next = Array.from({ length: partitions }, (_, partition) => partitions + partition)
  const faults: Error[] = []
  const ids = new Ids({
    ...emptyStore(),
    partitions,
    async reserveIds(request) {
      asked.push(request)
      await Promise.resolve()
      const fault = faults.pop()
      if (fault) throw fault
      const first = next[request.partition] ?? 0
      next[request.partition] = first + request.count * partitions
      return { first, count: request.count }
    },
  })
  return { ids, asked, faults }
}

test('those who wait share a reservation, and nobody gets what another has', async () => {
  const { ids, asked } = open(1)
  expect(ids.tryTake(0)).toBeUndefined()
  const found = await Promise.all(Array.from({ length: 50 }, () => ids.take(0)))
  expect(new Set(found).size).toBe(50)
  expect(asked.length).toBeLessThanOrEqual(2)
  expect(asked.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThanOrEqual(50)
  expect(await ids.take(0)).toBeGreaterThan(Math.max(...found))
})

test('an id is of its partition; new contexts go to each in turn', async () => {
  const { ids } = open(3)
  const partitions = [ids.nextPartition(), ids.nextPartition(), ids.nextPartition(), ids.nextPartition()]
  expect(new Set(partitions.slice(0, 3))).toEqual(new Set([0, 1, 2]))
  expect(partitions[3]).toBe(partitions[0])
  for (const partition of [0, 1, 2]) {
    const found = await Promise.all([ids.take(partition), ids.take(partition)])
    expect(found.map((id) => id % 3)).toEqual([partition, partition])
    expect(new Set(found).size).toBe(2)
  }
  await expect(ids.take(3)).rejects.toThrow('there is no partition 3')
})

test('a reservation that fails fails for those who waited, and for nobody after them', async () => {
  const { ids, faults } = open(1)
  faults.push(unavailable('out of reach'))
  const found = await Promise.allSettled([ids.take(0), ids.take(0)])
  expect(found.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await ids.take(0)).toBe(1)
  expect(ids.tryTake(0)).toBeUndefined()
})

test('ids that were given ahead are kept, until the store refuses one of them', async () => {
  let next = 1
  const store = {
    ...emptyStore(),
    reserveIds: async ({ count }: { readonly count: number }) => {
      const first = next
      next += count + 10
      return { first, count: count + 10 }
    },
  }
  const ids = new Ids(store)
  expect(await ids.take(0)).toBe(1)
  expect([ids.tryTake(0), ids.tryTake(0)]).toEqual([2, 3])
  ids.drop([2])
  expect(ids.tryTake(0)).toBeUndefined()
  expect(await ids.take(0)).toBe(12)
  // A refusal that comes late is of the reservation before.
  ids.drop([3])
  expect(ids.tryTake(0)).toBe(13)
})
