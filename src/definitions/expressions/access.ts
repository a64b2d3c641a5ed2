// definitions/expressions: reads a property. Only own properties are read, never those of a prototype. A missing
// property and any property of null are undefined; reading never fails.
import { getOwn } from '../../model/json/value.ts'
import type { Evaluation, Fields, List, Value } from './evaluation.ts'
import { isFields, isList } from './evaluation.ts'
import { STEPS_AN_ELEMENT, stepsOfMembers } from '../work-budget.ts'
import { same, stringify } from './values.ts'

const INDEX = /^(?:0|[1-9]\d{0,15})$/

type SameName = (run: Evaluation, name: string, wanted: string) => boolean

function sameButCase(run: Evaluation, name: string, wanted: string): boolean {
  if (name.length !== wanted.length) return false
  run.spend(name.length / LOWERED_PER_STEP)
  return name.toLowerCase() === wanted.toLowerCase()
}

/** Characters that are converted to lower case and compared in one step. */
const LOWERED_PER_STEP = 4

/**
 * `target[key]`. In a list of `{name, value}` elements, a key that is neither an index nor `length` selects the value
 * of the first element of that name.
 */
export function read(run: Evaluation, target: Value, key: Value, sameName: SameName = same): Value {
  if (isFields(target)) return getOwn(target, keyOf(run, key))
  if (typeof target !== 'string' && !isList(target)) return undefined
  if (typeof key === 'number') return element(target, key)
  const text = stringify(run, key)
  if (text === 'length') return target.length
  if (INDEX.test(text)) return element(target, Number(text))
  return typeof target === 'string' ? undefined : named(run, target, text, sameName)
}

/** As `read`, for a list or an object of headers: the case of names is ignored. */
export function readHeader(run: Evaluation, target: Value, key: Value): Value {
  const found = read(run, target, key, sameButCase)
  if (found !== undefined || !isFields(target)) return found
  const wanted = stringify(run, key)
  const names = Object.keys(target)
  run.spend(stepsOfMembers(names.length))
  const name = names.find((name) => sameButCase(run, name, wanted))
  return name === undefined ? undefined : getOwn(target, name)
}

/** Converts a key to text. All its characters are charged, since V8 hashes them. */
export function keyOf(run: Evaluation, key: Value): string {
  const text = stringify(run, key)
  run.scan(text.length)
  return text
}

function element(target: string | List, index: number): Value {
  return Number.isInteger(index) && index >= 0 && index < target.length ? target[index] : undefined
}

function named(run: Evaluation, list: List, wanted: string, sameName: SameName): Value {
  run.spend(list.length * STEPS_AN_ELEMENT)
  const entry = list.find((item): item is Fields => {
    const name = isFields(item) ? getOwn(item, 'name') : undefined
    return typeof name === 'string' && isFields(item) && Object.hasOwn(item, 'value') && sameName(run, name, wanted)
  })
  return entry && getOwn(entry, 'value')
}
