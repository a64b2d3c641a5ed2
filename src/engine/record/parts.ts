// engine/record: the parts of a stored record. Each part is one text, so that a commit writes only the parts that
// changed.
import type { ContextRecord } from '../../model/record.ts'

/**
 * The parts with data, in addition to one part for each state. Two more parts exist: `base` has the fields that are
 * fixed at the start, `head` all other fields.
 */
export const DATA_PARTS = [
  'input',
  'output',
  'request',
  'inheritedSecrets',
  'raw',
  'answer',
  'response',
  'args',
  'beforeEnd',
  'tail',
] as const

export type DataPart = (typeof DATA_PARTS)[number]

/** The part with the events that came early. It is absent where there are none, and has a bound of its own. */
export const PENDING_PART = 'pending'

const STATE = 's'

/** The name of the part with the data of that state. */
export const statePart = (index: string): string => STATE + index

/** The index of the state whose data the part holds; null for any other part. */
export const stateIndexOf = (part: string): string | null => (part.startsWith(STATE) ? part.slice(STATE.length) : null)

export type Base = Pick<
  ContextRecord,
  'package' | 'fluxName' | 'definition' | 'startState' | 'startedAt' | 'trigger' | 'trackerId' | 'parent'
> & {
  /** Left out where there is none. */
  readonly key?: string | undefined
  readonly answerRows?: ContextRecord['answerRows']
}
export type Head = Omit<ContextRecord, 'id' | 'version' | 'states' | typeof PENDING_PART | keyof Base | DataPart>

/** Each field is named: a rest pattern is many times as slow, and this runs for every commit. */
export function headOf(record: ContextRecord): Head {
  return {
    status: record.status,
    state: record.state,
    updatedAt: record.updatedAt,
    endedAt: record.endedAt,
    due: record.due,
    tags: record.tags,
    error: record.error,
    exception: record.exception,
    fluxEvent: record.fluxEvent,
    child: record.child,
    lease: record.lease,
    moves: record.moves,
    visited: record.visited,
    position: record.position,
    isPaused: record.isPaused,
    retries: record.retries,
    keyEpoch: record.keyEpoch,
    numbering: record.numbering,
    paused: record.paused,
    stepStartedAt: record.stepStartedAt,
    lastError: record.lastError,
    lastEvent: record.lastEvent,
    traceparent: record.traceparent,
  }
}

export const baseOf = ({
  package: name,
  fluxName,
  definition,
  startState,
  startedAt,
  trigger,
  trackerId,
  parent,
  key,
  answerRows,
}: ContextRecord): Base => ({
  package: name,
  fluxName,
  definition,
  startState,
  startedAt,
  trigger,
  trackerId,
  parent,
  key: key ?? undefined,
  answerRows,
})
