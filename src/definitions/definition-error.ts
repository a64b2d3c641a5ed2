// definitions: errors of pinned definitions that can't be compiled any more, in some states or as a whole.
import type { JsonObject } from '../model/json/value.ts'

/** Thrown when a context acts in a state that can't be compiled any more. */
export class DefinitionError extends Error {
  override readonly name = 'DefinitionError'
}

/** Not even the states of a definition can be read (see compile/lost.ts). */
export class UnreadableDefinition extends Error {
  override readonly name = 'UnreadableDefinition'
  /** The content of the file; null if it can't be read. */
  readonly source: JsonObject | null
  /** Whether it has another format than this version's. */
  readonly isForeign: boolean

  constructor(
    reason: string,
    { source = null, isForeign = false }: Partial<Pick<UnreadableDefinition, 'source' | 'isForeign'>> = {},
  ) {
    super(reason)
    this.source = source
    this.isForeign = isForeign
  }
}
