// cli/remote: text for a terminal. What a server tells may have any characters: those that would control the terminal
// are shown as escapes.
import stringWidth from 'string-width'
import { styleText } from 'node:util'

/** C0 and C1 controls without line feed and tab, those that change the direction of text, and what is no character. */
const CONTROLS = /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\uFFFE\uFFFF]/gu

/** One line, without characters that control a terminal. */
export const plain = (text: string): string => plainText(text).replace(/[\n\t]/g, ' ')

/** Lines, without characters that control a terminal, and that XML does not have. */
export const plainText = (text: string): string =>
  text
    .replaceAll('\r\n', '\n')
    .replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** The data as JSON, whose own escapes stand for such characters. */
export const plainJson = (data: unknown, indent = 0): string => plainText(JSON.stringify(data, null, indent))

export type Style = 'dim' | 'bold' | 'green' | 'yellow' | 'red' | 'blue' | 'cyan'

export interface StyledText {
  readonly text: string
  readonly style?: Style | undefined
}

/** A cell of a table. */
export type Cell = string | number | StyledText

const ELLIPSIS = '…'
const GAP = '  '
/** A column is not made narrower than this. */
const MIN_COLUMN = 8

/** A line for each row. Each column is as wide as its widest text. */
export const aligned = (rows: readonly (readonly Cell[])[], hasColour = false): string[] =>
  tableLines(rows, null, hasColour)

/**
 * The lines of a table. The widest columns give way until it fits so many columns of the terminal; null: there is none.
 */
export function tableLines(rows: readonly (readonly Cell[])[], columns: number | null, hasColour: boolean): string[] {
  const all = rows.map((row) =>
    row.map((cell) => (typeof cell === 'object' ? { ...cell, text: plain(cell.text) } : { text: plain(String(cell)) })),
  )
  const natural = (all[0] ?? []).map((_, column) => Math.max(...all.map((row) => stringWidth(row[column]?.text ?? ''))))
  const widths = columns === null ? natural : narrowed(natural, columns - GAP.length * (natural.length - 1))
  return all.map((row) =>
    row
      .map(({ text, style }, column) => {
        const width = widths[column] ?? 0
        const shown = cut(text, width)
        const coloured = hasColour && style ? styled(style, shown) : shown
        return coloured + ' '.repeat(Math.max(0, width - stringWidth(shown)))
      })
      .join(GAP)
      .trimEnd(),
  )
}

export const styled = (style: Style, text: string): string => styleText(style, text, { validateStream: false })

/** The widths, of which the greatest are cut down until all fit. */
function narrowed(natural: readonly number[], room: number) {
  let most = Math.max(...natural)
  const capped = () => natural.map((width) => Math.min(width, most))
  while (most > MIN_COLUMN && capped().reduce((sum, width) => sum + width) > room) most -= 1
  return capped()
}

function cut(text: string, width: number) {
  if (stringWidth(text) <= width) return text
  let shown = ''
  let used = 1
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += stringWidth(segment)
    if (used > width) break
    shown += segment
  }
  return shown + ELLIPSIS
}

/** Epoch milliseconds as people read them, in UTC; a dash where there is none. */
export const timeText = (time: number | null | undefined): string =>
  time == null
    ? '–'
    : new Date(time)
        .toISOString()
        .replace('T', ' ')
        .replace(/\.\d+Z$/, 'Z')
