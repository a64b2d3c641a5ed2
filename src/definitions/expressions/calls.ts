// definitions/expressions: calls of methods, which depend on the type of the target, and the evaluation of arguments
// and spread elements.
import { getOwn, setOwn } from '../../model/json/value.ts'
import { alternatives } from '../../model/nearest.ts'
import { stepsOfMembers } from '../work-budget.ts'
import type { Code, Evaluation, List, Value } from './evaluation.ts'
import { isList } from './evaluation.ts'
import { ExpressionError } from './expression.ts'
import type { Callback } from './builtins/list-methods.ts'
import { listMethods, loopMethods, sortMethods } from './builtins/list-methods.ts'
import { numberMethods } from './builtins/number-methods.ts'
import { textMethods } from './builtins/text-methods.ts'
import { typeNameOf } from './values.ts'

/** Evaluates arguments or elements. */
export type Items = (run: Evaluation) => Value[]
/** Creates the function that a loop method calls, for one evaluation. */
export type CallbackCode = (run: Evaluation) => Callback
/** Adds a member, or several, to an object under construction. */
export type Member = (run: Evaluation, into: { [key: string]: Value }) => void
/** A method call or property access that is bound to its arguments and gets its target. */
export type Invocation = (run: Evaluation, target: Value) => Value

export const isLoop = (method: string) => loopMethods.has(method)
export const needsFunction = (method: string) => isLoop(method) && !sortMethods.has(method)
export const isMethod = (method: string) =>
  [textMethods, listMethods, numberMethods, loopMethods].some((methods) => methods.has(method))
export const methodNames = () =>
  [...new Set([textMethods, listMethods, loopMethods, numberMethods].flatMap((methods) => [...methods.keys()]))].sort()

/** Names of the methods of a value. */
function methodsOf(target: Value): string[] {
  if (typeof target === 'string') return [...textMethods.keys()]
  if (typeof target === 'number') return [...numberMethods.keys()]
  return isList(target) ? [...listMethods.keys(), ...loopMethods.keys()] : []
}

/**
 * Compiles a method call.
 * @param optional `target.method?.()`: a target without the method gives undefined instead of an error
 */
export function methodCall(method: string, args: Items, optional: boolean): Invocation {
  const ofText = textMethods.get(method)
  const ofList = listMethods.get(method) ?? sortMethods.get(method)
  const ofNumber = numberMethods.get(method)
  return (run, target) => {
    if (ofText && typeof target === 'string') return ofText(run, target, args(run))
    if (ofList && isList(target)) return ofList(run, target, args(run))
    if (ofNumber && typeof target === 'number') return ofNumber(run, target, args(run))
    return lacking(method, target, optional)
  }
}

export function loopCall(method: string, callback: CallbackCode, args: Items, optional: boolean): Invocation {
  const ofList = loopMethods.get(method)
  return (run, target) =>
    ofList && isList(target) ? ofList(run, target, callback(run), args(run)) : lacking(method, target, optional)
}

function lacking(method: string, target: Value, optional: boolean): undefined {
  if (!optional)
    throw new ExpressionError(
      `${typeNameOf(target)} has no method '${method}'${alternatives(method, methodsOf(target))}`,
    )
}

/** Compiles the items of an argument list or a list literal, with spread elements, to one list of values. */
export function itemsCode(
  items: readonly { readonly code: Code; readonly spread: boolean }[],
): (run: Evaluation) => Value[] {
  const codes = items.map(({ code }) => code)
  if (!items.some(({ spread }) => spread)) return (run) => codes.map((code) => code(run))
  return (run) => {
    const all: Value[] = []
    for (const { code, spread } of items) {
      const value = code(run)
      if (!spread) all.push(value)
      else for (const item of spreadOf(run, value)) all.push(item)
    }
    return all
  }
}

/** Spreads the elements of a list, or the characters of a text. */
function spreadOf(run: Evaluation, value: Value): List {
  if (typeof value !== 'string' && !isList(value))
    throw new ExpressionError(`${typeNameOf(value)} can't be spread into a list`)
  run.makeElements(value.length)
  return typeof value === 'string' ? Array.from(value) : value
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
