// definitions: a line, which carries a value from what is visible to a target, and what a list of lines is compiled
// with.
import { getOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { DefinitionError } from '../definition-error.ts'
import type { Scope } from '../expressions/expression.ts'
import type { Visible } from '../lint/visible.ts'
import type { Report } from '../report.ts'
import type { Property } from '../values/properties.ts'
import type { WorkBudget } from '../work-budget.ts'

/** Where a line writes. */
export type Place = 'stateInput' | 'stateOutput' | 'serviceOutput' | 'fluxEvent' | 'response' | 'args'

export interface Target {
  readonly place: Place
  /** null: nothing is declared, anything may be written. */
  readonly property: Property | null
}

/** Where a line's value comes from, as the file has it: a path, an expression, or nowhere but the file. */
export type LineSource = { readonly from: readonly string[] } | { readonly expression: string } | null

export interface Line {
  readonly place: Place
  /** Empty for fluxEvent; for response the segments below `$response`; otherwise the property's name comes first. */
  readonly path: readonly string[]
  /** Whether it carries `$response` as a whole: what it fills is then the answer of a webhook. */
  readonly answers: boolean
  readonly source: LineSource
  /**
   * The value to write, coerced to the target's type.
   * @throws TooMuchWork; LineError when it doesn't fit, or its expression fails; DefinitionError when it can no longer
   * run
   */
  read(scope: Scope): Json
  /**
   * A copy of the place's data with a value at `path`. Better than writePath alone: it knows where a declared list is
   * to begin.
   * @throws TooMuchWork; LineError when the path leads into a value that has no parts
   */
  write(root: JsonObject, value: Json, budget?: WorkBudget): JsonObject
}

/** In order: the caller writes between reads, so that each line sees what those before it wrote. */
export type Lines = readonly Line[]

export interface LineOptions {
  /** The target of a name; null: there is none. */
  readonly resolve: (name: string) => Target | null
  /** Whether a name is visible. null: any name may be. */
  readonly visible: Visible
  /** JSON pointer of the list in its file. */
  readonly pointer: string
  readonly report: Report
}

/** What the parts of a line are compiled with. */
export type PartOptions = Omit<LineOptions, 'pointer'>

/** A line that can't be compiled: it fails when it is reached. */
export function brokenLine(fault: string): Line {
  const fail = (): never => {
    throw new DefinitionError(fault)
  }
  return { place: 'args', path: [], answers: false, source: null, read: fail, write: fail }
}

/** Reports a fault in a part of a line. */
export function refuseLine(report: Report, pointer: string, reason: string): null {
  report.fault(pointer, reason)
  return null
}

/** The path in a field: a list of texts that is not empty; numbers count as texts. null: reported as a fault. */
export function readSegments(
  source: JsonObject,
  key: 'from' | 'to',
  pointer: string,
  report: Report,
): readonly string[] | null {
  const path = getOwn(source, key)
  const segments = Array.isArray(path)
    ? path.flatMap((segment) => (typeof segment === 'string' || typeof segment === 'number' ? [String(segment)] : []))
    : []
  if (Array.isArray(path) && path.length > 0 && segments.length === path.length) return segments
  return refuseLine(report, `${pointer}/${key}`, `${key} must be a path: a list of names that is not empty`)
}
