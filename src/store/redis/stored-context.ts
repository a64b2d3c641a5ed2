// store/redis: a context as Redis keeps it, one text while it is small and a hash when it is large, and as arguments of
// the commit. Texts of users' become bytes: one that is not well-formed Unicode is told in JSON's escapes.
import type { ContextId } from '../../model/context.ts'
import { unreadable } from '../../model/failure.ts'
import { MAX_LOG_ROWS } from '../../model/record.ts'
import type { StoredContext, Write } from '../../ports/store.ts'
import type { Reply } from './scripts.ts'
import { texts } from './scripts.ts'

/** No two texts become the same. */
export function encodeText(text: string): string {
  return text.isWellFormed() && !text.startsWith('"') ? text : JSON.stringify(text)
}

export function decodePacked(text: string): string {
  return text.startsWith('"') ? JSON.parse(text) : text
}

/** Lists of keys are often the same ones as before. */
const known = new WeakMap<readonly string[], string>()

function encodeIndexKeys(indexKeys: readonly string[]): string {
  const before = known.get(indexKeys)
  if (before !== undefined) return before
  const text = JSON.stringify(indexKeys.map(encodeText))
  known.set(indexKeys, text)
  return text
}

/** Names of a hash's fields, as the commit script has them. A part is kept under a point and its name. */
const PART = '.'
const fieldOf = (name: string) => PART + encodeText(name)

const textOf = (value: number | string | null) => (value === null ? '' : String(value))

/** Between the texts of a context that is one text, and around its facts (`lua/shared/packed.lua`). */
const SEPARATOR = '\x1f'
const FACTS = '\x1e'
/** Characters of parts that are kept as one text: all of it is written at each commit; it takes half as much memory. */
const PACKED_CHARACTERS = 4096

/** All parts as one text; null when they are too large for it, or hold its separator. */
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

/** Arguments of the commit script for one write, after those of the commit: its writer and number first. */
export function pushWrite(
  values: string[],
  { context, previous, changed, log, notifies, answersNotification }: Write,
): void {
  const { id, parts } = context
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
    pushChanged(values, parts, changed)
  } else {
    // Put together here: Lua looks at each byte of a text that it makes.
    const [writer = '', number = ''] = values
    const head = `${previous + 1}${SEPARATOR}${SEPARATOR}${SEPARATOR}${writer}=${number}`
    values.push('1', head + FACTS + facts + FACTS + packed, '0')
  }
  values.push(String(notifies.length), ...notifies.map(String))
}

function pushChanged(values: string[], parts: StoredContext['parts'], changed: readonly string[]): void {
  const place = values.push('') - 1
  const removed: string[] = []
  for (const name of changed) {
    if (Object.hasOwn(parts, name)) values.push(fieldOf(name), parts[name] ?? '')
    else removed.push(fieldOf(name))
  }
  values[place] = String(values.length - place - 1)
  values.push(String(removed.length), ...removed)
}

/**
 * The context that is kept; null when there is none.
 * @throws FluxError `unreadable` when what is kept is no context
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
  const [d, o, e, p, t] = facts
  const parts: [string, string][] = []
  for (let place = 0; place < list.length - 1; place += 2) {
    parts.push([decodePacked(list[place] ?? ''), list[place + 1] ?? ''])
  }
  return contextOf(id, { v, d, o, e, p, t }, parts)
}

function contextOfHash(id: ContextId, list: readonly string[]): StoredContext {
  const facts = new Map<string, string>()
  const parts: [string, string][] = []
  for (let place = 0; place < list.length; place += 2) {
    const [name = '', value = ''] = [list[place], list[place + 1]]
    if (name.startsWith(PART)) parts.push([decodePacked(name.slice(PART.length)), value])
    else facts.set(name, value)
  }
  const [v, d, o, e, p, t] = ['v', 'd', 'o', 'e', 'p', 't'].map((name) => facts.get(name))
  return contextOf(id, { v, d, o, e, p, t }, parts)
}

/** Under the names that a hash has for them. */
type Facts = Readonly<Record<'v' | 'd' | 'o' | 'e' | 'p' | 't', string | undefined>>

function contextOf(
  id: ContextId,
  { v = '', d, o, e, p, t = '[]' }: Facts,
  parts: readonly [string, string][],
): StoredContext {
  return {
    id,
    version: versionOf(v),
    indexKeys: decodeIndexKeys(t),
    due: numberOf(d),
    owner: o || null,
    endedAt: numberOf(e),
    parent: numberOf(p),
    // Own properties only, whatever their names: `__proto__` too.
    parts: Object.fromEntries(parts),
  }
}

/** @throws Error when it is none: compared with a number, it would differ for ever */
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
