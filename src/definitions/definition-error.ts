// definitions: errors of pinned definitions that can't be compiled any more, in part or as a whole.
import type { JsonObject } from '../model/json/value.ts'

/** Thrown when a part of a definition is reached that can't be compiled any more. */
export class DefinitionError extends Error {
  override readonly name = 'DefinitionError'
}

type Readable = Partial<Pick<UnreadableDefinition, 'source' | 'isNewer'>>

/** Not even the states of a definition can be read (see pinned/lost.ts). */
export class UnreadableDefinition extends Error {
  override readonly name = 'UnreadableDefinition'
  /** The content of the file; null if it can't be read. */
  readonly source: JsonObject | null
  /** Whether a later version of the program wrote it. */
  readonly isNewer: boolean

  constructor(reason: string, { source = null, isNewer = false }: Readable = {}) {
    super(reason)
    this.source = source
    this.isNewer = isNewer
  }
}
