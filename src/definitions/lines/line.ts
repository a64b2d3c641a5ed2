// definitions: the type of a compiled line, the options of its compilation, and functions that its parts share.
import { getOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { DefinitionError } from '../definition-error.ts'
import type { Scope } from '../expressions/expression.ts'
import type { Visible } from './visible.ts'
import type { Report } from '../report.ts'
import type { Property } from '../values/properties.ts'
import type { WorkBudget } from '../work-budget.ts'

/** Where a line writes. */
export type Place = 'stateInput' | 'stateOutput' | 'serviceOutput' | 'fluxEvent' | 'response' | 'args'

export interface Target {
  readonly place: Place
  /** null: nothing is declared, so any value may be written. */
  readonly property: Property | null
}

/** Source of a line's value, as written in the file: a path, an expression with its free names, or null for a constant. */
export type LineSource =
  { readonly from: readonly string[] } | { readonly expression: string; readonly names: ReadonlySet<string> } | null

export interface Line {
  readonly place: Place
  /**
   * Path of the target. For fluxEvent it is empty; for response it has the segments below `$response`; otherwise it
   * begins with the property's name.
   */
  readonly path: readonly string[]
  /** Whether the value is `$response` as a whole. An output that the line writes is then the answer of a webhook. */
  readonly answers: boolean
  readonly source: LineSource
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

export interface LineOptions {
  /** Returns the target of a name; null if there is none. */
  readonly resolve: (name: string) => Target | null
  /** Whether a name is visible. null: any name may be. */
  readonly visible: Visible
  /** Whether the lines see `$secrets`. */
  readonly seesSecrets?: boolean
  /** Whether texts with `${…}` are templates. */
  readonly logs?: boolean
  /** JSON pointer of the list in its file. */
  readonly pointer: string
  /** What the lines are part of, in messages. */
  readonly of: string
  readonly report: Report
}

/** Options for compiling a part of a line. */
export interface PartOptions extends Omit<LineOptions, 'pointer' | 'of' | 'seesSecrets'> {
  /** Names into which lines before this one wrote secrets; null: the lines see no secrets. */
  readonly carriers: ReadonlySet<string> | null
}

/** Creates the line of a state that can't be run: it fails. */
export function brokenLine(fault: string): Line {
  const fail = (): never => {
    throw new DefinitionError(fault)
  }
  return { place: 'args', path: [], answers: false, source: null, secrets: [], read: fail, write: fail }
}

/** Reports a fault in a part of a line. */
export function refuseLine(report: Report, pointer: string, reason: string): null {
  report.fault(pointer, reason)
  return null
}

/**
 * Reads a path: a list of texts that is not empty. Numbers are converted to text. null after a fault, which is
 * reported.
 */
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
