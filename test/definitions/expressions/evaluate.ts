// Support for the tests of expressions: a turn that is always the same, and evaluation in one go.
import { compileExpression, compileTemplate } from '../../../src/definitions/expressions/compile.ts'
import type { Scope } from '../../../src/definitions/expressions/expression.ts'
import { WorkBudget } from '../../../src/definitions/work-budget.ts'
import type { Json, JsonObject } from '../../../src/model/json/value.ts'
import { getOwn } from '../../../src/model/json/value.ts'

export const NOW = Date.UTC(2024, 1, 29, 12, 30, 15, 7)
export const UUID = '3f0c1d2e-0000-4000-8000-000000000000'

export function scopeOf(data: JsonObject): Scope {
  return {
    turn: { now: NOW, random: () => 0.75, uuid: () => UUID },
    budget: new WorkBudget(),
    get: (name) => getOwn(data, name),
  }
}

export const evaluate = (source: string, data: JsonObject = {}): Json =>
  compileExpression(source).evaluate(scopeOf(data))
export const fill = (source: string, data: JsonObject = {}): Json => compileTemplate(source).evaluate(scopeOf(data))

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null)
    for (const item of Object.values(Object.freeze(value))) deepFreeze(item)
  return value
}
