// definitions/actions: the interface of action types, and functions that they share.
import type { z } from 'zod'
import { getOwn, isObject, type JsonObject } from '../../model/json/value.ts'
import type { StepRunner } from '../../ports/steps.ts'
import { ARGUMENTS } from '../lines/names.ts'
import type { CompiledAction, CompiledFlux, Retry } from '../flux.ts'
import type { LineOptions, Lines } from '../lines/line.ts'
import { compileLines } from '../lines/lines.ts'
import type { Report } from '../report.ts'
import { RetrySchema } from '../source/schema.ts'
import { take } from '../source/take.ts'
import type { Visible } from '../lines/visible.ts'

/** A service, as other services refer to it. */
export interface Unit {
  readonly package: string
  readonly fluxName: string
  /** null if the file can't be read. */
  readonly source: JsonObject | null
  /** null if the service itself has a fault. */
  readonly flux: CompiledFlux | null
  readonly report: Report
}

export interface ActionOptions {
  /** Names that are visible in the state. */
  readonly visible: Visible
  /** Whether the inputs of a function see `$secrets`. */
  /** Resolves the names that outputs write to. */
  readonly resolve: LineOptions['resolve']
  readonly pointer: string
  readonly report: Report
}

/** An action whose references are checked. It may have other faults, so that one report has all of them. */
export interface Reference {
  readonly action: JsonObject
  readonly pointer: string
  readonly unit: Unit
  readonly units: readonly Unit[]
  readonly runner: StepRunner
}

export interface ActionType {
  /** Name of the type in files. */
  readonly name: CompiledAction['type']
  readonly schema: z.ZodObject
  /** Compiles the action; null after a fault that leaves nothing to compile. */
  compile(source: JsonObject, options: ActionOptions): CompiledAction | null
  /** Checks that what the action refers to exists. */
  check?(reference: Reference): Promise<void>
}

/** Defaults for the properties that a type of action does not have. */
export const PLAIN: Omit<CompiledAction, 'type'> = {
  effect: null,
  inputs: [],
  secrets: [],
  outputs: [],
  retry: { maxAttempts: 1, delay: 0, factor: 1, maxDelay: 0 },
  timeoutMs: null,
  code: null,
  script: null,
  child: null,
}

export const DEFAULT_TIMEOUT_MS = 60_000
const DEFAULT_MAX_DELAY_MS = 3_600_000

type Sources = readonly JsonObject[] | null | undefined

export const argumentLines = (
  list: Sources,
  { visible, pointer, report }: ActionOptions,
  { seesSecrets = false, logs = false }: { readonly seesSecrets?: boolean; readonly logs?: boolean } = {},
): Lines =>
  compileLines(list ?? [], {
    visible,
    seesSecrets,
    logs,
    resolve: ARGUMENTS,
    pointer: `${pointer}/inputs`,
    of: 'the inputs',
    report,
  })

/** Compiles the outputs. They see any name, since the keys of a result are known only when it arrives. */
export const resultLines = (list: Sources, { resolve, pointer, report }: ActionOptions): Lines =>
  compileLines(list ?? [], { visible: null, resolve, pointer: `${pointer}/outputs`, of: 'the outputs', report })

/**
 * Compiles a retry policy. Defaults: one attempt, no delay, factor 1, and a maximum delay of an hour or of `delay` if
 * that is longer.
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

/** Converts seconds, as in files, to milliseconds; null if absent. */
export const milliseconds = (seconds: number | null | undefined): number | null =>
  seconds == null ? null : Math.ceil(seconds * 1000)

/** The text under the key; empty if the value is not a text. */
export function textAt(source: JsonObject, key: string): string {
  const value = getOwn(source, key)
  return typeof value === 'string' ? value : ''
}

/** The actions of a service with their pointers. The service may have faults. */
export function actionsOf(source: JsonObject | null): { readonly action: JsonObject; readonly pointer: string }[] {
  const states = source === null ? null : getOwn(source, 'states')
  return !Array.isArray(states)
    ? []
    : states.flatMap((state, index) => {
        const action = isObject(state) ? getOwn(state, 'action') : undefined
        return isObject(action) ? [{ action, pointer: `/states/${index}/action` }] : []
      })
}
