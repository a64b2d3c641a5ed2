// engine/steps: the second argument of a function: facts about its context, the calls, and a log that redacts what
// views redact.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { FluxApi } from '../../api/calls.ts'
import { isObject, tryJson, type JsonObject } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/context.ts'
import type { SecretRedactor } from '../../model/secret-redactor.ts'
import type { Log } from '../../ports/log.ts'
import type { StepFlux } from '../../ports/steps.ts'
import { stepKeyIn, type Step } from '../interpreter/position.ts'
import { redactorOf } from '../redact/redactor.ts'
import type { StoreId } from '../contexts/ids.ts'

export interface FluxParts {
  readonly step: Step
  readonly flux: CompiledFlux
  readonly record: ContextRecord
  readonly signal: AbortSignal
  readonly log: Log
  readonly api: FluxApi
  readonly storeId: StoreId
  readonly traceparent: string | undefined
}

export function fluxArgumentOf(parts: FluxParts): StepFlux {
  const { step, flux, record, signal, log, api, storeId, traceparent } = parts
  const body = record.raw?.['body']
  const facts = { contextId: step.id, fluxName: record.fluxName, stateName: flux.states[step.state]?.name ?? '' }
  let redactor: SecretRedactor | undefined
  const logAt = (level: keyof Log) => (message: unknown, fields?: object) => {
    redactor ??= redactorOf(record, flux).logged
    log[level](redactor.text(textOf(message)), { ...besideOwn(plain(redactor.json(plain(fields)))), ...facts })
  }
  const stepKey = stepKeyIn(record)
  return {
    ...api,
    waitFor: (request, options) => api.waitFor(request, { signal, ...options }),
    ...facts,
    stepKey,
    messageId: async () => `msg_${await storeId()}_${stepKey}`,
    attempt: step.attempt,
    traceparent,
    rawBody: record.request === null ? null : Buffer.from(typeof body === 'string' ? body : '', 'base64'),
    signal,
    log: {
      trace: logAt('trace'),
      debug: logAt('debug'),
      info: logAt('info'),
      warn: logAt('warn'),
      error: logAt('error'),
    },
  }
}

/** The message as text. At run time a function may log a value of any type. */
const textOf = (message: unknown): string =>
  typeof message === 'string' ? message : message instanceof Error ? message.message : JSON.stringify(tryJson(message))

/** Fields that each line of the log has itself. */
const OWN_FIELDS = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'contextId', 'fluxName', 'stateName'])

/** A field with the name of one of the line's own gets an underscore after its name. */
const besideOwn = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [OWN_FIELDS.has(name) ? `${name}_` : name, value]))

function plain(fields: unknown): JsonObject {
  const data = tryJson(fields ?? {})
  return isObject(data) ? data : {}
}
