// store/redis: a context as a hash and as arguments of the commit. Texts of users' become bytes: one that is not well-formed Unicode is told in JSON's escapes.
import type { ContextId } from '../../model/context.ts'
import { unreadable } from '../../model/failure.ts'
import { LOG_LIMIT } from '../../model/record.ts'
import type { StoredContext, Write } from '../../ports/store.ts'
import type { Reply } from './scripts.ts'
import { texts } from './scripts.ts'

/** No two texts become the same. */
export function encodeText(text: string): string {
  return text.isWellFormed() && !text.startsWith('"') ? text : JSON.stringify(text)
}

export function decodeText(text: string): string {
  return text.startsWith('"') ? JSON.parse(text) : text
}

/** Lists of words are often the same ones as before. */
const known = new WeakMap<readonly string[], string>()

function encodeTerms(terms: readonly string[]): string {
  const before = known.get(terms)
  if (before !== undefined) return before
  const text = JSON.stringify(terms.map(encodeText))
  known.set(terms, text)
  return text
}

/** Names of a hash's fields, as the commit script has them. A part is kept under a point and its name. */
const PART = '.'
const fieldOf = (name: string) => PART + encodeText(name)

const textOf = (value: number | string | null) => value === null ? '' : String(value)

/** Arguments of the commit script for one write. */
export function pushWrite(values: string[], { context, previous, changed, log, pokes, answersPoke }: Write): void {
  const { id, terms, due, owner, endedAt, parent, parts } = context
  values.push(
    String(id), String(previous), encodeTerms(terms), textOf(due), textOf(owner), textOf(endedAt), textOf(parent), answersPoke ? '1' : '0',
  )
  const rows = log.slice(-LOG_LIMIT)
  values.push(String(rows.length), ...rows)
  const place = values.push('') - 1
  const removed: string[] = []
  for (const name of changed) {
    if (Object.hasOwn(parts, name)) values.push(fieldOf(name), parts[name] ?? '')
    else removed.push(fieldOf(name))
  }
  values[place] = String(values.length - place - 1)
  values.push(String(removed.length), ...removed, String(pokes.length), ...pokes.map(String))
}

/**
 * The context that a hash holds; null when there is none.
 * @throws FluxError `unreadable` when what it holds is no context
 */
export function decodeContext(id: ContextId, fields: Reply): StoredContext | null {
  try {
    const list = texts(fields)
    return list.length === 0 ? null : contextOf(id, list)
  } catch (cause) {
    throw unreadable(id, cause)
  }
}

function contextOf(id: ContextId, list: readonly string[]): StoredContext {
  const facts = new Map<string, string>()
  const parts: [string, string][] = []
  for (let place = 0; place < list.length; place += 2) {
    const [name = '', value = ''] = [list[place], list[place + 1]]
    if (name.startsWith(PART)) parts.push([decodeText(name.slice(PART.length)), value])
    else facts.set(name, value)
  }
  return {
    id,
    version: versionOf(facts.get('v') ?? ''),
    terms: decodeTerms(facts.get('t') ?? '[]'),
    due: numberOf(facts.get('d')),
    owner: facts.get('o') || null,
    endedAt: numberOf(facts.get('e')),
    parent: numberOf(facts.get('p')),
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

function decodeTerms(text: string): string[] {
  const terms: unknown = JSON.parse(text)
  if (!Array.isArray(terms)) throw new Error('its index words are no list')
  return terms.map((word) => {
    if (typeof word !== 'string') throw new Error('one of its index words is no text')
    return decodeText(word)
  })
}
