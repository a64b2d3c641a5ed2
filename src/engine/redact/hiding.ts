// engine/redact: hides the secrets of a request in a value, according to the origins of the value. The work is linear
// in the sizes of the value and of the request, not in their product.
import { memberOrigins, type Origin, type Origins } from '../../definitions/compile/origins.ts'
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { isSecretName, REDACTED } from '../../model/secret-names.ts'
import { matcherOf, SHORT } from './matcher.ts'
import { PieceTable } from './pieces.ts'
import { cookiesShown, headersShown, isRequest, parametersShown, PARTS, requestShown, uriShown } from './request.ts'
import { isRecognisable, type Secrets } from './secrets.ts'

/**
 * Minimum length of a piece of a secret that is hidden within a longer text: `cut` if lines may have cut it out,
 * `returned` if a function was given the secret.
 */
const PART = { cut: 4, returned: 8 }

/** Hides secrets in a text or key, and tells whether a number or boolean must be hidden. */
interface Rule {
  readonly text: (text: string) => string
  readonly number: (value: number | boolean) => boolean
}

const ALL_INSIDE: Origins = [{ at: [], path: [], kind: 'inside' }]
const NOTHING: Rule = { text: (text) => text, number: () => false }

export class Hiding {
  readonly #secrets: Secrets
  readonly #rules = new Map<string, Rule>()

  constructor(secrets: Secrets) {
    this.#secrets = secrets
  }

  hide(origins: Origins, value: Json): Json {
    if (origins.length === 0 || value === null) return value
    const here = origins.filter(({ at }) => at.length === 0)
    let shown: Json = value
    for (const origin of here) shown = this.#hideWhole(origin, shown)
    shown = this.#hideBelow(origins, shown)
    const rules = here.filter(({ kind, path }) => kind !== 'whole' || path.length > 1)
    if (rules.length === 0) return shown
    return walk(shown, this.#ruleOf(rules), rules.some(({ kind }) => kind === 'inside') ? this.#secrets : null)
  }

  /** Hides members of an object or array whose origins are known by key. Other members are not touched. */
  #hideBelow(origins: Origins, value: Json): Json {
    const keys = new Set(origins.flatMap(({ at: [key] }) => key ?? []))
    if (keys.size === 0 || typeof value !== 'object' || value === null) return value
    const inside = origins.filter(({ at }) => at.length > 0)
    const below = (key: string, item: Json): Json =>
      keys.has(key) ? this.hide(memberOrigins(inside, key), item) : item
    if (Array.isArray(value)) return value.map((item: Json, index): Json => below(String(index), item))
    const copy: { [key: string]: Json } = { ...value }
    for (const key of keys) if (Object.hasOwn(copy, key)) setOwn(copy, key, below(key, getOwn(copy, key) ?? null))
    return copy
  }

  /** Redacts an unchanged part of the request that has more than one value. */
  #hideWhole({ kind, path }: Origin, value: Json): Json {
    const [part, name] = path
    if (kind !== 'whole' || name !== undefined) return value
    switch (part) {
      case 'headers':
        return headersShown(value)
      case 'cookies':
        return cookiesShown(value)
      case 'parameters':
        return parametersShown(value)
      case 'uri':
        return typeof value === 'string' ? uriShown(value, this.#secrets.of(['parameters'])) : value
      default:
        return isRequest(value) ? requestShown(value) : walk(value, this.#ruleOf(ALL_INSIDE), this.#secrets)
    }
  }

  #ruleOf(origins: Origins): Rule {
    const key = JSON.stringify(origins)
    const rule = this.#rules.get(key) ?? this.#make(origins)
    this.#rules.set(key, rule)
    return rule
  }

  #make(origins: Origins): Rule {
    const of = (kinds: readonly Origin['kind'][], secretsOf: (path: readonly string[]) => ReadonlySet<string>) =>
      new Set(origins.filter(({ kind }) => kinds.includes(kind)).flatMap(({ path }) => [...secretsOf(path)]))
    const whole = of(['whole'], (path) => this.#secrets.of(path))
    const cut = of(['cut'], (path) => this.#secrets.of(path))
    const returned = of(['returned'], (path) => this.#secrets.of(path))
    const known = of(['inside'], (path) => this.#secrets.known(path))
    // All pieces of these are hidden, so they need no search for the whole.
    const paths = new Set(origins.filter(({ kind }) => kind === 'returned').map(({ path }) => JSON.stringify(path)))
    const untouched = origins.every(({ kind, path }) => kind !== 'inside' || paths.has(JSON.stringify(path)))
      ? new Set<string>()
      : known
    if (whole.size + cut.size + returned.size + known.size === 0) return NOTHING
    const folded = new Set([...cut].map((secret) => secret.toLowerCase()))
    const exact = matcherOf({
      anywhere: longer(untouched, SHORT),
      alone: [...shorter(returned, SHORT), ...shorter(known, SHORT)],
      pieces: new PieceTable(returned, PART.returned),
    })
    const parts = matcherOf({
      anywhere: ofLength(folded, PART.cut - 1),
      alone: shorter(folded, PART.cut - 2),
      pieces: new PieceTable(folded, PART.cut),
    })
    /** By length: pieces that are too short to be hidden within a text. They are hidden only as a whole value. */
    const short = new Map<number, PieceTable>()
    const isPiece = (value: string): boolean => {
      const pieces = short.get(value.length) ?? new PieceTable(folded, value.length)
      short.set(value.length, pieces)
      return pieces.hasAt(value, 0)
    }
    const text = (value: string) => {
      if (value === '') return value
      if (whole.has(value)) return REDACTED
      if (value.length < PART.cut && folded.size > 0 && isPiece(value.toLowerCase())) return REDACTED
      return exact.hide(folded.size === 0 ? value : parts.hide(value, value.toLowerCase()))
    }
    // A short number or a boolean is hidden only if it equals a whole secret.
    const number = (value: number | boolean) => {
      const written = String(value)
      if (whole.has(written) || folded.has(written) || returned.has(written)) return true
      return typeof value === 'number' && written.length >= PART.cut && text(written) === REDACTED
    }
    return { text, number }
  }
}

const longer = (secrets: ReadonlySet<string>, length: number) => [...secrets].filter((secret) => secret.length > length)
const shorter = (secrets: ReadonlySet<string>, length: number) =>
  [...secrets].filter((secret) => secret.length <= length)
const ofLength = (secrets: ReadonlySet<string>, length: number) =>
  [...secrets].filter((secret) => secret.length === length)

/**
 * Applies a rule to a value at all depths. `requests`: not null if the value may contain a request or parts of one,
 * also as JSON text.
 */
function walk(value: Json, rule: Rule, requests: Secrets | null): Json {
  if (typeof value === 'string') return requests === null ? rule.text(value) : textShown(value, rule, requests)
  if (typeof value === 'number' || typeof value === 'boolean') return rule.number(value) ? REDACTED : value
  if (Array.isArray(value)) return value.map((item) => walk(item, rule, requests))
  if (!isObject(value)) return value
  if (requests !== null && isRequest(value)) {
    const shown = requestShown(value)
    for (const key of Object.keys(shown))
      if (!PARTS.has(key)) setOwn(shown, key, walk(shown[key] ?? null, rule, requests))
    return shown
  }
  const result: JsonObject = {}
  const hidden = requests !== null && isSecretPair(value, requests)
  for (const key of Object.keys(value)) {
    // A key that is just a word is not hidden, even if it equals a secret.
    const name = isRecognisable(key) ? rule.text(key) : key
    setOwn(result, name, hidden && key === 'value' ? REDACTED : walk(value[key] ?? null, rule, requests))
  }
  return result
}

/** Whether the object is a secret header or cookie, an element of such a list. */
const isSecretPair = ({ name, value }: JsonObject, secrets: Secrets): boolean =>
  typeof name === 'string' && typeof value === 'string' && (isSecretName(name) || secrets.isCookie(name, value))

/** Hides secrets in a text. If it is JSON, hides them in the parsed data. */
function textShown(text: string, rule: Rule, requests: Secrets): string {
  if (!/^\s*[[{]/.test(text)) return rule.text(text)
  try {
    const data: Json = JSON.parse(text)
    const after = JSON.stringify(walk(data, rule, requests))
    return after === JSON.stringify(data) ? text : after
  } catch {
    // It is not JSON, or is nested too deep to be walked.
    return rule.text(text)
  }
}
