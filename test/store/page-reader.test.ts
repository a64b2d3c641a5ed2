// Reads pages of a data file in order and out of order, up to its end and beyond.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { PageError } from '../../src/store/lmdb/salvage/page-layout.ts'
import { PageReader } from '../../src/store/lmdb/salvage/page-reader.ts'

const PAGE_BYTES = 512

/** A reader of a file of so many bytes, of which each page is filled with its number. */
function open(bytes: number): PageReader {
  const folder = mkdtempSync(join(tmpdir(), 'actorflux-'))
  const file = join(folder, 'pages')
  writeFileSync(
    file,
    new Uint8Array(bytes).map((_, place) => Math.floor(place / PAGE_BYTES)),
  )
  const reader = new PageReader(file)
  onTestFinished(() => {
    reader.close()
    rmSync(folder, { recursive: true })
  })
  return reader
}

const read = (reader: PageReader, number: number): number[] => [...new Set(reader.pageInOrder(number, PAGE_BYTES))]

test.each([1, 3, 32, 33, 70])('all of %i pages are read, in whichever order', (count) => {
  const reader = open(count * PAGE_BYTES)
  const numbers = Array.from({ length: count }, (_, number) => number)
  for (const order of [numbers, numbers.toReversed(), numbers])
    for (const number of order) expect(read(reader, number)).toEqual([number])
})

test.each([3, 32, 40])(
  'none is read beyond the end of a file of %i pages, nor one of which a part is missing',
  (count) => {
    for (const more of [0, PAGE_BYTES - 1]) {
      const reader = open(count * PAGE_BYTES + more)
      for (let number = 0; number < count; number += 1) expect(read(reader, number)).toEqual([number])
      expect(() => read(reader, count)).toThrow(PageError)
      expect(() => read(reader, count + 1)).toThrow(PageError)
      expect(read(reader, count - 1)).toEqual([count - 1])
    }
  },
)
