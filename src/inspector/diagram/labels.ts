// inspector/diagram: puts the label of each line on it, where there is room, and cuts it to that room.
import type { Box } from './layout.ts'
import { cutText } from '../parts/texts.ts'
import type { Point } from './route.ts'

export interface Label {
  /** As much as there is room for. */
  readonly text: string
  /** Of its middle. */
  readonly x: number
  readonly y: number
  readonly width: number
}

interface Area {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** Pixels of a character, about, and of a label. */
const CHARACTER_PX = 6.4
const HEIGHT_PX = 14
const PADDING_PX = 4
const MAX_CHARACTERS = 28
/** A shorter label is whole or not there: fewer characters of it say nothing. */
const MIN_CHARACTERS = 10
/** Where along a piece a label may be: the middle is best. */
const SHARES = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9]

/** null: there is no text, or no room for it. */
export function labelsOf(
  boxes: readonly Box[],
  lines: readonly { readonly points: readonly Point[]; readonly text: string }[],
): readonly (Label | null)[] {
  // At the right upper corner of a state is how many are there, or the ring of the time that is left.
  const corners = boxes.map(({ x, y, width }) => ({ x: x + width - 20, y: y - 20, width: 36, height: 36 }))
  const areas: Area[] = [...boxes, ...corners]
  return lines.map(({ points, text }) => {
    const label = text === '' ? null : placed(points, text, areas)
    if (label) areas.push(areaOf(label))
    return label
  })
}

function placed(points: readonly Point[], text: string, areas: readonly Area[]): Label | null {
  const pieces = points
    .slice(1)
    .map((end, index) => ({ start: points[index] ?? end, end }))
    .toSorted((one, other) => lengthOf(other) - lengthOf(one))
  const ordered = [...pieces.filter(isRow), ...pieces.filter((piece) => !isRow(piece))]
  // First as a whole, then cut.
  const characters = Math.min(text.length, MAX_CHARACTERS)
  for (const most of [characters, 20, MIN_CHARACTERS]) {
    if (most > characters) continue
    for (const piece of ordered) {
      const label = placedOn(piece, cutText(text, most), areas)
      if (label) return label
    }
  }
  return null
}

interface Piece {
  readonly start: Point
  readonly end: Point
}

const isRow = ({ start, end }: Piece): boolean => start.y === end.y

const lengthOf = ({ start, end }: Piece): number => Math.abs(start.x - end.x) + Math.abs(start.y - end.y)

function placedOn(piece: Piece, text: string, areas: readonly Area[]): Label | null {
  const { start, end } = piece
  const width = text.length * CHARACTER_PX + PADDING_PX * 2
  // The arrow and the bend stay visible.
  if (start.y === end.y ? lengthOf(piece) < width + 12 : lengthOf(piece) < HEIGHT_PX + 14) return null
  for (const share of SHARES) {
    const label = { text, width, x: start.x + (end.x - start.x) * share, y: start.y + (end.y - start.y) * share }
    const isWithin =
      start.y !== end.y || Math.min(Math.abs(label.x - start.x), Math.abs(label.x - end.x)) >= width / 2 + 6
    if (isWithin && !areas.some((area) => overlap(area, areaOf(label)))) return label
  }
  return null
}

const areaOf = ({ x, y, width }: Label): Area => ({
  x: x - width / 2,
  y: y - HEIGHT_PX / 2,
  width,
  height: HEIGHT_PX,
})

const overlap = (one: Area, other: Area): boolean =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height
