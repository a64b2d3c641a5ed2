// engine/calls: views of contexts that callers have waited for. Many may wait for one commit: they share one view.
import type { ContextView } from '../../api/contexts.ts'
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextId } from '../../model/context.ts'
import type { ContextRecord, Move } from '../../model/record.ts'
import { breathe } from '../../model/texts.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { WHOLE } from '../record/decode.ts'
import { movesOf } from '../record/move-log.ts'
import { relativesOf } from '../record/relatives.ts'
import { contextView, type StartedAt } from '../record/views.ts'
import type { Waits } from '../waits/waits.ts'
import type { RecordReader } from '../contexts/record-reader.ts'

interface ShownContext {
  readonly record: ContextRecord
  readonly moves: readonly Move[]
  readonly view: ContextView
  /** Of the record. */
  readonly characters: number
}

interface ShownContextsParts {
  readonly store: Store
  readonly catalog: Catalog
  readonly log: Log
  readonly waits: Waits
  readonly reader: RecordReader
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
  async show(id: ContextId): Promise<ShownContext> {
    const shown = await this.#latest(id)
    // All that wait for it go on together.
    await breathe(shown.characters)
    return shown
  }

  #latest(id: ContextId): Promise<ShownContext> {
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
    const { store, catalog, log, reader, startedAt, now } = this.#parts
    const { record, flux, characters, release } = await reader.open(id, { extent: WHOLE })
    try {
      const moves = await movesOf(record, this.#parts)
      const relatives = await relativesOf(record, { store, catalog, log, isVisible: isOpen })
      const view = contextView(record, flux, { ...relatives, moves, startedAt, now: now() })
      return { record, moves, view, characters }
    } finally {
      release()
    }
  }
}
