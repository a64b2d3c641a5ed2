// inspector/parts: a long text, as far as a page has room for it.
import type { Json } from '../../model/json/value.ts'
import { faint } from './blocks.tsx'

/** Characters of JSON or XML in a page. */
export const MAX_TEXT_CHARACTERS = 200_000

export interface Cut {
  readonly text: string
  /** Whether there is more. */
  readonly isCut: boolean
}

/** At most so many characters of a text. */
export const cut = (text: string, max: number): Cut => ({ text: text.slice(0, max), isCut: text.length > max })

/**
 * The beginning of a value as JSON, about as long as it is shown: what does not fit is left out before it is written.
 * `indent`: spaces of each level; 0: all in one line.
 */
export function jsonText(value: object | Json, max: number, indent = 0): Cut {
  let written = 0
  const shown = (_name: string, item: unknown) => {
    if (written > max || item === undefined) return undefined
    const kept = typeof item === 'string' ? item.slice(0, max + 1) : item
    written += typeof kept === 'string' ? kept.length : 1
    return kept
  }
  return cut(JSON.stringify(value, shown, indent) ?? 'null', max)
}

/** `look`: its class; those that are not `wide` have lines that wrap. */
export const cutBlock = ({ text, isCut }: Cut, look?: 'wide') => (
  <>
    <pre class={look} tabindex={0}>
      {text}
    </pre>
    {isCut && faint('The rest is left out here: the API shows it.')}
  </>
)

export const jsonBlock = (value: object) => cutBlock(jsonText(value, MAX_TEXT_CHARACTERS, 2), 'wide')
