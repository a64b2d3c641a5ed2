// Rows in the embedded store that can't be read.
import { join } from 'node:path'
import { open as openLmdb } from 'lmdb'
import { beforeEach, expect, it } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { openLmdbStore } from '../../src/store/lmdb/store.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { mustWrite, rowOf } from './contract-rows.ts'
import { silent } from '../support/silent.ts'
import { newFolder } from '../support/at-end.ts'

const errors: string[] = []
const log = { ...silent, error: (line: string) => void errors.push(line) }

let folder = ''
const openIn = (): Promise<Store> => openLmdbStore({ folder, log, clock: new SimulatedClock() })

beforeEach(async () => {
  folder = await newFolder()
  errors.length = 0
})

const file = () => join(folder, 'default.mdb')

it('a row that can not be read is left out of lists, and harms nobody else', async () => {
  let store = await openIn()
  await mustWrite(store, rowOf('a', '1'), rowOf('b', '2'))
  await store.close()
  const root = openLmdb({ path: file(), noSubdir: true, maxDbs: 20 })
  await root
    .openDB('space:items', { encoding: 'binary', keyEncoding: 'binary' })
    .put(Buffer.from('a'), Buffer.from('x'))
  await root.close()
  store = await openIn()
  expect((await store.listRows({ space: 'items', prefix: '', limit: 9 })).map(({ key }) => key)).toEqual(['b'])
  expect(errors).toEqual([`the row "a" of 'items' can't be read, and is left out`])
  await expect(store.readRow({ partition: 0, space: 'items', key: 'a' })).rejects.toThrow(TypeError)
  await expect(store.commit({ writes: [], rows: [rowOf('a', '2', { expects: null })] })).rejects.toThrow(TypeError)
  await mustWrite(store, rowOf('b', '3', { expects: '2' }))
  await store.close()
})
