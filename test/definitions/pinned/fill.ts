// pinned: a folder as a server has it, with what an earlier version wrote in its store.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openLmdbStore, type EmbeddedStore } from '../../../src/store/lmdb/store.ts'
import { newFolder } from '../../recorded/server.ts'
import { SimulatedClock } from '../../../src/testing/simulated-clock.ts'
import { fill, type Corpus } from './corpus.ts'
import { silent as log } from '../../support/silent.ts'

/** The store of a folder, at the time of the corpus. */
export const openData = (folder: string, { now }: Corpus): Promise<EmbeddedStore> =>
  openLmdbStore({ folder: join(folder, 'data'), log, clock: new SimulatedClock(now) })

/** Gives the folder, which `examine` removes. */
export async function filledFolder(corpus: Corpus): Promise<string> {
  const folder = await newFolder()
  const store = await openData(folder, corpus)
  try {
    await fill(store, corpus)
  } finally {
    await store.close()
  }
  return folder
}

/** The same, with the very files. */
export async function copiedFolder(files: ReadonlyMap<string, Buffer>): Promise<string> {
  const folder = await newFolder()
  await mkdir(join(folder, 'data'))
  for (const [name, bytes] of files) await writeFile(join(folder, 'data', name), bytes)
  return folder
}
