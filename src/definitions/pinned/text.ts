// definitions: the text of a definition, which is stored under its hash. It has everything that the definition is
// compiled from.
import { hash } from 'node:crypto'
import { z } from 'zod'
import { FORMAT } from '../../model/format.ts'
import { isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'

export interface FluxUnit {
  readonly package: string
  readonly fluxName: string
  readonly source: JsonObject
  /** Contents of the .model files, by dotted name. */
  readonly models: ReadonlyMap<string, JsonObject>
}

export function pinnedText({ package: owner, fluxName, source, models }: FluxUnit): string {
  const contents: JsonObject = {}
  for (const [name, model] of models) setOwn(contents, name, model)
  return JSON.stringify({ format: FORMAT, package: owner, fluxName, source, models: contents })
}

export const hashOf = (text: string): string => hash('sha256', text)

const Stored = z.object({
  format: z.literal(FORMAT),
  package: z.string(),
  fluxName: z.string(),
  source: z.custom<JsonObject>(isObject),
  models: z.custom<JsonObject>(isObject).catch({}),
})

/** Parses a stored text; null if it is not a definition, or one of another format. */
export function readPinned(text: string): FluxUnit | null {
  const stored = Stored.safeParse(parsed(text))
  if (!stored.success) return null
  const { package: owner, fluxName, source, models } = stored.data
  const contents = Object.entries(models).flatMap(([name, model]) => (isObject(model) ? [[name, model] as const] : []))
  return { package: owner, fluxName, source, models: new Map(contents) }
}

/** The format of a stored text, if it is another one than this version's. The rest may be unreadable. */
export function foreignFormat(text: string): number | null {
  const stored = parsed(text)
  const format = isObject(stored) ? stored['format'] : null
  return typeof format === 'number' && format !== FORMAT ? format : null
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
