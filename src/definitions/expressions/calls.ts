// definitions/expressions: calls of methods, which depend on the type of the target, and what is spread.
import { getOwn, setOwn } from '../../model/json/value.ts'
import { stepsOfMembers } from '../work-budget.ts'
import { listMethods, loopMethods } from './builtins/list-methods.ts'
import { numberMethods } from './builtins/number-methods.ts'
import { textMethods } from './builtins/text-methods.ts'
import { isList, type Code, type Evaluation, type Value } from './evaluation.ts'
import { ExpressionError } from './expression.ts'
import { typeNameOf } from './values.ts'

/** Adds a member, or several, to an object under construction. */
export type Member = (run: Evaluation, into: { [key: string]: Value }) => void
/** A method call or property access that is bound to its arguments and gets its target. */
export type Invocation = (run: Evaluation, target: Value) => Value
/** Evaluates arguments or elements. */
export type Items = (run: Evaluation) => Value[]

export const methodNames: readonly string[] = [
  ...new Set([textMethods, listMethods, loopMethods, numberMethods].flatMap((methods) => [...methods.keys()])),
].sort()

/**
 * Compiles a method call.
 * @param optional `target.method?.()`: a target without the method gives undefined instead of an error
 */
export function methodCall(method: string, args: Items, optional: boolean): Invocation {
  const ofText = textMethods.get(method)
  const ofList = listMethods.get(method)
  const ofNumber = numberMethods.get(method)
  return (run, target) => {
    if (ofText && typeof target === 'string') return ofText(run, target, args(run))
    if (ofList && isList(target)) return ofList(run, target, args(run))
    if (ofNumber && typeof target === 'number') return ofNumber(run, target, args(run))
    return lacking(method, target, optional)
  }
}

/** The result of a method that the target does not have. */
export function lacking(method: string, target: Value, optional: boolean): undefined {
  if (!optional) throw new ExpressionError(`${typeNameOf(target)} has no method '${method}'`)
}

/** Spreads the elements of a list, or the characters of a text. */
export function spreadOf(run: Evaluation, value: Value) {
  if (typeof value !== 'string' && !isList(value))
    throw new ExpressionError(`${typeNameOf(value)} can't be spread into a list`)
  run.makeElements(value.length)
  return value
}

/** Compiles a spread into an object: the members of an object, or the elements of a list by index, are copied. */
export function spreadMember(code: Code): Member {
  return (run, into) => {
    const value = code(run)
    if (value === null || value === undefined) return
    if (typeof value !== 'object') throw new ExpressionError(`${typeNameOf(value)} can't be spread into an object`)
    const keys = Object.keys(value)
    run.makeMembers(keys.length)
    run.spend(stepsOfMembers(keys.length))
    for (const key of keys) setOwn(into, key, isList(value) ? value[Number(key)] : getOwn(value, key))
  }
}
