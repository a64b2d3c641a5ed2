// definitions: where a line writes: the place, the path in it, and what is declared at the end of the path.
import type { JsonObject } from '../../model/json/value.ts'
import { SECRETS } from '../../model/secret-reference.ts'
import { formatPath, isIndex } from '../values/paths.ts'
import { descend, type Property } from '../values/properties.ts'
import { RESERVED } from './secret-reference.ts'
import { readSegments, refuseLine, type PartOptions, type Place } from './line.ts'

export interface LineTarget {
  readonly name: string
  readonly place: Place
  readonly path: readonly string[]
  /** What is declared at the end of the path; null if nothing is. */
  readonly property: Property | null
  /** Positions in the path that are indices of declared lists. */
  readonly lists: ReadonlySet<number>
  /** The path as shown in messages. */
  readonly shown: string
}

/** Compiles the target of a line; null after a fault, which is reported. */
export function compileTarget(
  source: JsonObject,
  pointer: string,
  { resolve, report }: PartOptions,
): LineTarget | null {
  const to = readSegments(source, 'to', pointer, report)
  if (to === null) return null
  const [name = '', ...below] = to
  if (name === SECRETS) return refuseLine(report, `${pointer}/to`, RESERVED)
  const target = resolve(name)
  if (target === null) return refuseLine(report, `${pointer}/to`, `there is no "${name}" to write to`)
  const { place, property } = target
  if (place === 'fluxEvent' && below.length > 0)
    return refuseLine(report, `${pointer}/to`, `"${name}" is a single value: it has no parts to write to`)
  const path = place === 'fluxEvent' || place === 'response' ? below : to
  const shown = formatPath(to)
  if (property === null)
    return { name, place, path, property, lists: place === 'response' ? listsOfResponse(below) : new Set(), shown }
  const found = descend(property, below)
  if (!found.ok) return refuseLine(report, `${pointer}/to`, found.reason)
  const shift = path.length - below.length
  return {
    name,
    place,
    path,
    property: found.property,
    lists: new Set([...found.lists].map((position) => position + shift)),
    shown,
  }
}

/** The lists of `$response` may be written by index. */
const listsOfResponse = ([part = '', index = '']: readonly string[]): ReadonlySet<number> =>
  new Set((part === 'cookies' || part === 'headers') && isIndex(index) ? [1] : [])
