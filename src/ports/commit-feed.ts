// ports: notifications between servers about commits: another server may have a caller that waits for the context, or
// run a step that is no longer needed. They are hints and may be lost: receivers also poll.
import type { ContextId } from '../model/context.ts'

export interface CommitFeed {
  /** Notifies the other servers to check the context. Never throws. */
  notify(id: ContextId): void
  /** Registers a listener for notifications of all servers, this one included. */
  onNotified(listener: (id: ContextId) => void): void
  /** Asks the other servers to `notify` of their commits to these contexts for a while. Never throws. */
  watch(ids: readonly ContextId[]): void
  /** Registers a listener for the contexts that other servers watch. */
  onWatched(listener: (ids: readonly ContextId[]) => void): void
  /** Notifies the other servers that steps are ready for which this one has no free slot. Never throws. */
  notifyReady(): void
  /** Registers a listener for these notifications of all servers, this one included. */
  onReady(listener: () => void): void
  close(): Promise<void>
}
