// ports: how servers tell one another of commits that matter elsewhere: a caller waits for one there, or a step runs
// there that is no more needed. A hint only: whoever is concerned looks now and then all the same.
import type { ContextId } from '../model/context.ts'

export interface CommitFeed {
  /** Tells the other servers to look at the context. Never fails. */
  notify(id: ContextId): void
  /** Called for each context that a server told of, this one included. */
  onNotified(listener: (id: ContextId) => void): void
  /** Asks the other servers to `notify` of their commits to these contexts for a while. Never fails. */
  watch(ids: readonly ContextId[]): void
  /** Called with the contexts that another server asks for. */
  onWatched(listener: (ids: readonly ContextId[]) => void): void
  /** Tells the other servers that steps are ready for which this one has no free slot. Never fails. */
  notifyReady(): void
  /** Called when a server said so, this one included. */
  onReady(listener: () => void): void
  close(): Promise<void>
}
