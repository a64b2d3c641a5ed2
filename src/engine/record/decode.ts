// engine/record: decodes a stored context to its record, completely or only the head. Text that cannot be parsed is a
// failure (`unreadable`) of that context alone.
import { unreadable } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { NO_PENDING, type PendingEvent } from '../../model/pending.ts'
import type { ContextRecord, Position, StateData } from '../../model/record.ts'
import type { StoredContext } from '../../ports/store.ts'
import { phaseOf } from '../interpreter/nodes.ts'
import { movesOfTail } from './move-log.ts'
import { PENDING_PART, stateIndexOf, type Base, type DataPart, type Head } from './parts.ts'

/**
 * The record of a stored context. The engine wrote it, so its shape is trusted if it parses as JSON.
 * @throws FluxError `unreadable`
 */
export function decodeRecord(stored: Pick<StoredContext, 'id' | 'version' | 'parts'>): ContextRecord {
  try {
    return recordOf(stored)
  } catch (error) {
    throw unreadable(stored.id, error)
  }
}

function recordOf({ id, version, parts }: Pick<StoredContext, 'id' | 'version' | 'parts'>): ContextRecord {
  if (parts['base'] === undefined || parts['head'] === undefined) throw new TypeError('parts of it are missing')
  const base: Base = JSON.parse(parts['base'])
  const head: Head & WrittenBefore = JSON.parse(parts['head'])
  const states: { [index: string]: StateData } = {}
  for (const name of Object.keys(parts)) {
    const index = stateIndexOf(name)
    if (index !== null) states[index] = JSON.parse(parts[name] ?? '{}')
  }
  // Each field is named, in the same order in all functions that create records: see `interpreter/next-record.ts`.
  return {
    id,
    version,
    package: base.package,
    fluxName: base.fluxName,
    definition: base.definition,
    status: head.status,
    state: head.state,
    startState: base.startState,
    startedAt: base.startedAt,
    updatedAt: head.updatedAt,
    endedAt: head.endedAt,
    due: head.due,
    tags: head.tags,
    error: head.error,
    exception: head.exception,
    fluxEvent: head.fluxEvent,
    trigger: base.trigger,
    trackerId: base.trackerId,
    key: base.key ?? null,
    answerRows: base.answerRows,
    parent: base.parent,
    child: head.child,
    lease: head.lease,
    stepStartedAt: head.stepStartedAt,
    lastError: head.lastError,
    lastEvent: head.lastEvent,
    traceparent: head.traceparent,
    moves: head.moves,
    tail: movesOfTail(parts['tail'] ?? '[]'),
    visited: head.visited,
    position: head.snapshot ? positionOf(head.snapshot) : head.position,
    input: dataOf(parts, 'input') ?? {},
    output: dataOf(parts, 'output') ?? {},
    request: dataOf(parts, 'request'),
    inherited: dataOf(parts, 'inherited'),
    raw: dataOf(parts, 'raw'),
    answer: answerIn(parts),
    isPaused: head.isPaused,
    retries: head.retries,
    keyEpoch: head.keyEpoch,
    beforeEnd: parts['beforeEnd'] === undefined ? undefined : JSON.parse(parts['beforeEnd']),
    numbering: head.numbering,
    paused: head.paused,
    response: dataOf(parts, 'response'),
    pending: pendingOf(parts),
    args: dataOf(parts, 'args'),
    states,
  }
}

function answerIn({ answer }: StoredContext['parts']): ContextRecord['answer'] {
  return answer === undefined ? null : { filled: [], from: [], ...JSON.parse(answer) }
}

/**
 * Version 0.1 stored the machine's snapshot, in which nodes had other names: `{ "s0": "waiting" }`, or the name of an
 * end.
 */
interface WrittenBefore {
  readonly snapshot?: { readonly value: unknown; readonly context: Omit<Position, 'phase'> }
}

function positionOf({
  value,
  context: { moves, epoch, attempt, pick },
}: NonNullable<WrittenBefore['snapshot']>): Position {
  return { phase: phaseOf(typeof value === 'string' ? `$${value}` : value), moves, epoch, attempt, pick }
}

/** The hash of the definition that the context was started with. Parses only the part that has it. */
export function definitionOf({ parts }: StoredContext): string {
  const { definition }: Base = JSON.parse(parts['base'] ?? '{}')
  return definition
}

/** The events that came early, as the part of the record has them. */
export function pendingOf(parts: StoredContext['parts']): readonly PendingEvent[] {
  const text = parts[PENDING_PART]
  return text === undefined ? NO_PENDING : JSON.parse(text)
}

function dataOf(parts: StoredContext['parts'], name: DataPart): JsonObject | null {
  const text = parts[name]
  return text === undefined ? null : JSON.parse(text)
}

/** The record without its data parts, which may be large and are not parsed. @throws FluxError `unreadable` */
export const decodeHead = ({
  id,
  version,
  parts: { base, head },
}: Pick<StoredContext, 'id' | 'version' | 'parts'>): ContextRecord =>
  decodeRecord({ id, version, parts: { ...(base !== undefined && { base }), ...(head !== undefined && { head }) } })

/** The record without most of its data: with what its redactor needs. @throws FluxError `unreadable` */
export function decodeSummary({ id, version, parts }: Pick<StoredContext, 'id' | 'version' | 'parts'>): ContextRecord {
  const few: { [name: string]: string } = {}
  for (const name of SUMMARY_PARTS) {
    const text = parts[name]
    if (text !== undefined) few[name] = text
  }
  return decodeRecord({ id, version, parts: few })
}

const SUMMARY_PARTS = ['base', 'head', 'input', 'request', 'inherited'] as const

/** When a context was started, epoch milliseconds. @throws FluxError `unreadable` */
export function startedAtOf({ id, parts }: Pick<StoredContext, 'id' | 'parts'>): number {
  try {
    const { startedAt }: Base = JSON.parse(parts['base'] ?? '')
    return startedAt
  } catch (error) {
    throw unreadable(id, error)
  }
}

/** When a context was last changed, epoch milliseconds. @throws FluxError `unreadable` */
export function updatedAtOf({ id, parts }: Pick<StoredContext, 'id' | 'parts'>): number {
  try {
    const { updatedAt }: Head = JSON.parse(parts['head'] ?? '')
    return updatedAt
  } catch (error) {
    throw unreadable(id, error)
  }
}

/** The record with its newest moves, and without its data. @throws FluxError `unreadable` */
export const decodeMoves = ({
  id,
  version,
  parts: { base, head, tail },
}: Pick<StoredContext, 'id' | 'version' | 'parts'>): ContextRecord =>
  decodeRecord({
    id,
    version,
    parts: {
      ...(base !== undefined && { base }),
      ...(head !== undefined && { head }),
      ...(tail !== undefined && { tail }),
    },
  })
