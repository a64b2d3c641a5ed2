// definitions: the text of a definition, which is stored under its hash. It has everything that the definition is
// compiled from.
import { hash } from 'node:crypto'
import { z } from 'zod'
import { FORMAT, otherFormat } from '../../model/format.ts'
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { UnreadableDefinition } from '../definition-error.ts'

export interface FluxUnit {
  readonly package: string
  readonly fluxName: string
  readonly source: JsonObject
  /** Contents of the .model files, by dotted name. */
  readonly models: ReadonlyMap<string, JsonObject>
}

export const pinnedText = ({ package: owner, fluxName, source, models }: FluxUnit): string =>
  JSON.stringify({ format: FORMAT, package: owner, fluxName, source, models: Object.fromEntries(models) })

export const hashOf = (text: string): string => hash('sha256', text)

const Stored = z.object({
  format: z.literal(FORMAT),
  package: z.string(),
  fluxName: z.string(),
  source: z.custom<JsonObject>(isObject),
  models: z.custom<{ [name: string]: JsonObject }>((given) => isObject(given) && Object.values(given).every(isObject)),
})

/** Parses a stored text; null if it is not a definition, or one of another format. */
export function readPinned(text: string): FluxUnit | null {
  const { data } = Stored.safeParse(parsed(text))
  if (data === undefined) return null
  const { format: _, models, ...unit } = data
  return { ...unit, models: new Map(Object.entries(models)) }
}

/** Why a stored text is not a definition of this format. The rest of one of another format may be unreadable. */
export function unreadable(text: string): UnreadableDefinition {
  const stored = parsed(text)
  const format = isObject(stored) ? stored['format'] : null
  return typeof format === 'number' && format !== FORMAT
    ? new UnreadableDefinition(otherFormat(`the definition ${hashOf(text)}`, format), { isForeign: true })
    : new UnreadableDefinition('what is stored is no definition')
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
