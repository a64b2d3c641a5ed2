// ports: how servers tell one another of commits that a caller may wait for elsewhere. A hint only: whoever waits looks now and then all the same.
import type { ContextId } from '../model/context.ts'

export interface CommitFeed {
  /** Tells the other servers that the context has paused or ended. Never fails. */
  tell(id: ContextId): void
  /** Called for each context that a server told of, this one included. */
  onTold(listener: (id: ContextId) => void): void
  close(): Promise<void>
}
