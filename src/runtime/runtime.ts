// runtime: what main.ts wires and everyone else calls.
import type { Caller, FluxApi } from '../model/calls.ts'

export interface Runtime {
  /** The nine calls, as that caller may make them. */
  api(caller: Caller): FluxApi
  /** Claims what a dead server left, rings the alarm, begins to purge. */
  start(): Promise<void>
  /** Takes nothing new, lets steps under way finish for at most `grace` milliseconds, aborts the rest (they run again later), releases everything. */
  close(options?: { grace?: number }): Promise<void>
}
