// engine: records as the store keeps them: one text a part, so that only what changed is written.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextId } from '../../model/context.ts'
import { unreadable } from '../../model/failure.ts'
import { getOwn, setOwn, type JsonObject } from '../../model/json/value.ts'
import { MAX_LOG_ROWS, type ContextRecord, type Move, type Position, type StateData } from '../../model/record.ts'
import type { Log } from '../../ports/log.ts'
import type { Store, StoredContext, Write } from '../../ports/store.ts'
import { phaseOf } from '../interpreter/nodes.ts'
import { indexKeysOf } from './index-keys.ts'
import { isUnreadable } from './unreadable.ts'

/**
 * The parts that hold a user's data, besides one for each state. What is fixed at the request of a context is in
 * `base`, everything else in `head`.
 */
const DATA_PARTS = ['input', 'output', 'request', 'inherited', 'raw', 'answer', 'response', 'args', 'tail'] as const
const STATE = 's'

type Base = Pick<
  ContextRecord,
  'package' | 'fluxName' | 'definition' | 'startState' | 'startedAt' | 'trigger' | 'trackerId' | 'parent'
>
type Head = Omit<ContextRecord, 'id' | 'version' | 'states' | keyof Base | (typeof DATA_PARTS)[number]>

/** Written out: a rest pattern is many times as slow, and this is done for every commit. */
function headOf(record: ContextRecord): Head {
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
    paused: record.paused,
    stepStartedAt: record.stepStartedAt,
    lastError: record.lastError,
  }
}

const baseOf = ({
  package: name,
  fluxName,
  definition,
  startState,
  startedAt,
  trigger,
  trackerId,
  parent,
}: ContextRecord): Base => ({ package: name, fluxName, definition, startState, startedAt, trigger, trackerId, parent })

/** Moves in a record, and characters of them, beyond which they go to the log. */
const TAIL = { moves: 8, length: 2048 }

interface Change {
  /** null: there was none. */
  readonly before: ContextRecord | null
  /**
   * The texts of `before`: data is never changed, only replaced, so the text of a part that is still the same object is
   * still right.
   */
  readonly texts: StoredContext['parts']
  readonly next: ContextRecord
  readonly flux: CompiledFlux
  /** Moves made since `before`. */
  readonly log: readonly Move[]
  readonly notifies: readonly ContextId[]
  readonly answersNotification: boolean
  /** Characters that its texts may have together. */
  readonly maxRecord: number
}

/** The context would be larger than the store takes. */
export class RecordTooLarge extends Error {
  override readonly name = 'RecordTooLarge'
  readonly id: ContextId
  constructor(id: ContextId, limit: number) {
    super(`the context would be larger than ${limit} characters of JSON`)
    this.id = id
  }
}

/**
 * The write that makes `next` follow `before`, and the record that it makes: its version is one higher, and its tail
 * has the new moves.
 * @throws RecordTooLarge before anything is made of what is too large
 */
export function writeOf({
  before,
  texts,
  next: decided,
  flux,
  log,
  notifies,
  answersNotification,
  maxRecord,
}: Change): { write: Write; record: ContextRecord } {
  const added = log.map(shortened)
  const moves = added.length === 0 ? decided.tail : [...decided.tail, ...added]
  const rows = textsOf(added, decided.moves - added.length)
  const tail =
    appended(decided.tail === before?.tail ? texts['tail'] : undefined, rows) ??
    `[${textsOf(moves, decided.moves - moves.length).join(',')}]`
  const full = moves.length > TAIL.moves || tail.length > TAIL.length
  const version = decided.version + 1
  const next: ContextRecord = { ...decided, version, tail: full ? [] : moves }
  const parts: { [name: string]: string } = {
    base: texts['base'] ?? JSON.stringify(baseOf(next)),
    head: JSON.stringify(headOf(next)),
    ...(!full && { tail }),
  }
  const changed = texts['base'] === undefined ? ['base', 'head'] : ['head']
  let length = 0
  const write = (name: string, value: object | null | undefined, old: object | null | undefined) => {
    const same = (value ?? null) === (old ?? null)
    if (value) {
      const known = parts[name] ?? (same ? texts[name] : undefined)
      // Looked at first: what lines have put into itself a few times is small, and its text without end.
      if (known === undefined && sizeOf(value, maxRecord - length) > maxRecord - length)
        throw new RecordTooLarge(next.id, maxRecord)
      const text = known ?? JSON.stringify(value)
      parts[name] = text
      length += text.length
      if (length > maxRecord) throw new RecordTooLarge(next.id, maxRecord)
    }
    if (!same && parts[name] !== texts[name]) changed.push(name)
  }
  for (const name of DATA_PARTS) write(name, next[name], before?.[name])
  // A visited state is never forgotten: what `before` has, `next` has too.
  for (const index of Object.keys(next.states)) write(STATE + index, next.states[index], before?.states[index])
  const context = {
    id: next.id,
    version,
    indexKeys: indexKeysOf(next, flux),
    due: next.due,
    owner: next.lease?.owner ?? null,
    endedAt: next.endedAt,
    parent: next.parent?.id ?? null,
    parts,
  }
  return {
    record: next,
    write: {
      context,
      previous: version - 1,
      changed,
      log: full ? textsOf(moves, decided.moves - moves.length) : [],
      notifies,
      answersNotification,
    },
  }
}

/** A move as it is kept: its names are the same in each, and it knows how many were made before it. */
type Row = readonly [
  from: Move['from'],
  event: Move['event'],
  to: Move['to'],
  at: Move['at'],
  values: Move['values'],
  number: number,
]

/** `first`: the number of the first of them. */
const textsOf = (moves: readonly Move[], first: number): string[] =>
  moves.map(({ from, event, to, at, values }, index) =>
    JSON.stringify([from, event, to, at, values, first + index] satisfies Row),
  )

const moveOf = ([from, event, to, at, values]: Row): Move => ({ from, event, to, at, values })

/** The text of a list with some more elements; nothing when its text isn't known. */
function appended(list: string | undefined, more: readonly string[]): string | undefined {
  if (list === undefined || more.length === 0) return list
  const text = more.join(',')
  return list === '[]' ? `[${text}]` : `${list.slice(0, -1)},${text}]`
}

/**
 * Characters, about: a larger value is named in the log, not kept. A loop that carries a megabyte would else leave a
 * thousand of them behind.
 */
const MAX_LOGGED_CHARACTERS = 4096

function shortened(move: Move): Move {
  const { values } = move
  const large = Object.keys(values).filter(
    (name) => sizeOf(getOwn(values, name) ?? null, MAX_LOGGED_CHARACTERS) > MAX_LOGGED_CHARACTERS,
  )
  if (large.length === 0) return move
  const copy = { ...values }
  for (const name of large) setOwn(copy, name, `[more than ${MAX_LOGGED_CHARACTERS} characters]`)
  return { ...move, values: copy }
}

/** About the length of its JSON text; stops counting beyond the limit. */
function sizeOf(value: unknown, limit: number): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 4
  let size = 2
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && size <= limit; at += 1) size += 1 + sizeOf(value[at], limit - size)
    return size
  }
  for (const key of Object.keys(value)) {
    size += key.length + 4 + sizeOf(Reflect.get(value, key), limit - size)
    if (size > limit) break
  }
  return size
}

/** The record without its data: nothing of what strangers may have sent is parsed. @throws FluxError `unreadable` */
export const decodeHead = ({
  id,
  version,
  parts: { base, head },
}: Pick<StoredContext, 'id' | 'version' | 'parts'>): ContextRecord =>
  decodeRecord({ id, version, parts: { ...(base !== undefined && { base }), ...(head !== undefined && { head }) } })

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

/** The write that changes a context's head alone. */
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
    due: next.due,
    owner: next.lease?.owner ?? null,
    endedAt: next.endedAt,
    parts: { ...stored.parts, head: JSON.stringify(headOf(next)) },
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

/**
 * The record that a write made. What we wrote ourselves is trusted, as far as it is JSON.
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
    if (name.startsWith(STATE)) states[name.slice(STATE.length)] = JSON.parse(parts[name] ?? '{}')
  }
  const answer = parts['answer'] === undefined ? null : { filled: [], from: [], ...JSON.parse(parts['answer']) }
  // Written out, and in the same order wherever records are made: see `interpreter/decide.ts`.
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
    parent: base.parent,
    child: head.child,
    lease: head.lease,
    stepStartedAt: head.stepStartedAt,
    lastError: head.lastError,
    moves: head.moves,
    tail: rowsOf(parts['tail'] ?? '[]').map(moveOf),
    visited: head.visited,
    position: head.snapshot ? positionOf(head.snapshot) : head.position,
    input: dataOf(parts, 'input') ?? {},
    output: dataOf(parts, 'output') ?? {},
    request: dataOf(parts, 'request'),
    inherited: dataOf(parts, 'inherited'),
    raw: dataOf(parts, 'raw'),
    answer,
    paused: head.paused,
    response: dataOf(parts, 'response'),
    args: dataOf(parts, 'args'),
    states,
  }
}

/**
 * Version 0.1 kept the machine's snapshot, with nodes of its own naming: `{ "s0": "waiting" }`, or the name of an end.
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

/** The definition that it was started with, without reading the rest. */
export function definitionOf({ parts }: StoredContext): string {
  const { definition }: Base = JSON.parse(parts['base'] ?? '{}')
  return definition
}

function dataOf(parts: StoredContext['parts'], name: (typeof DATA_PARTS)[number]): JsonObject | null {
  const text = parts[name]
  return text === undefined ? null : JSON.parse(text)
}

/**
 * All moves that are kept: those of the log, and the record's newest. The log may have grown since the record was read:
 * what is in both counts once, what is later not at all.
 */
export async function movesOf(
  { id, moves, tail }: ContextRecord,
  { store, log }: { readonly store: Store; readonly log: Log },
): Promise<readonly Move[]> {
  if (moves === tail.length) return tail
  const rows = readableRows(id, await store.log({ id, limit: MAX_LOG_ROWS - tail.length }), log)
  const logged = moves - tail.length
  return [...rows.filter(([, , , , , number]) => number < logged).map(moveOf), ...tail]
}

const rowsOf = (text: string): Row[] => JSON.parse(text)

/** Read together, which is quicker; one by one where some are damaged: each spoils nothing but itself. */
function readableRows(id: ContextId, texts: readonly string[], log: Log): Row[] {
  try {
    return rowsOf(`[${texts.join(',')}]`)
  } catch (error) {
    isUnreadable(unreadable(id, error), log)
    return texts.flatMap((text) => {
      try {
        return rowsOf(`[${text}]`)
      } catch {
        return []
      }
    })
  }
}
