// inspector/pages: what all parts of the page of a context know of it.
import type { ContextEventsView, ContextView } from '../../../api/contexts.ts'
import type { JsonObject } from '../../../model/json/value.ts'
import type { Refusal } from '../../routes.tsx'
import type { Stay } from './moves.ts'

/** What is shown of a context. */
export interface ShownContext {
  readonly context: ContextView
  readonly events: ContextEventsView
  /** null: it can't be shown. */
  readonly definition: JsonObject | null
  readonly stays: readonly Stay[]
  /** Address of the data of a state. */
  readonly hrefOf: (state: string) => string
  /** A form that was refused, and the event that it would have sent; null: it is a form of another kind. */
  readonly refused: { readonly event: string | null; readonly refusal: Refusal } | null
}
