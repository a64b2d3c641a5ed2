// definitions: line and column for what a report names by pointer.
import { positionOf } from '../../model/json/scan.ts'
import { locate } from './json.ts'
import type { Fault } from '../report.ts'

/**
 * The faults, those of a file whose text is known with their places in it. What isn't there stands where it would
 * belong.
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

/** The pointer, and those of all that it lies in, itself first. */
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
    // The file as a whole isn't one place.
    if (pointer === '') return undefined
    const nearest = ancestry(pointer).find((step) => found.has(step)) ?? ''
    const located = found.get(nearest)
    return located && positionOf(text, part === 'key' ? located.key : located.value)
  }
}
