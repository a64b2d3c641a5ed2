// runtime: records as the store keeps them: one text a part, so that only what changed is written.
import type { CompiledFlux } from '../definitions/flux.ts'
import type { ContextId } from '../model/context.ts'
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../model/json.ts'
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

function partsOf(record: ContextRecord): Map<string, object> {
  const { input, output, request, response, args, states, id: _id, version: _version, ...head } = record
  const parts = new Map<string, object>([['head', head], ['input', input], ['output', output]])
  if (request) parts.set('request', request)
  if (response) parts.set('response', response)
  if (args) parts.set('args', args)
  for (const [index, data] of Object.entries(states)) parts.set(STATE + index, data)
  return parts
}

/** The write that makes `next` follow `before` (null: the first). Its version is one higher. */
export function writeOf(
  { before, next, flux, log, pokes, answersPoke }:
  { before: ContextRecord | null; next: ContextRecord; flux: CompiledFlux; log: readonly Move[]; pokes: readonly ContextId[]; answersPoke: boolean },
): Write {
  const parts = partsOf(next)
  const old = before ? partsOf(before) : null
  const changed = [...parts].filter(([name, value]) => old?.get(name) !== value).map(([name]) => name)
  const previous = before?.version ?? 0
  return {
    context: {
      id: next.id, version: previous + 1, terms: termsOf(next, flux), due: next.due, owner: next.lease?.owner ?? null, endedAt: next.endedAt,
      parent: next.parent?.id ?? null, parts: Object.fromEntries([...parts].map(([name, value]) => [name, textOf(value)])),
    },
    previous, changed, log: log.map((move) => JSON.stringify({ ...move, values: shortened(move.values) })), pokes, answersPoke,
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
  const data = (name: string) => {
    const text = parts[name]
    if (text === undefined) return null
    const value: Json = JSON.parse(text)
    if (!isObject(value)) return null
    texts.set(value, text)
    return value
  }
  const states: { [index: string]: StateData } = {}
  for (const name of Object.keys(parts)) {
    const value = name.startsWith(STATE) ? data(name) : null
    if (value) states[name.slice(STATE.length)] = { input: objectOf(value['input']), output: objectOf(value['output']) }
  }
  return {
    ...head, id, version, states, input: data('input') ?? {}, output: data('output') ?? {}, request: data('request'), response: data('response'), args: data('args'),
  }
}

const objectOf = (value: Json | undefined) => isObject(value) ? value : {}

export const decodeMove = (row: string): Move => JSON.parse(row)
