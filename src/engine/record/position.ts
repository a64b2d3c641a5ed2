// engine/record: the step of a context, as it is in its record.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextId } from '../../model/context.ts'
import type { ContextRecord } from '../../model/record.ts'

/** A step to start after the commit: only what identifies it. Its data is in the record. */
export interface Step {
  readonly id: ContextId
  readonly state: number
  readonly epoch: number
  readonly attempt: number
  /** Run id of the server. */
  readonly owner: string
}

/** The step under way, if a server runs one. */
export function stepOf(record: ContextRecord): Step | null {
  if (record.lease === null) return null
  const { epoch, attempt } = record.position
  return { id: record.id, state: record.state, epoch, attempt, owner: record.lease.owner }
}

/** Whether the step of that state is a function that runs in the server's own process. */
export function runsHere({ states }: CompiledFlux, state: number): boolean {
  const action = states[state]?.action
  return action?.code?.isolate === false
}
