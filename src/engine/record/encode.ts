// engine/record: encodes a record to the write that the store commits. Only the parts that changed are encoded again. A
// context that is too large is refused before it is encoded.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { sizeOf } from '../../model/json/weight.ts'
import { isFinished, type ContextId } from '../../model/context.ts'
import type { ContextRecord, Move } from '../../model/record.ts'
import type { StoredContext, Write } from '../../ports/store.ts'
import { addressOf, usingKey } from './context-key.ts'
import { indexKeysOf } from './index-keys.ts'
import { tailAfter } from './move-log.ts'
import { ownerOf } from '../interpreter/position.ts'
import { baseOf, DATA_PARTS, headOf, PENDING_PART, statePart } from './parts.ts'

interface Change {
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
  readonly notifies: readonly ContextId[]
  readonly answersNotification: boolean
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
  const { before, texts, next: decided, flux, log, notifies, answersNotification } = change
  const tail = tailAfter(decided, decided.tail === before?.tail ? texts['tail'] : undefined, log)
  const version = decided.version + 1
  const record: ContextRecord = { ...decided, version, tail: tail.moves }
  const { parts, changed } = encodeParts(record, tail.text, change)
  const isBegun = before === null || (isFinished(before.status) && !isFinished(record.status))
  const address = isBegun ? addressOf(record) : null
  const context: StoredContext = {
    id: record.id,
    version,
    indexKeys: indexKeysOf(record, flux),
    due: dueOf(record),
    owner: ownerOf(record, flux),
    endedAt: record.endedAt,
    parent: record.parent?.id ?? null,
    parts,
  }
  const write: Write = { context, previous: version - 1, changed, log: tail.rows, notifies, answersNotification }
  return { record, write: address === null ? write : { ...write, unique: usingKey(address) } }
}

/** The texts of all parts, and the names of those that changed. @throws RecordTooLarge */
function encodeParts(
  next: ContextRecord,
  tail: string | null,
  { before, texts, maxRecord }: Change,
): { readonly parts: { [name: string]: string }; readonly changed: string[] } {
  const base = before?.definition === next.definition ? texts['base'] : undefined
  const parts: { [name: string]: string } = {
    base: base ?? JSON.stringify(baseOf(next)),
    head: JSON.stringify(headOf(next)),
    ...(tail !== null && { tail }),
  }
  const changed = base === undefined ? ['base', 'head'] : ['head']
  let length = 0
  const encode = (name: string, value: object | null | undefined, old: object | null | undefined) => {
    const same = (value ?? null) === (old ?? null)
    if (value) {
      const known = parts[name] ?? (same ? texts[name] : undefined)
      // Measured before it is encoded: a value that contains the same object many times takes little memory, but its
      // text may be exponentially long.
      if (known === undefined && sizeOf(value, maxRecord - length) > maxRecord - length)
        throw new RecordTooLarge(next.id, maxRecord)
      const text = known ?? JSON.stringify(value)
      parts[name] = text
      length += text.length
      if (length > maxRecord) throw new RecordTooLarge(next.id, maxRecord)
    }
    if (!same && parts[name] !== texts[name]) changed.push(name)
  }
  for (const name of DATA_PARTS) encode(name, next[name], before?.[name])
  if (next.pending.length > 0) {
    const text = next.pending === before?.pending ? texts[PENDING_PART] : undefined
    parts[PENDING_PART] = text ?? JSON.stringify(next.pending)
    if (parts[PENDING_PART] !== texts[PENDING_PART]) changed.push(PENDING_PART)
  }
  // A state that was visited stays in the record: `next` has every state that `before` has.
  for (const index of Object.keys(next.states)) encode(statePart(index), next.states[index], before?.states[index])
  return { parts, changed }
}

/** When the store must have the context woken: nothing wakes one that is paused. */
const dueOf = ({ isPaused, due }: ContextRecord): number | null => (isPaused ? null : due)

/** A context that has ended keeps no events. */
function withoutPending({ [PENDING_PART]: _pending, ...others }: StoredContext['parts']): StoredContext['parts'] {
  return others
}

/** The write that changes only the head of a context, whose other parts need not be parsed for it. */
export function headWrite(
  stored: StoredContext,
  next: ContextRecord,
  flux: CompiledFlux,
  notifies: readonly ContextId[],
): Write {
  const context: StoredContext = {
    ...stored,
    version: stored.version + 1,
    indexKeys: indexKeysOf(next, flux),
    due: dueOf(next),
    owner: ownerOf(next, flux),
    endedAt: next.endedAt,
    parts: {
      ...(isFinished(next.status) ? withoutPending(stored.parts) : stored.parts),
      head: JSON.stringify(headOf(next)),
    },
  }
  return {
    context,
    previous: stored.version,
    changed: ['head'],
    log: [],
    notifies,
    answersNotification: next.child === null,
  }
}
