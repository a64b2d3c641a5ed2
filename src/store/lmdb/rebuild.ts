// store/lmdb: the index, read from the headers of all records when the store is opened.
import type { Log } from '../../ports/log.ts'
import type { Disk } from './disk.ts'
import { Memory } from './memory.ts'
import { decodeHeader } from './stored-context.ts'

/** After so many records others get their turn: the server answers that it lives meanwhile. */
const BREATH = 2000

export async function rebuild(disk: Disk, log: Log): Promise<Memory> {
  const memory = new Memory()
  const lastId = disk.meta.get('lastId')
  memory.lastId = typeof lastId === 'number' ? lastId : 0
  let read = 0
  for (const id of disk.contexts.getKeys()) {
    const bytes = disk.contexts.getBinaryFast(id)
    if (bytes === undefined) continue
    try {
      memory.put(id, decodeHeader(id, bytes))
    } catch (error) {
      // It harms itself alone: whoever asks for this context is told the same.
      log.error(error instanceof Error ? error.message : String(error), { contextId: id, error })
    }
    if (++read % BREATH === 0) await new Promise((resolve) => { setImmediate(resolve) })
  }
  for (const id of disk.pokes.getKeys()) if (memory.entry(id) !== null) memory.poke(id)
  return memory
}
