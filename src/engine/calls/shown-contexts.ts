// engine/calls: views of contexts, also those that callers have waited for: many may wait for one commit, and share one view.
import type { ContextView } from '../../api/contexts.ts'
import type { ContextId } from '../../model/context.ts'
import type { ContextRecord, Move } from '../../model/record.ts'
import { breathe } from '../../model/texts.ts'
import type { Store } from '../../ports/store.ts'
import type { RecordReader } from '../contexts/context-loader.ts'
import { WHOLE } from '../record/decode.ts'
import { movesOf } from '../record/move-log.ts'
import { relativesOf, type RelativesEnv } from '../record/relatives.ts'
import { contextView, type ViewEnv } from '../record/views.ts'
import type { Waits } from '../waits/waits.ts'

interface ShownEnv extends Omit<RelativesEnv, 'isVisible'>, Pick<ViewEnv, 'startedAt'> {
  readonly store: Store
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** What the view of a context shows beside its record. `isVisible`: whether those who see it may see one of that service. */
export async function viewEnvOf(
  { store, catalog, log, startedAt, now }: ShownEnv,
  record: ContextRecord,
  isVisible: RelativesEnv['isVisible'],
): Promise<ViewEnv> {
  const env = { store, catalog, log, isVisible }
  const [moves, relatives] = await Promise.all([movesOf(record, env), relativesOf(record, env)])
  return { ...relatives, moves, startedAt, now: now() }
}

interface ShownContext {
  readonly record: ContextRecord
  readonly moves: readonly Move[]
  readonly view: ContextView
  /** Of the record. */
  readonly characters: number
}

interface ShownContextsParts extends ShownEnv {
  readonly waits: Waits
  readonly reader: RecordReader
}

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
    const { record, flux, characters, release } = await this.#parts.reader.open(id, { extent: WHOLE })
    try {
      // Many callers share the view, whatever their rights.
      const shown = await viewEnvOf(this.#parts, record, ({ secured }) => !secured)
      return { record, moves: shown.moves, view: contextView(record, flux, shown), characters }
    } finally {
      release()
    }
  }
}
