// definitions: paths into data: reading one, and writing one into a copy.
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../model/json.ts'

/** A line that can't be carried out: the action fails with its message. */
export class LineError extends Error {
  override readonly name = 'LineError'
}

/** A write into a list may lengthen it to this many elements. */
const MAX_LENGTH = 10_000

export const isIndex = (segment: string): boolean => /^(?:0|[1-9]\d{0,15})$/.test(segment)

/** Shows a path in messages. */
export const showPath = (path: readonly string[]): string => path.join('.')

/**
 * The value at the end of the path, by own keys and indices; undefined where it leads nowhere. On a list of `{name, value}` elements a name gives the
 * value of the first element of that name; in a list called `headers`, without regard to case. `called`: under which name the value itself stands.
 */
export function readPath(value: Json | undefined, path: readonly string[], called = ''): Json | undefined {
  let at = value
  let name = called
  for (const segment of path) {
    if (Array.isArray(at)) at = isIndex(segment) ? at[Number(segment)] : named(at, segment, name === 'headers')
    else at = isObject(at) ? getOwn(at, segment) : undefined
    if (at === undefined) return undefined
    name = segment
  }
  return at
}

function named(list: readonly Json[], name: string, anyCase: boolean): Json | undefined {
  const same = (other: Json | undefined) => typeof other === 'string' && (other === name || (anyCase && other.toLowerCase() === name.toLowerCase()))
  const element = list.find((item) => isObject(item) && same(getOwn(item, 'name')))
  return isObject(element) ? getOwn(element, 'value') : undefined
}

const NONE: ReadonlySet<number> = new Set()

/**
 * A copy of the root with the value at the path; what the path doesn't touch is shared with the root, which stays as it was. What is missing on the way
 * becomes an object, or a list at the positions in `lists`; gaps in a list become null. An empty path replaces the root.
 * @throws LineError where a segment leads into text, a number or a boolean, is no index into a list, or would lengthen a list beyond 10,000
 */
export function writePath(root: JsonObject, path: readonly string[], value: Json, lists: ReadonlySet<number> = NONE): JsonObject {
  const written = write(root, path, 0, value, lists)
  if (isObject(written)) return written
  throw new LineError('only an object can be written here')
}

function write(at: Json | undefined, path: readonly string[], position: number, value: Json, lists: ReadonlySet<number>): Json {
  const segment = path[position]
  if (segment === undefined) return value
  const place = at ?? (lists.has(position) ? [] : {})
  if (Array.isArray(place)) {
    const copy = withIndex(place, segment, path, position)
    copy[Number(segment)] = write(place[Number(segment)], path, position + 1, value, lists)
    return copy
  }
  if (!isObject(place)) throw lineError(path, position, `is ${typeof place === 'string' ? 'text' : `a ${typeof place}`}, which has no "${segment}"`)
  const copy = { ...place }
  setOwn(copy, segment, write(getOwn(place, segment), path, position + 1, value, lists))
  return copy
}

/** A copy of the list, filled up to the index. */
function withIndex(list: readonly Json[], segment: string, path: readonly string[], position: number): Json[] {
  const index = Number(segment)
  if (!isIndex(segment)) throw lineError(path, position, `is a list, and "${segment}" is no index`)
  if (index >= Math.max(list.length, MAX_LENGTH)) throw lineError(path, position, `can't be made longer than ${MAX_LENGTH} elements`)
  const copy = [...list]
  while (copy.length < index) copy.push(null)
  return copy
}

const lineError = (path: readonly string[], position: number, reason: string): LineError =>
  new LineError(`${showPath(path)}: ${showPath(path.slice(0, position)) || 'the value'} ${reason}`)
