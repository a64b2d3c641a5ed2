// definitions: what becomes of a pinned definition that isn't what it was: parts of it fail, or nothing of it is left.
import type { JsonObject } from '../model/json/value.ts'

/** What a part that can't be compiled any more fails with, whenever it is reached. */
export class DefinitionError extends Error {
  override readonly name = 'DefinitionError'
}

type Readable = Partial<Pick<UnreadableDefinition, 'source' | 'isNewer'>>

/** Not even the states of a definition are known (see lost.ts). */
export class UnreadableDefinition extends Error {
  override readonly name = 'UnreadableDefinition'
  /** The file's content, where that can be read. */
  readonly source: JsonObject | null
  /** A later version of the program wrote it. */
  readonly isNewer: boolean

  constructor(reason: string, { source = null, isNewer = false }: Readable = {}) {
    super(reason)
    this.source = source
    this.isNewer = isNewer
  }
}
