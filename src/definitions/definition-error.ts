// definitions: what becomes of a pinned definition that isn't what it was: parts of it fail, or nothing of it is left.
import type { JsonObject } from '../model/json.ts'

/** What a part that can't be compiled any more fails with, whenever it is reached. */
export class DefinitionError extends Error {
  override readonly name = 'DefinitionError'
}

/** Not even the states of a definition are known (see lost.ts). */
export class UnreadableDefinition extends Error {
  override readonly name = 'UnreadableDefinition'
  /** The file's content, where that can be read. */
  readonly source: JsonObject | null

  constructor(reason: string, source: JsonObject | null = null) {
    super(reason)
    this.source = source
  }
}
