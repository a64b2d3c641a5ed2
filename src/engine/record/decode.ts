// engine/record: decodes a stored context to its record, completely or only the head. Text that cannot be parsed is a
// failure (`unreadable`) of that context alone.
import { unreadable } from '../../model/failure.ts'
import type { Json } from '../../model/json/value.ts'
import { dataKey, type ContextRecord, NO_PENDING, type PendingEvent, type StateData } from '../../model/context.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { StoredContext } from '../../ports/store.ts'
import { ABSENT, PENDING_PART, type Base, type Head } from './encode.ts'

type Stored = Pick<StoredContext, 'id' | 'version' | 'parts'>
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
  (parts, flux) => [...SUMMARY(parts, flux), 'tail', dataKey(flux.stateIndex.get(stateName) ?? -1)]

/** See `dataKey`. */
const STATE_KEY = /^s\d+$/

const HEAD_PARTS = ['base', 'head'] as const
const SUMMARY_PARTS = [...HEAD_PARTS, 'request', 'inheritedSecrets'] as const

/**
 * The record of a stored context. The engine wrote it, so its shape is trusted if it parses as JSON.
 *
 * @param names of the parts that are parsed, as far as there are such; left out: all
 * @throws FluxError `unreadable`
 */
export function decodeRecord(
  { id, version, parts }: Stored,
  names: readonly string[] = Object.keys(parts),
): ContextRecord {
  const part = (name: string, absent: Json = null) => {
    const text = names.includes(name) ? parts[name] : undefined
    return text === undefined ? absent : JSON.parse(text)
  }
  try {
    const [base, head]: [Base | null, Head | null] = [part('base'), part('head')]
    if (base === null || head === null) throw new TypeError('parts of it are missing')
    const states: { [key: string]: StateData } = {}
    for (const name of names) {
      const text = parts[name]
      if (text !== undefined && STATE_KEY.test(name)) states[name] = JSON.parse(text)
    }
    return {
      id,
      version,
      ...base,
      ...ABSENT,
      ...head,
      tail: (names.includes('tail') && parts['tail']) || '',
      input: part('input', {}),
      output: part('output', {}),
      request: part('request'),
      inheritedSecrets: part('inheritedSecrets'),
      raw: part('raw'),
      answer: part('answer'),
      beforeEnd: part('beforeEnd') ?? undefined,
      response: part('response'),
      pending: part(PENDING_PART) ?? NO_PENDING,
      args: part('args'),
      states,
    }
  } catch (error) {
    throw unreadable(id, error)
  }
}

/** The events that came early, as the part of the record has them. */
export function pendingOf(parts: Texts): readonly PendingEvent[] {
  const text = parts[PENDING_PART]
  return text === undefined ? NO_PENDING : JSON.parse(text)
}

/** The record without its data parts, which may be large and are not parsed. @throws FluxError `unreadable` */
export const decodeHead = (stored: Stored): ContextRecord => decodeRecord(stored, HEAD_PARTS)

/** The record with its newest moves, and without its data. @throws FluxError `unreadable` */
export const decodeMoves = (stored: Stored): ContextRecord => decodeRecord(stored, [...HEAD_PARTS, 'tail'])
