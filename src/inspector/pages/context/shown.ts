// inspector/pages: what all parts of the page of a context know of it.
import type { Refusal } from '../../routes.tsx'
import type { Situation } from '../../sentence.tsx'
import type { Viewer } from '../../viewer.ts'
import type { Stay } from './moves.ts'

/** What is shown of a context. */
export interface ShownContext extends Situation {
  readonly viewer: Viewer
  readonly stays: readonly Stay[]
  /** Address of the data of a state. */
  readonly hrefOf: (state: string) => string
  /** A form that was refused, and the event that it would have sent; null: it is a form of another kind. */
  readonly refused: { readonly event: string | null; readonly refusal: Refusal } | null
}
