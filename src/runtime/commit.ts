// runtime: makes what was decided true in the store, and copies in memory what the store has. They only save a read: what was overtaken, or is in doubt, is read again.
import type { ContextId } from '../model/context.ts'
import { FluxError } from '../model/failure.ts'
import type { CommitOutcome, Write } from '../ports/store.ts'
import { decode } from './codec.ts'
import type { Work, WorkParts } from './work.ts'

export interface CommitParts extends Pick<WorkParts, 'store' | 'recent'> {
  /** What was to become of the context may have become true or not. */
  readonly onDoubt: (id: ContextId) => void
}

/** Commits, unless another server was faster. What is in doubt is looked after. @throws FluxError `unavailable` */
export async function tryCommit({ store, recent, onDoubt }: CommitParts, writes: readonly Write[], lost: number): Promise<CommitOutcome> {
  try {
    return await store.commit({ writes, lost })
  } catch (error) {
    for (const { context } of writes) recent.forget(context.id)
    if (error instanceof FluxError && error.failure.kind === 'unavailable' && error.failure.inDoubt) for (const { context } of writes) onDoubt(context.id)
    throw error
  }
}

/** False when another server was faster. */
export async function write(parts: CommitParts, work: Work, writes: readonly Write[], lost: number): Promise<boolean> {
  const { recent } = parts
  const outcome = await tryCommit(parts, writes, lost)
  if (outcome.ok) return true
  for (const id of work.entries.keys()) recent.forget(id)
  const entry = work.entries.get(outcome.stale)
  if (outcome.current && entry) recent.keep({ record: decode(outcome.current), flux: entry.flux }, outcome.current.parts, work.era)
  return false
}

/** Whether what came to nothing was decided on what the store has, and not on an old copy. */
export async function isStill({ store, recent }: CommitParts, work: Work): Promise<boolean> {
  for (const { record } of work.entries.values()) {
    if (await store.version({ id: record.id }) === record.version) continue
    recent.forget(record.id)
    return false
  }
  return true
}
