// engine/record: decodes a stored context to its record, completely or only the head. Text that cannot be parsed is a
// failure (`unreadable`) of that context alone.
import { unreadable } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { NO_PENDING, type PendingEvent } from '../../model/pending.ts'
import type { ContextRecord, StateData } from '../../model/record.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { StoredContext } from '../../ports/store.ts'
import { movesOfTail } from './move-log.ts'
import { PENDING_PART, stateIndexOf, statePart, type Base, type DataPart, type Head } from './parts.ts'

type Texts = StoredContext['parts']

/** The names of the parts that a reader needs. */
export type Extent = (parts: Texts, flux: CompiledFlux) => readonly string[]

export const WHOLE: Extent = (parts) => Object.keys(parts)
export const HEAD: Extent = () => HEAD_PARTS
/** Without data, but with what the redactor of the rest needs: errors may quote values of sensitive properties. */
export const SUMMARY: Extent = (parts, flux) => (flux.isSensitive ? WHOLE(parts, flux) : SUMMARY_PARTS)
/** The data of one state, with what its redactor needs, and the newest moves. */
export const extentOfState =
  (stateName: string): Extent =>
  (parts, flux) => [...SUMMARY(parts, flux), 'tail', statePart(String(flux.stateIndex.get(stateName)))]

const HEAD_PARTS = ['base', 'head'] as const
const MOVES_PARTS = [...HEAD_PARTS, 'tail'] as const
const SUMMARY_PARTS = [...HEAD_PARTS, 'request', 'inheritedSecrets'] as const

/**
 * The record of a stored context. The engine wrote it, so its shape is trusted if it parses as JSON.
 *
 * @param names of the parts that are parsed, as far as there are such; left out: all
 * @throws FluxError `unreadable`
 */
export function decodeRecord(
  stored: Pick<StoredContext, 'id' | 'version' | 'parts'>,
  names?: readonly string[],
): ContextRecord {
  try {
    return recordOf(names === undefined ? stored : { ...stored, parts: partsNamed(stored.parts, names) })
  } catch (error) {
    throw unreadable(stored.id, error)
  }
}

function partsNamed(parts: Texts, names: readonly string[]): Texts {
  const few: { [name: string]: string } = {}
  for (const name of names) {
    const text = parts[name]
    if (text !== undefined) few[name] = text
  }
  return few
}

function recordOf({ id, version, parts }: Pick<StoredContext, 'id' | 'version' | 'parts'>): ContextRecord {
  if (parts['base'] === undefined || parts['head'] === undefined) throw new TypeError('parts of it are missing')
  const base: Base = JSON.parse(parts['base'])
  const head: Head = JSON.parse(parts['head'])
  const states: { [index: string]: StateData } = {}
  for (const name of Object.keys(parts)) {
    const index = stateIndexOf(name)
    if (index !== null) states[index] = JSON.parse(parts[name] ?? '{}')
  }
  // Each field is named, in the same order in all functions that create records: see `interpreter/transit.ts`.
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
    position: head.position,
    input: dataOf(parts, 'input') ?? {},
    output: dataOf(parts, 'output') ?? {},
    request: dataOf(parts, 'request'),
    inheritedSecrets: parts['inheritedSecrets'] === undefined ? null : JSON.parse(parts['inheritedSecrets']),
    raw: dataOf(parts, 'raw'),
    answer: parts['answer'] === undefined ? null : JSON.parse(parts['answer']),
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
export const decodeHead = (stored: Pick<StoredContext, 'id' | 'version' | 'parts'>): ContextRecord =>
  decodeRecord(stored, HEAD_PARTS)

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
export const decodeMoves = (stored: Pick<StoredContext, 'id' | 'version' | 'parts'>): ContextRecord =>
  decodeRecord(stored, MOVES_PARTS)
