// engine/turn: the data that a turn can read without waiting, and the description of what it lacks.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextId } from '../../model/context.ts'
import type { ContextRecord, Move } from '../../model/record.ts'
import type { StoredContext } from '../../ports/store.ts'

/** A context as it was last read or committed. */
export interface KnownContext {
  readonly record: ContextRecord
  readonly flux: CompiledFlux
  readonly texts: StoredContext['parts']
}

/** Data that a turn needs and that must be fetched first. */
export type Need =
  | { readonly kind: 'context' | 'history'; readonly id: ContextId }
  | { readonly kind: 'id'; readonly partition: number }
  /** The newest context of the partition that has the index key. */
  | { readonly kind: 'holder'; readonly key: string; readonly partition: number }
  /** The store must have the definition before a commit names it. */
  | { readonly kind: 'definition'; readonly flux: CompiledFlux }

/** Thrown when a turn lacks something. Not an Error: it is always caught, and needs no stack. */
export class Lacking {
  readonly need: Need
  constructor(need: Need) {
    this.need = need
  }
}

/** Data that is available without waiting. `undefined`: it must be fetched first (`service`: there is none). */
export interface KnownContexts {
  /** null: there is no such context. */
  context(id: ContextId): KnownContext | null | undefined
  history(id: ContextId): readonly Move[] | undefined
  newId(partition: number): ContextId | undefined
  /** The newest context that has the index key; null: there was none. */
  holder(key: string): ContextId | null | undefined
  isPinned(flux: CompiledFlux): boolean
  /** The service of that name, resolved from that package; undefined: there is none. */
  service(packageName: string, fluxName: string): CompiledFlux | undefined | 'ambiguous'
  readonly partitions: number
}
