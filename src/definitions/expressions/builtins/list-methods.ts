// definitions/expressions/builtins: the methods of lists. None changes its list: `sort` and `reverse` return a copy.
import { STEPS_AN_ELEMENT } from '../../work-budget.ts'
import { isList, type Evaluation, type List, type Method, type Value } from '../evaluation.ts'
import { ExpressionError } from '../expression.ts'
import { numberOf, indexArgument, stringify } from '../values.ts'

/** An arrow function that is passed to a method. It is not a value, and exists only during the call. */
export type Callback = (...values: Value[]) => Value
type LoopMethod = (run: Evaluation, list: List, callback: Callback, args: List) => Value

/** Elements that V8 copies, or compares with a number, in one step. */
const READ_AT_ONCE = 8
/** Steps for an element that is searched backwards: V8 takes 40 times as long for it if the list is frozen. */
const STEPS_BACKWARDS = 5
/** Steps of one comparison of texts, which our own code makes while sorting. */
const STEPS_TO_COMPARE = 6
const MAX_FLAT_DEPTH = 100

function made(run: Evaluation, list: List) {
  run.make(list.length)
  run.spend(list.length / READ_AT_ONCE)
  return run.own(list)
}

/** Charges a search through all elements. A text is compared only with texts of its length. */
function sought(run: Evaluation, list: List, wanted: Value) {
  run.spend(list.length / READ_AT_ONCE)
  if (typeof wanted !== 'string') return list
  run.spend(list.length)
  let alike = 0
  for (const item of list) if (typeof item === 'string' && item.length === wanted.length) alike += 1
  run.scan(alike * wanted.length)
  return list
}

function joined(run: Evaluation, list: List, [separator]: List) {
  const between = separator === undefined ? ',' : stringify(run, separator)
  run.spend(list.length * STEPS_AN_ELEMENT)
  const texts = list.map((item) => (item === null || item === undefined ? '' : stringify(run, item)))
  run.make(texts.reduce((sum, text) => sum + text.length + between.length, 0))
  return texts.join(between)
}

function reversed(run: Evaluation, list: List) {
  run.spend(list.length / READ_AT_ONCE)
  return made(run, list.toReversed())
}

/** Sorts by the elements' texts, as JavaScript does without a function; undefined comes last. */
function sorted(run: Evaluation, list: List) {
  run.spend(list.length * STEPS_AN_ELEMENT)
  const keyed = list.map((item) => ({ item, text: item === undefined ? undefined : stringify(run, item) }))
  keyed.sort(({ text: one }, { text: other }) => {
    run.spend(STEPS_TO_COMPARE)
    if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined)
    run.scan(Math.min(one.length, other.length))
    return one < other ? -1 : Number(one > other)
  })
  const items = keyed.map(({ item }) => item)
  return made(run, items)
}

function flatten(run: Evaluation, list: List, depth: number, into: Value[]): Value[] {
  run.makeElements(list.length)
  for (const item of list) {
    if (isList(item) && depth >= 1) flatten(run, item, depth - 1, into)
    else into.push(item)
  }
  return into
}

export const listMethods = new Map(
  Object.entries<Method<List>>({
    at: (run, list, [index]) => list.at(indexArgument(run, index) ?? 0),
    slice: (run, list, [start, end]) => made(run, list.slice(indexArgument(run, start), indexArgument(run, end))),
    concat: (run, list, args) => run.own(flatten(run, args, 1, flatten(run, list, 0, []))),
    includes: (run, list, [wanted, from]) => sought(run, list, wanted).includes(wanted, indexArgument(run, from)),
    indexOf: (run, list, [wanted, from]) => sought(run, list, wanted).indexOf(wanted, indexArgument(run, from)),
    lastIndexOf: (run, list, [wanted, from]) => {
      run.spend(list.length * STEPS_BACKWARDS)
      return sought(run, list, wanted).lastIndexOf(wanted, indexArgument(run, from) ?? Infinity)
    },
    join: joined,
    reverse: reversed,
    toReversed: reversed,
    sort: sorted,
    toSorted: sorted,
    flat: (run, list, [depth]) =>
      run.own(flatten(run, list, Math.min(indexArgument(run, depth) ?? 1, MAX_FLAT_DEPTH), [])),
  }),
)

function reduce(_: Evaluation, list: List, callback: Callback, args: List) {
  const [first] = args.length > 0 ? args : list
  if (list.length === 0 && args.length === 0)
    throw new ExpressionError('an empty list is reduced without an initial value')
  let result = first
  for (let index = args.length > 0 ? 0 : 1; index < list.length; index += 1)
    result = callback(result, list[index], index, list)
  return result
}

const sortedBy: LoopMethod = (run, list, callback) => {
  const order = (a: Value, b: Value) => numberOf(run, callback(a, b))
  return made(run, list.toSorted(order))
}

/** The methods whose first argument is a function. */
export const loopMethods = new Map(
  Object.entries<LoopMethod>({
    map: (run, list, callback) => made(run, list.map(callback)),
    filter: (run, list, callback) => made(run, list.filter(callback)),
    find: (_, list, callback) => list.find(callback),
    findIndex: (_, list, callback) => list.findIndex(callback),
    findLast: (_, list, callback) => list.findLast(callback),
    findLastIndex: (_, list, callback) => list.findLastIndex(callback),
    some: (_, list, callback) => list.some(callback),
    every: (_, list, callback) => list.every(callback),
    reduce,
    flatMap: (run, list, callback) => run.own(flatten(run, list.map(callback), 1, [])),
    sort: sortedBy,
    toSorted: sortedBy,
  }),
)
