// store/lmdb: what the index is built from: all of a record but its texts.
import type { StoredContext } from '../../../ports/store.ts'

export type Header = Omit<StoredContext, 'id' | 'parts'> & {
  /** Number of the first row of the log that is kept. */
  readonly firstRow: number
  /** Number of the next row of the log. */
  readonly nextRow: number
  readonly large: readonly LargePart[]
}

/** Which rows of its log are kept. */
export type Rows = Pick<Header, 'firstRow' | 'nextRow'>

/** A part that is a row of its own. */
export interface LargePart {
  readonly name: string
  /** UTF-16 units. */
  readonly length: number
  /** Key of the row, together with the id of the context. */
  readonly slot: number
  /** Version of the context that wrote the row. */
  readonly version: number
}

export const NO_LARGE_PARTS: readonly LargePart[] = []
