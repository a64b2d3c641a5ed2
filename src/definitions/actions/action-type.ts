// definitions/actions: what a type of action says of itself, and what all of them share.
import type { z } from 'zod'
import { getOwn, isObject, type JsonObject } from '../../model/json/value.ts'
import type { StepRunner } from '../../ports/step-runner.ts'
import { ARGUMENTS } from '../compile/names.ts'
import type { CompiledAction, Retry } from '../flux.ts'
import type { LineOptions, Lines } from '../compile/line.ts'
import { compileLines } from '../compile/lines.ts'
import type { Report } from '../report.ts'
import { RetrySchema, take } from '../source/schema.ts'
import type { Visible } from '../lint/visible.ts'

/** A service, as far as others refer to it. */
export interface Unit {
  readonly package: string
  readonly fluxName: string
  /** null: its file can't be read. */
  readonly source: JsonObject | null
  readonly report: Report
}

export interface ActionOptions {
  /** What the state sees. */
  readonly visible: Visible
  /** Where outputs are written. */
  readonly resolve: LineOptions['resolve']
  readonly pointer: string
  readonly report: Report
}

/** An action that names something outside its own file. It may be broken otherwise, so that one report tells all. */
export interface Reference {
  readonly action: JsonObject
  readonly pointer: string
  readonly unit: Unit
  readonly units: readonly Unit[]
  readonly runner: StepRunner
}

export interface ActionType {
  /** As files name it. */
  readonly name: CompiledAction['type']
  readonly schema: z.ZodObject
  /** null after a fault without which there is nothing to compile. */
  compile(source: JsonObject, options: ActionOptions): CompiledAction | null
  /** Looks whether what it names is there. */
  check?(reference: Reference): Promise<void>
}

/** What most actions lack. */
export const PLAIN: Omit<CompiledAction, 'type'> = {
  effect: null,
  inputs: [],
  outputs: [],
  retry: { maxAttempts: 1, delay: 0, factor: 1, maxDelay: 0 },
  timeoutMs: null,
  code: null,
  script: null,
  child: null,
  fault: null,
}

export const DEFAULT_TIMEOUT_MS = 60_000
const DEFAULT_MAX_DELAY_MS = 3_600_000

type Sources = readonly JsonObject[] | null | undefined

export const argumentLines = (list: Sources, { visible, pointer, report }: ActionOptions): Lines =>
  compileLines(list ?? [], { visible, resolve: ARGUMENTS, pointer: `${pointer}/inputs`, report })

/** The keys of a result are known when it comes. */
export const resultLines = (list: Sources, { resolve, pointer, report }: ActionOptions): Lines =>
  compileLines(list ?? [], { visible: null, resolve, pointer: `${pointer}/outputs`, report })

/**
 * One attempt unless more are asked for; these follow at once, or after a constant `delay`, and never later than an
 * hour or that delay.
 */
export function compileRetry(source: JsonObject | null | undefined, { pointer, report }: ActionOptions): Retry {
  const given = take(RetrySchema, source ?? {}, `${pointer}/retry`, report)
  if (source && given?.maxAttempts == null) report.warn(`${pointer}/retry`, 'without maxAttempts there is one attempt')
  const delay = milliseconds(given?.delay) ?? 0
  return {
    maxAttempts: given?.maxAttempts ?? 1,
    delay,
    factor: given?.factor ?? 1,
    maxDelay: milliseconds(given?.maxDelay) ?? Math.max(delay, DEFAULT_MAX_DELAY_MS),
  }
}

/** Files have seconds. */
export const milliseconds = (seconds: number | null | undefined): number | null =>
  seconds == null ? null : Math.ceil(seconds * 1000)

/** The text under that key; empty for anything else. */
export function textAt(source: JsonObject, key: string): string {
  const value = getOwn(source, key)
  return typeof value === 'string' ? value : ''
}

/** The actions of a service, which may be broken, with their pointers. */
export function actionsOf(source: JsonObject | null): { readonly action: JsonObject; readonly pointer: string }[] {
  const states = source === null ? null : getOwn(source, 'states')
  return !Array.isArray(states)
    ? []
    : states.flatMap((state, index) => {
        const action = isObject(state) ? getOwn(state, 'action') : undefined
        return isObject(action) ? [{ action, pointer: `/states/${index}/action` }] : []
      })
}
