// store/redis: encodes and decodes stored contexts: one text while a context is small, a hash when it is large, and the
// arguments of the commit script. Texts of users are stored as bytes; one that is not well-formed Unicode is stored
// with JSON's escapes.
//
// - A small context is one text (`lua/shared/packed.lua`), a larger one a hash; the commit moves it from one to the
//   other. Sets of ids are kept in leaves (`lua/shared/leaves.lua`), which Redis stores compactly.
// - A damaged row is a failure (`unreadable`, logged) for the caller that asks for that context, and is left out of
//   lists. Scripts check before they write, so it affects no commit of other contexts.
import { type ContextId, MAX_LOG_ROWS } from '../../model/context.ts'
import { unreadable } from '../../model/failure.ts'
import type { StoredContext, Write } from '../../ports/store.ts'
import { pairsOf, texts, type Reply } from './scripts.ts'

/** Encodes a text such that no two texts have the same result. */
export function encodeText(text: string): string {
  return text.isWellFormed() && !text.startsWith('"') ? text : JSON.stringify(text)
}

export function decodePacked(text: string): string {
  return text.startsWith('"') ? JSON.parse(text) : text
}

/** Cache of encoded lists: the lists of index keys are often the same objects as before. */
const known = new WeakMap<readonly string[], string>()

function encodeIndexKeys(indexKeys: readonly string[]): string {
  const before = known.get(indexKeys)
  if (before !== undefined) return before
  const text = JSON.stringify(indexKeys.map(encodeText))
  known.set(indexKeys, text)
  return text
}

/** Prefix of the fields of a hash that hold parts. */
const PART = '.'
const fieldOf = (name: string) => PART + encodeText(name)

const textOf = (value: number | string | null) => (value === null ? '' : String(value))

/** Separators between the texts of a packed context, and around its facts (`lua/shared/packed.lua`). */
const SEPARATOR = '\x1f'
const FACTS = '\x1e'
/**
 * Most characters of parts that are stored as one text. One text takes half the memory of a hash, but each commit
 * writes all of it.
 */
const PACKED_CHARACTERS = 4096

/** All parts as one text; null when they are too large, or contain the separator. */
function packedParts(parts: StoredContext['parts']): string | null {
  let packed = ''
  for (const name of Object.keys(parts)) {
    const text = parts[name] ?? ''
    if (packed.length + name.length + text.length > PACKED_CHARACTERS) return null
    if (text.includes(SEPARATOR) || name.includes(SEPARATOR)) return null
    packed += encodeText(name) + SEPARATOR + text + SEPARATOR
  }
  return packed
}

function factsOf({ due, owner, endedAt, parent, indexKeys }: StoredContext): string {
  if (owner !== null && (owner.includes(SEPARATOR) || owner.includes(FACTS))) {
    throw new TypeError('a boot id has no control characters')
  }
  const times = textOf(due) + SEPARATOR + textOf(owner) + SEPARATOR + textOf(endedAt)
  return times + SEPARATOR + textOf(parent) + SEPARATOR + encodeIndexKeys(indexKeys)
}

/**
 * Appends the arguments of the commit script for one write. `values` begins with those of the commit: its writer and
 * number first.
 */
export function pushWrite(
  values: string[],
  { context, previous, changed, log, notifies, answersNotification }: Write,
): void {
  const { id, version, parts } = context
  const packed = packedParts(parts)
  const rows = log.length > MAX_LOG_ROWS ? log.slice(-MAX_LOG_ROWS) : log
  const facts = factsOf(context)
  values.push(
    String(id),
    String(previous),
    facts,
    packed === null ? '0' : '1',
    answersNotification ? '1' : '0',
    String(rows.length),
    ...rows,
  )
  if (packed === null) {
    pushChanged(values, parts, { changed, version: previous === 0 && version > 1 ? version : null })
  } else {
    // Concatenated here, because Lua reads each byte of a text that it creates.
    const [writer = '', number = ''] = values
    const head = `${version}${SEPARATOR}${SEPARATOR}${SEPARATOR}${writer}=${number}`
    values.push('1', head + FACTS + facts + FACTS + packed, '0')
  }
  values.push(String(notifies.length), ...notifies.map(String))
}

/** `version`: of a context that is created with a higher one than the first; the script sets that first. */
function pushChanged(
  values: string[],
  parts: StoredContext['parts'],
  { changed, version }: { readonly changed: readonly string[]; readonly version: number | null },
): void {
  const place = values.push('') - 1
  if (version !== null) values.push('v', String(version))
  const removed: string[] = []
  for (const name of changed) {
    if (Object.hasOwn(parts, name)) values.push(fieldOf(name), parts[name] ?? '')
    else removed.push(fieldOf(name))
  }
  values[place] = String(values.length - place - 1)
  values.push(String(removed.length), ...removed)
}

/**
 * Decodes a stored context; null when there is none.
 * @throws FluxError `unreadable` when the stored value is no context
 */
export function decodeContext(id: ContextId, kept: Reply): StoredContext | null {
  try {
    if (typeof kept === 'string') return contextOfText(id, kept)
    const list = texts(kept)
    return list.length === 0 ? null : contextOfHash(id, list)
  } catch (cause) {
    throw unreadable(id, cause)
  }
}

function contextOfText(id: ContextId, text: string): StoredContext {
  const [begin, end] = [text.indexOf(FACTS), text.indexOf(FACTS, text.indexOf(FACTS) + 1)]
  const facts = text.slice(begin + 1, end).split(SEPARATOR)
  const [v = ''] = text.slice(0, begin).split(SEPARATOR)
  const list = text.slice(end + 1).split(SEPARATOR)
  if (begin === -1 || end === -1 || facts.length !== 5 || list.length % 2 !== 1 || list.at(-1) !== '') {
    throw new Error('it is cut short, or no context')
  }
  return contextOf(id, [v, ...facts], pairsOf(list))
}

/** Fields of a hash: version, due time, owner, end, parent, index keys. */
const FACTS_OF_HASH = ['v', 'd', 'o', 'e', 'p', 't']

function contextOfHash(id: ContextId, list: readonly string[]): StoredContext {
  const fields = pairsOf(list)
  const facts = new Map(fields)
  return contextOf(
    id,
    FACTS_OF_HASH.map((name) => facts.get(name)),
    fields.flatMap(([name, text]) => (name.startsWith(PART) ? [[name.slice(PART.length), text]] : [])),
  )
}

function contextOf(
  id: ContextId,
  [version = '', due, owner, endedAt, parent, indexKeys = '[]']: readonly (string | undefined)[],
  parts: readonly [string, string][],
): StoredContext {
  return {
    id,
    version: versionOf(version),
    indexKeys: decodeIndexKeys(indexKeys),
    due: numberOf(due),
    owner: owner || null,
    endedAt: numberOf(endedAt),
    parent: numberOf(parent),
    // `fromEntries` creates own properties, whatever their names, also `__proto__`.
    parts: Object.fromEntries(parts.map(([name, text]) => [decodePacked(name), text])),
  }
}

/** @throws Error when the text is no version: as NaN, it would never equal any version */
export function versionOf(text: string): number {
  const version = Number(text)
  if (!Number.isSafeInteger(version) || version < 1) throw new Error('its version is no number')
  return version
}

function numberOf(text: string | undefined): number | null {
  if (text === undefined || text === '') return null
  const number = Number(text)
  if (!Number.isFinite(number)) throw new Error('one of its times or ids is no number')
  return number
}

function decodeIndexKeys(text: string): string[] {
  const indexKeys: unknown = JSON.parse(text)
  if (!Array.isArray(indexKeys)) throw new Error('its index keys are no list')
  return indexKeys.map((key) => {
    if (typeof key !== 'string') throw new Error('one of its index keys is no text')
    return decodePacked(key)
  })
}
