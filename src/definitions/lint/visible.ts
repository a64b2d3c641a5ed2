// definitions: checks that names are visible where they are used, and formats messages about expressions.
import { suggestion } from '../../model/nearest.ts'
import { foreignHint } from './foreign.ts'
import { messageOf } from '../../model/error-message.ts'

/** Whether a name is visible, and which names are, if known; null: any name may be. */
export type Visible = (((name: string) => boolean) & { readonly names?: () => readonly string[] }) | null

/** Returns a message about the names that are not visible; null if all are. */
export function unseenNames(names: Iterable<string>, visible: Visible, source: string): string | null {
  if (visible === null) return null
  const unseen = [...names].filter((name) => !visible(name))
  const [first] = unseen
  if (first === undefined) return null
  return `not visible anywhere: ${unseen.join(', ')}${suggestion(first, visible.names?.() ?? [])}${foreignHint(source)}`
}

export const notParsed = (error: unknown, source: string): string =>
  `can't be parsed: ${messageOf(error)}${foreignHint(source)}`

/** The warning about `"…${x}…"`. */
export const PLAIN_TEXT =
  'the ${…} in a text in quotes is plain text: write backticks (`…${x}…`) for what it stands for'
