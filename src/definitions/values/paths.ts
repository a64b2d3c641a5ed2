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
      at = isIndex(segment) ? at[Number(segment)] : named(at, segment, { anyCase: name === 'headers', budget })
    else at = isObject(at) ? getOwn(at, segment) : undefined
    if (at === undefined) return undefined
    name = segment
  }
  return at
}

interface Search {
  readonly anyCase: boolean
  readonly budget: WorkBudget
}

function named(list: readonly Json[], name: string, { anyCase, budget }: Search): Json | undefined {
  const lowered = name.toLowerCase()
  const same = (other: Json | undefined) => {
    if (typeof other !== 'string' || other.length !== name.length) return false
    budget.spend(name.length)
    return other === name || (anyCase && other.toLowerCase() === lowered)
  }
  budget.spend(list.length * STEPS_AN_ELEMENT)
  const element = list.find((item) => isObject(item) && same(getOwn(item, 'name')))
  return isObject(element) ? getOwn(element, 'value') : undefined
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
  const written = write(root, 0, { path, value, budget, lists })
  if (isObject(written)) return written
  throw new LineError('only an object can be written here')
}

interface Writing {
  readonly path: readonly string[]
  readonly value: Json
  readonly budget: WorkBudget
  readonly lists: ReadonlySet<number>
}

/** Elements of a list that V8 copies in one step. */
const COPIED_AT_ONCE = 8

function write(at: Json | undefined, position: number, writing: Writing): Json {
  const { path, value, budget, lists } = writing
  const segment = path[position]
  if (segment === undefined) return value
  const place = at ?? (lists.has(position) ? [] : {})
  if (Array.isArray(place)) {
    budget.spend(place.length / COPIED_AT_ONCE)
    const copy = withIndex(place, segment, path, position)
    copy[Number(segment)] = write(place[Number(segment)], position + 1, writing)
    return copy
  }
  if (!isObject(place))
    throw lineError(
      path,
      position,
      `is ${typeof place === 'string' ? 'text' : `a ${typeof place}`}, which has no "${segment}"`,
    )
  budget.spend(stepsOfMembers(Object.keys(place).length))
  const copy = { ...place }
  setOwn(copy, segment, write(getOwn(place, segment), position + 1, writing))
  return copy
}

/** A copy of the list, filled up to the index with null. */
function withIndex(list: readonly Json[], segment: string, path: readonly string[], position: number): Json[] {
  const index = Number(segment)
  if (!isIndex(segment)) throw lineError(path, position, `is a list, and "${segment}" is no index`)
  if (index >= Math.max(list.length, MAX_ELEMENTS))
    throw lineError(path, position, `can't be made longer than ${MAX_ELEMENTS} elements`)
  const copy = [...list]
  while (copy.length < index) copy.push(null)
  return copy
}

const lineError = (path: readonly string[], position: number, reason: string): LineError =>
  new LineError(`${formatPath(path)}: ${formatPath(path.slice(0, position)) || 'the value'} ${reason}`)
