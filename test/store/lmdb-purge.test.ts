// A purge of the embedded store writes a bounded number of keys at once, so that it doesn't hold up the commits.
import { expect, onTestFinished, test } from 'vitest'
import { openDisk } from '../../src/store/lmdb/disk.ts'
import type { Header } from '../../src/store/lmdb/stored-context.ts'
import { rebuild } from '../../src/store/lmdb/index/rebuild.ts'
import { WriteGroup } from '../../src/store/lmdb/write-group.ts'
import { silent as log } from '../support/silent.ts'
import { newFolder } from '../support/at-end.ts'

const ENDED: Header = {
  version: 1,
  indexKeys: [],
  due: null,
  owner: null,
  endedAt: 1,
  parent: null,
  firstRow: 0,
  nextRow: 0,
  large: [],
}
const parts = (count: number) =>
  Array.from({ length: count }, (_, slot) => ({ name: `s${slot}`, length: 2048, slot, version: 1 }))

/** A purge stops after 20,000 keys: one for each context, one for each row of its log and for each large part. */
test.each([
  ['of nothing else', {}, 100],
  ['with rows of the log', { firstRow: 100, nextRow: 7_099 }, 3],
  ['with large parts', { large: parts(6_999) }, 3],
  ['with both', { firstRow: 100, nextRow: 5_099, large: parts(5_000) }, 2],
])('of contexts %s', async (_, more, purged) => {
  const folder = await newFolder()
  const disk = await openDisk({ folder, namespace: 'default', minFree: 0, log })
  onTestFinished(() => disk.close())
  const memory = await rebuild(disk, log)
  for (let id = 1; id <= 100; id += 1) memory.put(id, { ...ENDED, ...more })
  expect(new WriteGroup(disk, memory, () => 0).purge(2, 500)).toBe(purged)
})
