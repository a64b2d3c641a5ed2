// For which kinds of step the store may have more, when scripts are known to be slow.
import { expect, test } from 'vitest'
import { ClaimSource } from '../../src/engine/steps/claim-source.ts'
import { readyOwner } from '../../src/model/record.ts'
import type { AbandonedLease } from '../../src/ports/store.ts'

const leasesOf = (count: number): AbandonedLease[] =>
  Array.from({ length: count }, (_, place) => ({ id: place + 1, owner: readyOwner('script') }))

test('slow scripts that are in the store alone do not send other scripts there', async () => {
  const limits: number[] = []
  let stored = Infinity
  const claimAbandoned = ({ limit }: { limit: number }) => {
    limits.push(limit)
    return Promise.resolve(leasesOf(Math.min(limit, stored)))
  }
  const source = new ClaimSource({ store: { partitions: 1, claimAbandoned }, owner: () => 'me' })
  const overfull = () => [source.isOverfull('script'), source.isOverfull('slowScript'), source.isEmpty]
  source.overflow('slowScript')
  expect(overfull()).toEqual([false, true, false])
  // The store lists both kinds as scripts.
  await source.claim(new Map([['script', 4]]))
  await source.claim(new Map([['code', 4]]))
  expect(overfull()).toEqual([false, true, false])
  stored = 3
  await source.claim(new Map([['script', 4]]))
  expect(overfull()).toEqual([false, false, false])
  await source.claim(new Map([['script', 4]]))
  expect(limits).toEqual([512, 4, 512])
})
