// store/lmdb: the index, read from the headers of all records when the store is opened.
import { unreadable } from '../../../model/failure.ts'
import type { Log } from '../../../ports/log.ts'
import { DataFolderError, messageOf } from '../data-folder.ts'
import type { Disk } from '../disk.ts'
import { ADVICE } from '../salvage/inspect.ts'
import { rowCountsOf } from '../row-group.ts'
import { Memory } from './memory.ts'
import { decodeHeader, type ReadKeys, keysOf } from '../stored-context.ts'

/** After so many records, or bytes of them, others get their turn: a few milliseconds of work. */
const STRIDE = 250
const STRIDE_BYTES = 1024 * 1024

/** @throws DataFolderError when not all records can be found */
export async function rebuild(disk: Disk, log: Log): Promise<Memory> {
  const memory = new Memory(rowCountsOf(disk))
  memory.lastId = disk.lastId()
  const count = disk.contextCount
  const readKeys = rememberingKeys()
  let [found, records, bytes] = [0, 0, 0]
  const breathe = async (length: number) => {
    records += 1
    bytes += length
    if (records < STRIDE && bytes < STRIDE_BYTES) return
    records = bytes = 0
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  }
  for (const id of disk.contexts.getKeys()) {
    const record = disk.record(id)
    found += 1
    try {
      if (record === undefined || !Number.isSafeInteger(id)) throw unreadable(id)
      memory.put(id, decodeHeader(id, record, readKeys))
    } catch (error) {
      // It harms itself alone: whoever asks for this context is told the same.
      log.error(messageOf(error), { contextId: id, error })
    }
    await breathe(record?.length ?? 0)
  }
  // lmdb ends a range without a key at a page that it can't read.
  if (found !== count)
    throw new DataFolderError(`the data is damaged: ${found} contexts of ${count} can be found; ${ADVICE}`)
  memory.lastId = Math.max(memory.lastId, memory.highestId)
  for (const id of disk.notifications.getKeys()) {
    if (memory.entry(id) !== null) memory.notify(id)
    await breathe(0)
  }
  return memory
}

/** Texts of index keys that are remembered, and characters that one of them may have. */
const MAX_TEXTS = 1024
const TEXT_CHARACTERS = 1024

/** Most contexts have the same keys as many others: they are parsed once. */
function rememberingKeys(): ReadKeys {
  const lists = new Map<string, readonly string[]>()
  return (text) => {
    const known = lists.get(text)
    if (known !== undefined) return known
    const keys = keysOf(text)
    if (lists.size >= MAX_TEXTS) lists.clear()
    if (text.length <= TEXT_CHARACTERS) lists.set(text, keys)
    return keys
  }
}
