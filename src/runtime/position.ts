// runtime: where a context stands within its state, as the machine's snapshot in the record tells it.
import type { AnyMachineSnapshot } from 'xstate'
import type { CompiledFlux } from '../definitions/flux.ts'
import type { MachineContext } from '../definitions/machine.ts'
import type { ContextId } from '../model/context.ts'
import { isObject, type Json } from '../model/json.ts'
import type { ContextRecord } from '../model/record.ts'

/** A step to start after the commit: nothing but what tells it from all others. Its data is in the record. */
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
  const { epoch, attempt } = machineContext(record)
  return { id: record.id, state: record.state, epoch, attempt, owner: record.lease.owner }
}

/** Whether the step of that state is a function that runs in the server's own process. */
export function runsHere({ states }: CompiledFlux, state: number): boolean {
  const action = states[state]?.action
  return action?.kind === 'code' && !action.isolate
}

/** The machine's own context, as the record keeps it. */
export function machineContext({ snapshot }: ContextRecord): Omit<MachineContext, 'draft'> {
  const { moves, epoch, attempt, due, pick } = isObject(snapshot['context']) ? snapshot['context'] : {}
  return {
    moves: Number(moves ?? 0), epoch: Number(epoch ?? 0), attempt: Number(attempt ?? 1), due: typeof due === 'number' ? due : null,
    pick: typeof pick === 'number' || pick === 'completed' || pick === 'failed' || pick === 'terminated' ? pick : null,
  }
}

/** In which of its sub-states (`waiting`, `acting`, …) the current state is; the name of the end for a finished context. */
export const machineState = ({ snapshot }: ContextRecord): string => phaseOf(snapshot)

export function phaseOf({ value }: { readonly value?: Json | AnyMachineSnapshot['value'] }): string {
  return typeof value === 'string' ? value : String(Object.values(value ?? {})[0] ?? '')
}
