// engine/record: encodes a record to the write that the store commits. Only the parts that changed are encoded again. A
// context that is too large is refused before it is encoded.
//
// Each part of a record is one text, so that a commit writes only the parts that changed: `base` has the fields that are
// fixed at the start, `head` all other fields without data, `tail` the newest moves, one a line, `pending` the events that
// came early; each of `DATA_PARTS` is a field, and the data of each state is a part.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { sizeOf } from '../../model/json/weight.ts'
import { type ContextId, type ContextRecord, isFinished, type Move } from '../../model/context.ts'
import type { StoredContext, Write } from '../../ports/store.ts'
import { addressOf, indexKeysOf, usingKey } from './index-keys.ts'
import { tailAfter } from './move-log.ts'
import { ownerOf } from '../interpreter/position.ts'

type Texts = StoredContext['parts']

const DATA_PARTS = [
  'input',
  'output',
  'request',
  'inheritedSecrets',
  'raw',
  'answer',
  'response',
  'args',
  'beforeEnd',
] as const

/** The part with the events that came early. It is absent where there are none, and has a bound of its own. */
export const PENDING_PART = 'pending'

export type Base = ReturnType<typeof baseOf>
/** What every head has. */
export type Head = Omit<Pick<ContextRecord, keyof ReturnType<typeof headOf>>, keyof typeof ABSENT>

/** The field `answerRows` is left out where there are none. */
export const baseOf = ({
  package: owner,
  fluxName,
  definition,
  startState,
  startedAt,
  trigger,
  trackerId,
  parent,
  key,
  answerRows,
}: ContextRecord) => ({
  package: owner,
  fluxName,
  definition,
  startState,
  startedAt,
  trigger,
  trackerId,
  parent,
  key,
  answerRows,
})

/** Fields that the head has only if they are not null, as a head of them is half as long. */
export const ABSENT = {
  endedAt: null,
  due: null,
  error: null,
  exception: null,
  fluxEvent: null,
  child: null,
  lease: null,
} as const

/** Each field is named: a rest pattern is many times as slow, and this runs for every commit. */
const headOf = ({
  status,
  state,
  updatedAt,
  endedAt,
  due,
  tags,
  error,
  exception,
  fluxEvent,
  child,
  lease,
  moves,
  visited,
  position,
  isPaused,
  retries,
  keyEpoch,
  paused,
  stepStartedAt,
  lastError,
  lastEvent,
  traceparent,
}: ContextRecord) => ({
  status,
  state,
  updatedAt,
  endedAt: endedAt ?? undefined,
  due: due ?? undefined,
  tags,
  error: error ?? undefined,
  exception: exception ?? undefined,
  fluxEvent: fluxEvent ?? undefined,
  child: child ?? undefined,
  lease: lease ?? undefined,
  moves,
  visited,
  position,
  isPaused,
  retries,
  keyEpoch,
  paused,
  stepStartedAt,
  lastError,
  lastEvent,
  traceparent,
})

interface Change extends Pick<Write, 'notifies' | 'answersNotification'> {
  /** null: the context is new. */
  readonly before: ContextRecord | null
  /**
   * The texts of `before`. Data is never changed, only replaced, so the text of a part that is the same object is still
   * valid.
   */
  readonly texts: StoredContext['parts']
  readonly next: ContextRecord
  readonly flux: CompiledFlux
  /** Moves made since `before`. */
  readonly log: readonly Move[]
  /** Characters that the texts of all data parts may have together. */
  readonly maxRecord: number
}

/** The context would be larger than the store accepts. */
export class RecordTooLarge extends Error {
  override readonly name = 'RecordTooLarge'
  readonly id: ContextId
  constructor(id: ContextId, limit: number) {
    super(`the context would be larger than ${limit} characters of JSON`)
    this.id = id
  }
}

/**
 * The write that replaces `before` by `next`, and the record after the write: its version is incremented, and its tail
 * has the new moves.
 * @throws RecordTooLarge before a part that is too large is encoded
 */
export function writeOf(change: Change): { write: Write; record: ContextRecord } {
  const { before, texts, next, flux, log, notifies, answersNotification } = change
  const { tail, log: rows } = tailAfter(next, log)
  const record: ContextRecord = { ...next, version: next.version + 1, tail }
  const parts = partsOf(change, JSON.stringify(headOf(record)), tail)
  const isBegun = before === null || (isFinished(before.status) && !isFinished(record.status))
  const address = isBegun ? addressOf(record) : null
  const changed: string[] = []
  for (const name of Object.keys(parts)) if (parts[name] !== texts[name]) changed.push(name)
  for (const name of Object.keys(texts)) if (parts[name] === undefined) changed.push(name)
  const write = {
    context: contextOf(record, flux, parts),
    previous: next.version,
    changed,
    log: rows,
    notifies,
    answersNotification,
  }
  return { record, write: address === null ? write : { ...write, unique: usingKey(address) } }
}

/** The texts of all parts: a copy of them would take long, and this runs for every commit. @throws RecordTooLarge */
function partsOf({ before, texts, next, maxRecord }: Change, head: string, tail: Texts[string]): Texts {
  const known = (name: string, isSame: boolean) => (isSame ? texts[name] : undefined)
  const parts: { [name: string]: Texts[string] } = {
    base: known('base', next.definition === before?.definition) ?? JSON.stringify(baseOf(next)),
    head,
    tail,
  }
  if (next.pending.length > 0)
    parts[PENDING_PART] = known(PENDING_PART, next.pending === before?.pending) ?? JSON.stringify(next.pending)
  let left = maxRecord
  const encode = (name: string, value: object | null | undefined, old: object | null | undefined) => {
    if (!value) return
    let text = known(name, value === old)
    // Measured before it is encoded: a value that contains the same object many times takes little memory, but its
    // text may be exponentially long.
    if (text === undefined && sizeOf(value, left) <= left) text = JSON.stringify(value)
    if (text === undefined || text.length > left) throw new RecordTooLarge(next.id, maxRecord)
    left -= text.length
    parts[name] = text
  }
  for (const name of DATA_PARTS) encode(name, next[name], before?.[name])
  for (const key of Object.keys(next.states)) encode(key, next.states[key], before?.states[key])
  return parts
}

const contextOf = (record: ContextRecord, flux: CompiledFlux, parts: Texts): StoredContext => ({
  id: record.id,
  version: record.version,
  indexKeys: indexKeysOf(record, flux),
  // Nothing wakes a context that is paused.
  due: record.isPaused ? null : record.due,
  owner: ownerOf(record, flux),
  endedAt: record.endedAt,
  parent: record.parent?.id ?? null,
  parts,
})

/** The write that changes only the head of a context, whose other parts need not be parsed for it. */
export function headWrite(
  { version, parts: texts }: Pick<StoredContext, 'version' | 'parts'>,
  next: ContextRecord,
  flux: CompiledFlux,
  notifies: readonly ContextId[],
): Write {
  const parts: { [name: string]: string } = { ...texts, head: JSON.stringify(headOf(next)) }
  // A context that has ended keeps no events.
  if (isFinished(next.status)) delete parts[PENDING_PART]
  return {
    context: contextOf({ ...next, version: version + 1 }, flux, parts),
    previous: version,
    changed: parts[PENDING_PART] === texts[PENDING_PART] ? ['head'] : ['head', PENDING_PART],
    log: [],
    notifies,
    answersNotification: next.child === null,
  }
}
