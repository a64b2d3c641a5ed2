// definitions: the names that a place of a service sees, and what is said of one that it doesn't.
import { suggestion } from '../../model/nearest.ts'
import { foreignHint } from './foreign.ts'
import { messageOf } from '../../model/error-message.ts'

/** Whether a name can be seen, and which ones can, where that is known; null: any may be there. */
export type Visible = (((name: string) => boolean) & { readonly names?: () => readonly string[] }) | null

/** Why an expression that uses these names can't be taken; null if it can. */
export function unseenNames(names: Iterable<string>, visible: Visible, source: string): string | null {
  if (visible === null) return null
  const unseen = [...names].filter((name) => !visible(name))
  const [first] = unseen
  if (first === undefined) return null
  return `not visible anywhere: ${unseen.join(', ')}${suggestion(first, visible.names?.() ?? [])}${foreignHint(source)}`
}

export const notParsed = (error: unknown, source: string): string =>
  `can't be parsed: ${messageOf(error)}${foreignHint(source)}`

/** What is said of `"…${x}…"`. */
export const PLAIN_TEXT =
  'the ${…} in a text in quotes is plain text: write backticks (`…${x}…`) for what it stands for'
