// definitions: the type of a compiled line.
import type { Json, JsonObject } from '../../model/json/value.ts'
import { DefinitionError } from '../definition-error.ts'
import type { Scope } from '../expressions/expression.ts'
import type { Property } from '../values/properties.ts'
import type { WorkBudget } from '../work-budget.ts'

/** Where a line writes. */
export type Place = 'stateInput' | 'stateOutput' | 'serviceOutput' | 'fluxEvent' | 'response' | 'args'

export interface Target {
  readonly place: Place
  /** null: nothing is declared, so any value may be written. */
  readonly property: Property | null
}

export interface Line {
  readonly place: Place
  /**
   * Path of the target. For fluxEvent it is empty; for response it has the segments below `$response`; otherwise it
   * begins with the property's name.
   */
  readonly path: readonly string[]
  /** Whether the value is `$response` as a whole. An output that the line writes is then the answer of a webhook. */
  readonly answers: boolean
  /** What it reads: names, each with the keys below it if a path says them. */
  readonly reads: readonly (readonly string[])[]
  /** Names of the secrets that it writes. */
  readonly secrets: readonly string[]
  /**
   * Returns the value to write, coerced to the target's type.
   * @throws TooMuchWork; LineError when the value can't be coerced or the expression fails; DefinitionError when its
   * state can't be run any more
   */
  read(scope: Scope): Json
  /**
   * Returns a copy of the place's data with the value at `path`. Unlike `writePath` alone, it creates declared lists as
   * lists.
   * @throws TooMuchWork; LineError when the path leads into a value that has no parts
   */
  write(root: JsonObject, value: Json, budget?: WorkBudget): JsonObject
}

/**
 * Lines in order. The caller writes each value before it reads the next, so that a line sees what the lines before it
 * wrote.
 */
export type Lines = readonly Line[]

/** The line of a state that can't be run: it fails. */
export function brokenLine(fault: string): Line {
  const fail = (): never => {
    throw new DefinitionError(fault)
  }
  return { place: 'args', path: [], answers: false, reads: [], secrets: [], read: fail, write: fail }
}
