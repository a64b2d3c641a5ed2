// definitions: reads the value at a path, and writes a value at a path into a copy.
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { STEPS_AN_ELEMENT, stepsOfMembers, WorkBudget } from '../work-budget.ts'

/** A line can't be executed. The action fails with its message. */
export class LineError extends Error {
  override readonly name = 'LineError'
}

/** Maximum number of elements to which a write may lengthen a list. */
const MAX_ELEMENTS = 10_000

export const isIndex = (segment: string): boolean => /^(?:0|[1-9]\d{0,15})$/.test(segment)

/** Formats a path for messages. */
export const formatPath = (path: readonly string[]): string => path.join('.')

/**
 * Returns the value at the end of the path, by own keys and indices; undefined if there is none. In a list of `{name,
 * value}` elements, a name selects the value of the first element of that name; in a list called `headers`, case is
 * ignored. `called` is the name of `value` itself.
 * @throws TooMuchWork
 */
export function readPath(
  value: Json | undefined,
  path: readonly string[],
  called = '',
  budget = new WorkBudget(),
): Json | undefined {
  let at = value
  let name = called
  for (const segment of path) {
    if (Array.isArray(at))
      at = isIndex(segment) ? at[Number(segment)] : namedElement(at, segment, name === 'headers', budget)?.['value']
    else at = isObject(at) ? getOwn(at, segment) : undefined
    if (at === undefined) return undefined
    name = segment
  }
  return at
}

/** Characters that are converted to lower case and compared in one step. */
const COMPARED_AT_ONCE = 4

/** Whether two names are equal. Names of different lengths differ and are not compared. */
export function isNamed(name: unknown, wanted: string, anyCase: boolean, budget: Pick<WorkBudget, 'spend'>): boolean {
  if (typeof name !== 'string' || name.length !== wanted.length) return false
  budget.spend(name.length / COMPARED_AT_ONCE)
  return name === wanted || (anyCase && name.toLowerCase() === wanted.toLowerCase())
}

/** The first element of that name in a list of `{name, value}` elements. The search is charged before. */
export function namedElement(
  list: readonly unknown[],
  wanted: string,
  anyCase: boolean,
  budget: Pick<WorkBudget, 'spend'>,
): JsonObject | undefined {
  budget.spend(list.length * STEPS_AN_ELEMENT)
  return list.find(
    (item): item is JsonObject =>
      isObject(item) && Object.hasOwn(item, 'value') && isNamed(getOwn(item, 'name'), wanted, anyCase, budget),
  )
}

const NONE: ReadonlySet<number> = new Set()

/**
 * Returns a copy of the root with the value at the path. Everything else is shared with the root, which is not changed.
 * Missing parents become objects, or lists at the positions in `lists`; gaps in a list become null. An empty path
 * replaces the root. Copying is charged to the budget.
 * @throws TooMuchWork; LineError when a segment leads into a text, a number or a boolean, is not an index of a list, or
 * would lengthen a list beyond 10,000 elements
 */
export function writePath(
  root: JsonObject,
  path: readonly string[],
  value: Json,
  lists = NONE,
  budget = new WorkBudget(),
): JsonObject {
  const write = (at: Json | undefined, position: number): Json => {
    const segment = path[position]
    if (segment === undefined) return value
    const place = at ?? (lists.has(position) ? [] : {})
    if (Array.isArray(place)) {
      const index = Number(segment)
      if (!isIndex(segment)) throw lineError(path, position, `is a list, and "${segment}" is no index`)
      if (index >= Math.max(place.length, MAX_ELEMENTS))
        throw lineError(path, position, `can't be made longer than ${MAX_ELEMENTS} elements`)
      budget.spend(place.length / COPIED_AT_ONCE)
      const copy = [...place]
      while (copy.length < index) copy.push(null)
      copy[index] = write(place[index], position + 1)
      return copy
    }
    if (!isObject(place)) {
      const kind = typeof place === 'string' ? 'text' : `a ${typeof place}`
      throw lineError(path, position, `is ${kind}, which has no "${segment}"`)
    }
    budget.spend(stepsOfMembers(Object.keys(place).length))
    const copy = { ...place }
    setOwn(copy, segment, write(getOwn(place, segment), position + 1))
    return copy
  }
  const written = write(root, 0)
  if (isObject(written)) return written
  throw new LineError('only an object can be written here')
}

/** Elements of a list that V8 copies in one step. */
const COPIED_AT_ONCE = 8

const lineError = (path: readonly string[], position: number, reason: string) =>
  new LineError(`${formatPath(path)}: ${formatPath(path.slice(0, position)) || 'the value'} ${reason}`)
