// definitions/expressions: reads a property. Only own properties are read, never those of a prototype. A missing
// property and any property of null are undefined; reading never fails.
import { getOwn } from '../../model/json/value.ts'
import { isIndex, isNamed, namedElement } from '../values/paths.ts'
import { stepsOfMembers } from '../work-budget.ts'
import { isFields, isList, type Evaluation, type Value } from './evaluation.ts'
import { stringify } from './values.ts'

/**
 * `target[key]`. In a list of `{name, value}` elements, a key that is neither an index nor `length` selects the value
 * of the first element of that name.
 */
export function read(run: Evaluation, target: Value, key: Value, anyCase = false): Value {
  if (isFields(target)) return getOwn(target, keyOf(run, key))
  if (typeof target !== 'string' && !isList(target)) return undefined
  if (typeof key === 'number') return target[key]
  const name = stringify(run, key)
  if (name === 'length') return target.length
  if (isIndex(name)) return target[Number(name)]
  return typeof target === 'string' ? undefined : namedElement(target, name, anyCase, run)?.['value']
}

/** As `read`, for a list or an object of headers: the case of names is ignored. */
export function readHeader(run: Evaluation, target: Value, key: Value): Value {
  const found = read(run, target, key, true)
  if (found !== undefined || !isFields(target)) return found
  const wanted = stringify(run, key)
  const names = Object.keys(target)
  run.spend(stepsOfMembers(names.length))
  const name = names.find((name) => isNamed(name, wanted, true, run))
  return name === undefined ? undefined : getOwn(target, name)
}

/** Converts a key to text. All its characters are charged, since V8 hashes them. */
export function keyOf(run: Evaluation, key: Value): string {
  const text = stringify(run, key)
  run.scan(text.length)
  return text
}
