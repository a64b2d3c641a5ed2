// engine/calls: views of contexts, also those that callers have waited for: many may wait for one commit, and share one view.
import type { ContextId, ContextRecord } from '../../model/context.ts'
import { SharedRun } from '../../model/shared-run.ts'
import { breathe } from '../../model/texts.ts'
import type { Parts } from '../core/core.ts'
import { WHOLE } from '../record/decode.ts'
import { movesOf } from '../record/move-log.ts'
import { relativesOf, type RelativesEnv } from '../record/relatives.ts'
import { contextView, type ViewEnv } from '../record/views.ts'

/** What the view of a context shows beside its record. `isVisible`: whether those who see it may see one of that service. */
export async function viewEnvOf(
  parts: Parts,
  record: ContextRecord,
  isVisible: RelativesEnv['isVisible'],
): Promise<ViewEnv> {
  const env = { ...parts, isVisible }
  const [moves, relatives] = await Promise.all([movesOf(record, env), relativesOf(record, env)])
  return { ...relatives, moves, startedAt: parts.startedAt, now: parts.clock.now() }
}

/** Shows contexts as they are when they are asked for. */
export function contextShower(parts: Parts) {
  async function read(id: ContextId) {
    const { record, flux, characters, release } = await parts.reader.open(id, { extent: WHOLE })
    try {
      // Many callers share the view, whatever their rights.
      const env = await viewEnvOf(parts, record, ({ secured }) => !secured)
      return { record, moves: env.moves, view: contextView(record, flux, env), characters }
    } finally {
      release()
    }
  }

  /** Reads under way. */
  const reads = new Map<ContextId, SharedRun<Awaited<ReturnType<typeof read>>>>()

  /** @throws FluxError `notFound` */
  return async (id: ContextId) => {
    const reading = reads.get(id) ?? new SharedRun(() => read(id))
    reads.set(id, reading)
    const shown = await reading.get().finally(() => reads.delete(id))
    // All that wait for it go on together.
    await breathe(shown.characters)
    return shown
  }
}
