// definitions: checks that names are visible where they are used, and formats messages about expressions.
import { alternatives, suggestion } from '../../model/nearest.ts'
import type { Property } from '../values/property.ts'
import { foreignHint } from '../expressions/foreign.ts'
import { messageOf } from '../../model/error-message.ts'
import { isIndex } from '../values/paths.ts'

/** Which names are visible, and how each is declared, as far as that is known. */
interface Names {
  readonly names?: () => readonly string[]
  readonly declared?: (name: string) => readonly Property[]
}

/** Whether a name is visible; null: any name may be. */
export type Visible = (((name: string) => boolean) & Names) | null

/** Returns a message about the names that are not visible; null if all are. */
export function unseenNames(names: Iterable<string>, visible: Visible, source: string): string | null {
  if (visible === null) return null
  const unseen = [...names].filter((name) => !visible(name))
  const [first] = unseen
  if (first === undefined) return null
  return `not visible anywhere: ${unseen.join(', ')}${suggestion(first, visible.names?.() ?? [])}${foreignHint(source)}`
}

/** Warnings of paths that lead to no field of a declared model, however the name is declared. */
export function strangePaths(paths: readonly (readonly string[])[], visible: Visible): string[] {
  const strange = paths.flatMap(([name = '', ...keys]) => {
    const [first, ...others] = (visible?.declared?.(name) ?? []).map((property) => strangeField(property, keys))
    return first && others.every((other) => other !== null) ? [first] : []
  })
  return [...new Set(strange)]
}

function strangeField(property: Property, [key, ...below]: readonly string[]): string | null {
  if (key === undefined || property.type !== 'model') return null
  // Lists have properties of their own.
  if (property.array) return isIndex(key) ? strangeField({ ...property, array: false }, below) : null
  const fields = property.fields()
  if (fields === null) return null
  const field = fields.properties.get(key)
  if (field !== undefined) return strangeField(field, below)
  return fields.extra ? null : `"${property.name}" has no field "${key}"${alternatives(key, fields.properties.keys())}`
}

export const notParsed = (error: unknown, source: string): string =>
  `can't be parsed: ${messageOf(error)}${foreignHint(source)}`

/** The warning about `"…${x}…"`. */
export const PLAIN_TEXT =
  'the ${…} in a text in quotes is plain text: write backticks (`…${x}…`) for what it stands for'
