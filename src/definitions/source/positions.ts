// definitions: adds line and column to faults that have a pointer.
import { positionOf } from '../../model/json/scan.ts'
import { locate } from './json.ts'
import type { Fault } from '../report.ts'

/**
 * Returns the faults with their positions, as far as the text of the file is known. For something that is missing in
 * the file, the position is that of the nearest part around it.
 */
export function withPositions(faults: readonly Fault[], textOf: (file: string) => string | undefined): Fault[] {
  const pointers = new Map<string, Set<string>>()
  for (const { file, pointer } of faults) {
    const wanted = pointers.get(file) ?? new Set()
    pointers.set(file, wanted)
    for (const step of ancestry(pointer)) wanted.add(step)
  }
  const places = new Map(Array.from(pointers, ([file, wanted]) => [file, placesOf(textOf(file), wanted)]))
  return faults.map((fault) => (fault.line === undefined ? { ...fault, ...places.get(fault.file)?.(fault) } : fault))
}

/** The pointer, then those of everything around it, from the inside out. */
function ancestry(pointer: string): string[] {
  const steps = [pointer]
  for (let end = pointer.lastIndexOf('/'); end >= 0; end = end === 0 ? -1 : pointer.lastIndexOf('/', end - 1))
    steps.push(pointer.slice(0, end))
  return steps
}

function placesOf(
  text: string | undefined,
  wanted: ReadonlySet<string>,
): (fault: Fault) => { line: number; column: number } | undefined {
  if (text === undefined) return () => undefined
  const found = locate(text, wanted)
  return ({ pointer, part }) => {
    // The file as a whole has no single position.
    if (pointer === '') return undefined
    const nearest = ancestry(pointer).find((step) => found.has(step)) ?? ''
    const located = found.get(nearest)
    return located && positionOf(text, part === 'key' ? located.key : located.value)
  }
}
