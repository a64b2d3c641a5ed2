// engine/calls: views of contexts that callers have waited for. Many may wait for one commit: they share one view.
import type { ContextView } from '../../api/get-context.ts'
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextId } from '../../model/context.ts'
import { notFound } from '../../model/failure.ts'
import type { ContextRecord, Move } from '../../model/record.ts'
import { breathe, charactersOf } from '../../model/texts.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { decodeRecord } from '../record/decode.ts'
import { movesOf } from '../record/move-log.ts'
import { pinnedFluxOf } from '../record/pinned-flux.ts'
import { relativesOf } from '../record/relatives.ts'
import type { StartedAt } from '../record/step-view.ts'
import { contextView } from '../record/views.ts'
import type { Waits } from '../waits/waits.ts'

interface ShownContext {
  readonly record: ContextRecord
  readonly moves: readonly Move[]
  readonly view: ContextView
}

interface ShownContextsParts {
  readonly store: Store
  readonly catalog: Catalog
  readonly log: Log
  readonly waits: Waits
  readonly startedAt: StartedAt
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** Many callers share the view, whatever their rights. */
const isOpen = ({ secured }: CompiledFlux): boolean => !secured

export class ShownContexts {
  readonly #parts: ShownContextsParts
  readonly #shown = new Map<ContextId, { readonly version: number | null; readonly shown: Promise<ShownContext> }>()

  constructor(parts: ShownContextsParts) {
    this.#parts = parts
  }

  /** The context as it is now. @throws FluxError `notFound` */
  show(id: ContextId): Promise<ShownContext> {
    const version = this.#parts.waits.versionOf(id)
    const known = this.#shown.get(id)
    if (known && version !== null && known.version === version) return known.shown
    const shown = this.#read(id)
    this.#shown.set(id, { version, shown })
    const forget = () => {
      if (this.#shown.get(id)?.shown === shown) this.#shown.delete(id)
    }
    shown.then(forget, forget)
    return shown
  }

  async #read(id: ContextId): Promise<ShownContext> {
    const { store, catalog, log, startedAt, now } = this.#parts
    const stored = await store.load({ id })
    if (!stored) throw notFound(`there is no context ${id}`)
    await breathe(charactersOf(stored.parts))
    const record = decodeRecord(stored)
    const flux = await pinnedFluxOf({ catalog, store }, stored, record)
    const moves = await movesOf(record, this.#parts)
    const relatives = await relativesOf(record, { store, catalog, log, isVisible: isOpen })
    return { record, moves, view: contextView(record, flux, { ...relatives, moves, startedAt, now: now() }) }
  }
}
