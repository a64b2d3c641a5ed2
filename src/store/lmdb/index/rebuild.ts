// store/lmdb: the index, read from the headers of all records when the store is opened.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { unreadable } from '../../../model/failure.ts'
import { logOnce } from '../../../model/log-once.ts'
import { ROW_SPACES } from '../../../model/rows.ts'
import type { Log } from '../../../ports/log.ts'
import type { Disk } from '../disk.ts'
import { ContextIndex } from './context-index.ts'
import { decodeHeader, type ReadKeys, keysOf } from '../stored-context.ts'
import { messageOf } from '../../../model/error-message.ts'

/** Records after which others get their turn: a few milliseconds of work. */
const STRIDE = 250

export async function rebuild(disk: Disk, log: Log): Promise<ContextIndex> {
  const index = new ContextIndex(ROW_SPACES.map((space) => [space, disk.rowTables.count(space)]))
  const readKeys = rememberingKeys()
  let found = 0
  for (const id of disk.contexts.getKeys()) {
    const record = disk.contexts.getBinaryFast(id)
    try {
      if (record === undefined) throw unreadable(id)
      index.put(id, decodeHeader(id, record, readKeys))
    } catch (error) {
      // Only this context is affected: a call for it fails with the same message.
      logOnce(log, messageOf(error), { contextId: id, error })
    }
    // Not a promise for each record: a million of them take a fifth of the time.
    found += 1
    if (found % STRIDE === 0) await nextTurn()
  }
  index.lastId = Math.max(disk.meta.get('lastId') ?? 0, index.highestId)
  for (const id of disk.notifications.getKeys()) {
    if (index.entry(id) !== null) index.setNotified(id, true)
  }
  return index
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
