// store/lmdb: contexts as they lie on disk, with lists of them and the rows of their logs.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import { charactersOf } from '../../model/texts.ts'
import type { Log } from '../../ports/log.ts'
import type { Selection, SelectQuery, StoredContext, WaitingQuery, SelectedPage } from '../../ports/store.ts'
import { messageOf } from '../../model/error-message.ts'
import type { Disk } from './disk.ts'
import type { GroupCommit } from './group-commit.ts'
import type { KeyMatches } from './index/key-index.ts'
import type { Memory } from './index/memory.ts'
import { decodeStored } from './records/stored-context.ts'
import type { WriteGroup } from './write-group.ts'

/** Candidates for a list that are examined in one turn of the event loop: about a millisecond. */
const MAX_HOPS = 10_000

/** Candidates for one page that are examined, if no matches are to be skipped: a few milliseconds. */
const MAX_PAGE_HOPS = 10_000

/** Most parts of logs that are remembered as unreadable, so that each is logged once. */
const MAX_LOGGED_ROWS = 10_000

export interface ContextReaderParts {
  readonly disk: Disk
  readonly memory: Memory
  readonly commits: GroupCommit<WriteGroup>
  readonly log: Log
  /** Called before the disk is read. @throws FluxError `unavailable` when it is closed, or will be */
  readonly checkOpen: () => void
}

export class ContextReader {
  readonly #parts: ContextReaderParts
  /** Parts of logs that were logged as unreadable. */
  readonly #loggedRows = new Set<string>()

  constructor(parts: ContextReaderParts) {
    this.#parts = parts
  }

  /**
   * @throws FluxError `unreadable`; the context is then also left out of the index, so that no list, broadcast or timer
   * meets it again
   */
  read(id: ContextId): StoredContext | null {
    const { disk, memory, log, checkOpen } = this.#parts
    checkOpen()
    const bytes = disk.record(id)
    try {
      return bytes === undefined ? null : decodeStored(id, bytes, ({ slot }) => disk.largePart(id, slot))
    } catch (error) {
      if (memory.entry(id) !== null) log.error(messageOf(error), { contextId: id, error })
      memory.remove(id)
      throw error
    }
  }

  /** As `Store.select`. */
  async select({ order, limit, skip = 0, characters = Infinity, ...selection }: SelectQuery): Promise<SelectedPage> {
    const { memory, commits } = this.#parts
    if (limit <= 0) return { contexts: [], rest: null }
    const find = (from: Selection, left: number) =>
      memory.select(from, { order, limit, skip: left, hops: MAX_PAGE_HOPS })
    for (let [from, left]: [Selection, number] = [selection, skip]; ;) {
      let found = find(from, left)
      if (await commits.settled((group) => found.ids.some((id) => group.touches(id)))) found = find(from, left)
      const before = memory.size
      const contexts = this.#readAll(found.ids, characters)
      // An unreadable record is left out of the index when it is found: the page is searched again.
      if (memory.size < before) continue
      const last = contexts.at(-1)
      const isCut = last !== undefined && last.id !== found.ids.at(-1)
      if (isCut) return { contexts, rest: last.id }
      if (found.rest === null) return { contexts, rest: null }
      if (left === 0 || contexts.length > 0) return { contexts, rest: found.rest.behind }
      left = found.rest.skip
      from = { ...selection, [order === 'asc' ? 'after' : 'before']: found.rest.behind }
      await nextTurn()
    }
  }

  /** As `Store.count`. */
  async count(selection: Selection): Promise<number> {
    const { memory } = this.#parts
    let count = 0
    for (let from = selection; ;) {
      const { count: more, rest } = memory.count(from, MAX_HOPS)
      count += more
      if (rest === null) return count
      from = { ...selection, after: rest }
      await nextTurn()
    }
  }

  /** As `Store.waitingFor`. */
  waitingFor(query: WaitingQuery): Promise<ContextId[]> {
    const { memory } = this.#parts
    return this.#find((more) => memory.waitingFor({ ...query, ...more }, MAX_HOPS))
  }

  /** As `Store.log`. */
  logRows(id: ContextId, limit: number): string[] {
    return limit > 0 ? this.#parts.disk.rows.newest(id, limit, (row, error) => this.#logRow(id, row, error)) : []
  }

  /** Logs an unreadable part of a log, once, because a log is read whenever its context is shown. */
  #logRow(id: ContextId, row: number, error: unknown): void {
    const name = `${id}:${row}`
    if (this.#loggedRows.has(name) || this.#loggedRows.size >= MAX_LOGGED_ROWS) return
    this.#loggedRows.add(name)
    const { log } = this.#parts
    log.error(`a part of the log of context ${id} can't be read, and is left out`, { contextId: id, row, error })
  }

  /** Reads the contexts that can be read, until they have so many characters. */
  #readAll(ids: readonly ContextId[], characters: number): StoredContext[] {
    const contexts: StoredContext[] = []
    let size = 0
    for (const id of ids) {
      try {
        const context = this.read(id)
        if (context === null) continue
        contexts.push(context)
        if (characters !== Infinity) size += charactersOf(context.parts)
        if (size >= characters) break
      } catch (error) {
        if (!(error instanceof FluxError && error.failure.kind === 'unreadable')) throw error
      }
    }
    return contexts
  }

  /** Searches in several turns of the event loop, because skipping a million contexts takes long. */
  async #find(search: (more: KeyMatches['rest']) => KeyMatches): Promise<ContextId[]> {
    const { ids, rest } = search(null)
    const found = [...ids]
    for (let more = rest; more !== null;) {
      await nextTurn()
      const next = search(more)
      found.push(...next.ids)
      more = next.rest
    }
    return found
  }
}
