// store/lmdb: the header of a record: everything except the texts of its parts. The index is built from it.
import type { StoredContext } from '../../../ports/store.ts'

export type Header = Omit<StoredContext, 'id' | 'parts'> & {
  /** Number of the oldest row of the log that is kept. */
  readonly firstRow: number
  /** Number of the next row of the log. */
  readonly nextRow: number
  readonly large: readonly LargePart[]
}

/** Which rows of a context's log are kept. */
export type Rows = Pick<Header, 'firstRow' | 'nextRow'>

/** A part that is stored as a row of its own. */
export interface LargePart {
  readonly name: string
  /** Length in UTF-16 units. */
  readonly length: number
  /** Key of the row, together with the id of the context. */
  readonly slot: number
  /** The version of the context in which the row was written. */
  readonly version: number
}

export const NO_LARGE_PARTS: readonly LargePart[] = []
