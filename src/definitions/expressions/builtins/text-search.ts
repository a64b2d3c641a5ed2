// definitions/expressions/builtins: searches a text in another, in time linear in the sum of their lengths. V8's own
// search takes up to the product of the lengths; it is used where that is cheaper.
import { STEPS_AN_ELEMENT } from '../../work-budget.ts'
import type { Evaluation } from '../evaluation.ts'

/** Characters that V8's search compares in one step, in its worst case. */
const COMPARED_AT_ONCE = 32
/** Characters that the linear search reads in one step. */
const SEARCHED_AT_ONCE = 4
const STEPS_TO_SEARCH = 6
/** Steps for a match and the part of the text that is cut out for it. */
const STEPS_TO_FIND = 3

/**
 * Index of the first occurrence of `wanted` at or after `from`; -1 if there is none. The search is charged before it
 * runs.
 */
export function find(run: Evaluation, text: string, wanted: string, from = 0): number {
  if (isDirect(run, text, wanted)) return text.indexOf(wanted, from)
  for (const at of matches(text, wanted, from)) return at
  return -1
}

/** Index of the last occurrence of `wanted` at or before `from`; -1 if there is none. */
export function findLast(run: Evaluation, text: string, wanted: string, from: number): number {
  if (isDirect(run, text, wanted)) return text.lastIndexOf(wanted, from)
  const bound = Number.isNaN(from) ? Infinity : Math.max(0, from)
  let found = -1
  for (const at of matches(text, wanted, 0)) {
    run.spend(STEPS_AN_ELEMENT)
    if (at > bound) break
    found = at
  }
  return found
}

/** Indices of the occurrences of `wanted`, which must not be empty, without overlapping ones. */
export function findAll(run: Evaluation, text: string, wanted: string): number[] {
  const places: number[] = []
  const direct = isDirect(run, text, wanted)
  for (const at of direct ? engineMatches(text, wanted) : matches(text, wanted, 0)) {
    run.make(1)
    run.spend(STEPS_TO_FIND)
    if (at >= (places.at(-1) ?? -Infinity) + wanted.length) places.push(at)
  }
  return places
}

/** Charges the cheaper search, and returns whether it is V8's. */
function isDirect(run: Evaluation, text: string, wanted: string): boolean {
  run.spend(STEPS_TO_SEARCH)
  run.scan(text.length)
  const direct =
    wanted.length < 2 ? 0 : (Math.max(0, text.length - wanted.length) * (wanted.length + 2)) / COMPARED_AT_ONCE
  const linear = (text.length + wanted.length) / SEARCHED_AT_ONCE
  run.spend(Math.min(direct, linear))
  return direct <= linear
}

function* engineMatches(text: string, wanted: string): Generator<number> {
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) yield at
}

/** Yields the indices of all occurrences, including overlapping ones (Knuth, Morris and Pratt). */
function* matches(text: string, wanted: string, from: number): Generator<number> {
  const borders = bordersOf(wanted)
  for (let at = Math.max(0, Math.trunc(from) || 0), length = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    while (length > 0 && unit !== wanted.charCodeAt(length)) length = borders[length - 1] ?? 0
    if (unit === wanted.charCodeAt(length)) length += 1
    if (length < wanted.length) continue
    yield at - length + 1
    length = borders[length - 1] ?? 0
  }
}

/**
 * The prefix function: for each prefix of the text, the length of its longest proper prefix that is also its suffix.
 */
function bordersOf(wanted: string): Uint32Array {
  const borders = new Uint32Array(wanted.length)
  for (let at = 1, length = 0; at < wanted.length; at += 1) {
    while (length > 0 && wanted.charCodeAt(at) !== wanted.charCodeAt(length)) length = borders[length - 1] ?? 0
    if (wanted.charCodeAt(at) === wanted.charCodeAt(length)) length += 1
    borders[at] = length
  }
  return borders
}
