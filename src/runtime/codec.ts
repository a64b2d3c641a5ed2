// runtime: records as the store keeps them: one text a part, so that only what changed is written.
import type { CompiledFlux } from '../definitions/flux.ts'
import type { ContextId } from '../model/context.ts'
import { getOwn, setOwn, type Json, type JsonObject } from '../model/json.ts'
import type { ContextRecord, Move, StateData } from '../model/record.ts'
import type { StoredContext, Write } from '../ports/store.ts'
import { termsOf } from './terms.ts'

/** The parts that hold a user's data, besides one for each state; everything else is in `head`. */
const DATA_PARTS = ['input', 'output', 'request', 'response', 'args'] as const
const STATE = 's'

/** Data is never changed, only replaced: the text of an object stays right as long as the object lives. */
const texts = new WeakMap<object, string>()

function textOf(value: object): string {
  const known = texts.get(value)
  if (known !== undefined) return known
  const text = JSON.stringify(value)
  texts.set(value, text)
  return text
}

/** Written out: a rest pattern is many times as slow, and this is done for every commit. */
function headOf(record: ContextRecord): Head {
  return {
    package: record.package, fluxName: record.fluxName, definition: record.definition, status: record.status, state: record.state, startState: record.startState,
    startedAt: record.startedAt, updatedAt: record.updatedAt, endedAt: record.endedAt, due: record.due, tags: record.tags, error: record.error,
    exception: record.exception, fluxEvent: record.fluxEvent, trigger: record.trigger, trackerId: record.trackerId, parent: record.parent, child: record.child,
    lease: record.lease, moves: record.moves, visited: record.visited, snapshot: record.snapshot,
  }
}

/** The write that makes `next` follow `before` (null: the first). Its version is one higher. */
export function writeOf(
  { before, next, flux, log, pokes, answersPoke }:
  { before: ContextRecord | null; next: ContextRecord; flux: CompiledFlux; log: readonly Move[]; pokes: readonly ContextId[]; answersPoke: boolean },
): Write {
  const parts: { [name: string]: string } = { head: JSON.stringify(headOf(next)) }
  const changed = ['head']
  const write = (name: string, value: object | null | undefined, old: object | null | undefined) => {
    if (value) parts[name] = textOf(value)
    if ((value ?? null) !== (old ?? null)) changed.push(name)
  }
  for (const name of DATA_PARTS) write(name, next[name], before?.[name])
  // A visited state is never forgotten: what `before` has, `next` has too.
  for (const index of Object.keys(next.states)) write(STATE + index, next.states[index], before?.states[index])
  const previous = before?.version ?? 0
  return {
    context: {
      id: next.id, version: previous + 1, terms: termsOf(next, flux), due: next.due, owner: next.lease?.owner ?? null, endedAt: next.endedAt,
      parent: next.parent?.id ?? null, parts,
    },
    previous, changed, log: log.map(encodeMove), pokes, answersPoke,
  }
}

/** Characters, about: a larger value is named in the log, not kept. A loop that carries a megabyte would else leave a thousand of them behind. */
const LOGGED_VALUE = 4096

function shortened(values: JsonObject): JsonObject {
  const large = Object.keys(values).filter((name) => sizeOf(getOwn(values, name) ?? null, LOGGED_VALUE) > LOGGED_VALUE)
  if (large.length === 0) return values
  const copy = { ...values }
  for (const name of large) setOwn(copy, name, `[more than ${LOGGED_VALUE} characters]`)
  return copy
}

/** About the length of its JSON text; stops counting beyond the limit. */
function sizeOf(value: Json, limit: number): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 8
  let size = 2
  for (const [key, item] of Object.entries(value)) {
    size += key.length + 4 + sizeOf(item, limit - size)
    if (size > limit) break
  }
  return size
}

type Head = Omit<ContextRecord, 'id' | 'version' | 'states' | typeof DATA_PARTS[number]>

/** The record that a write made. What we wrote ourselves is trusted. */
export function decode({ id, version, parts }: StoredContext): ContextRecord {
  const head: Head = JSON.parse(parts['head'] ?? '{}')
  const states: { [index: string]: StateData } = {}
  for (const name of Object.keys(parts)) {
    if (name.startsWith(STATE)) states[name.slice(STATE.length)] = JSON.parse(parts[name] ?? '{}')
  }
  // The keys that the spread doesn't bring come first: after it, each object would get a hidden class of its own, five times as slow.
  return {
    id, version, states,
    input: dataOf(parts, 'input') ?? {}, output: dataOf(parts, 'output') ?? {},
    request: dataOf(parts, 'request'), response: dataOf(parts, 'response'), args: dataOf(parts, 'args'),
    ...head,
  }
}

function dataOf(parts: StoredContext['parts'], name: typeof DATA_PARTS[number]): JsonObject | null {
  const text = parts[name]
  return text === undefined ? null : JSON.parse(text)
}

function encodeMove({ from, event, to, at, values }: Move): string {
  return JSON.stringify({ from, event, to, at, values: shortened(values) })
}

export const decodeMove = (row: string): Move => JSON.parse(row)
