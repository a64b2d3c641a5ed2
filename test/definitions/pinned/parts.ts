// pinned: parts that the services have in common.
import type { JsonObject } from '../../../src/model/json/value.ts'

/** A line that evaluates. */
export const set = (to: string, expression: string): JsonObject => ({
  type: 'set',
  expression,
  evaluate: true,
  to: [to],
})
/** An action that calls one of the functions. */
export const code = (methodName: string, more: JsonObject = {}): JsonObject => ({
  type: 'invokeCode',
  className: 'code',
  methodName,
  ...more,
})
export const end = { name: 'end' }
