// definitions: the text of a definition, which is stored under its hash. It has everything that the definition is
// compiled from.
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { hasEarly } from '../compile/early.ts'
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { SECRETS } from '../../model/secret-reference.ts'

/**
 * Highest format that this version of the program reads. It is incremented when a text must be read differently than
 * before. A text is written in the lowest format that can express it. It contains the format only from format 2 on, so
 * that format 1 has the texts and hashes of version 0.1, and contexts of both versions share definitions.
 */
const FORMAT: number = 2

/** From 2 on, a service may say which keys its contexts have, keep early events, refer to secrets, and have `onEnd`. */
const KEYED = 2

const formatOf = (source: JsonObject): number => {
  const triggers = getOwn(source, 'triggers')
  const isKeyed =
    (getOwn(source, 'key') ?? null) !== null ||
    (getOwn(source, 'keyReuse') ?? null) !== null ||
    (Array.isArray(triggers) && triggers.some(isObject)) ||
    hasEarly(source) ||
    (getOwn(source, 'onEnd') ?? null) !== null ||
    mentionsSecrets(source)
  return isKeyed ? KEYED : 1
}

/** Whether a state may refer to a secret. It may also be a text that has the word. */
const mentionsSecrets = (source: JsonObject): boolean =>
  JSON.stringify(getOwn(source, 'states') ?? null).includes(SECRETS)

export interface FluxUnit {
  readonly package: string
  readonly fluxName: string
  readonly source: JsonObject
  /** Contents of the .model files, by dotted name. */
  readonly models: ReadonlyMap<string, JsonObject>
}

export function pinnedText({ package: owner, fluxName, source, models }: FluxUnit, format = formatOf(source)): string {
  const contents: JsonObject = {}
  for (const [name, model] of models) setOwn(contents, name, model)
  return JSON.stringify({ ...(format > 1 && { format }), package: owner, fluxName, source, models: contents })
}

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

const Stored = z.object({
  format: z.int().optional(),
  package: z.string(),
  fluxName: z.string(),
  source: z.custom<JsonObject>(isObject),
  models: z.custom<JsonObject>(isObject).catch({}),
})

export interface StoredUnit extends FluxUnit {
  /** Whether a later version of the program wrote it. */
  readonly isNewer: boolean
}

/**
 * Whether a later version of the program wrote the text, according to its `format`. The rest of the text may be
 * unreadable.
 */
export function isLater(text: string): boolean {
  const stored = parsed(text)
  return isObject(stored) && typeof stored['format'] === 'number' && stored['format'] > FORMAT
}

/** Whether the definition's `key`, `keyReuse`, `early`, `onEnd` and `$secrets` count: in format 1 they had no meaning. */
export function hasKeys(text: string): boolean {
  // The format is the first thing in a text that has one.
  const stored = text.startsWith('{"format":') ? parsed(text) : null
  return isObject(stored) && typeof stored['format'] === 'number' && stored['format'] >= KEYED
}

/** Parses a stored text; null if it is not a definition. */
export function readPinned(text: string): StoredUnit | null {
  const stored = Stored.safeParse(parsed(text))
  if (!stored.success) return null
  const { models, format = 1, ...unit } = stored.data
  const contents = Object.entries(models).flatMap(([name, model]) => (isObject(model) ? [[name, model] as const] : []))
  return { ...unit, models: new Map(contents), isNewer: format > FORMAT }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
