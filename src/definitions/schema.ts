// definitions: the shape of a .flux file, key by key. What is wrong is reported with its pointer, and the rest is taken all the same.
import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../model/json.ts'
import { alternatives, nearestName, suggestion } from '../model/nearest.ts'
import type { Report } from './report.ts'

/** Data of a user's is handed on as it is, never copied key by key. */
const record = z.custom<JsonObject>(isObject, { error: 'must be an object' })
/** Whoever takes an entry looks whether it is an object, so that a wrong one doesn't hide the others. */
const list = z.array(z.custom<JsonObject>(), { error: 'must be a list' }).nullish()
const text = z.string({ error: 'must be text' }).nullish()
const name = z.string({ error: 'must be text' }).min(1, { error: 'must not be empty' })
const texts = z.array(z.string({ error: 'must be text' }), { error: 'must be a list of texts' }).nullish()
const flag = z.boolean({ error: 'must be true or false' }).nullish()
const anything = z.unknown().optional()
const seconds = z.number({ error: 'must be a number of seconds' }).min(0, { error: 'must not be negative' }).max(1e10, { error: 'is too long' })

export const Root = z.object({
  $schema: anything, comment: anything, triggers: texts, tags: texts, startState: text, input: list, output: list, webhooks: list,
  secured: flag, allowExtraProperties: flag, states: list,
})

export const State = z.object({
  name, displayName: anything, x: anything, y: anything, comment: anything, waiting: flag, action: record.nullish(),
  input: list, output: list, transitions: list,
})

export const Transition = z.object({ to: name, event: text, wait: text, lines: list, comments: anything })

export const Line = z.object({ type: anything, from: anything, to: anything, expression: anything, evaluate: anything })

export const Property = z.object({
  name: anything, type: anything, array: anything, defaultValue: anything, required: anything, allowNull: anything, allowExtraProperties: anything,
  gloopProperties: anything, reference: anything, comments: anything, min: anything, max: anything, minLength: anything, maxLength: anything,
  choices: anything, allowOtherValues: anything,
})

/** A property of type model. */
export const ModelFile = Property.extend({ $schema: anything, gloopProperties: list, reference: text })

export const Webhook = z.object({
  urlPath: name,
  httpMethods: texts, name: text, enabled: flag, timeout: seconds.nullish(),
})

export const Retry = z.object({
  maxAttempts: z.int({ error: 'must be a whole number' }).min(1, { error: 'must be at least 1' }).nullish(),
  delay: seconds.nullish(),
  factor: z.number({ error: 'must be a number' }).positive({ error: 'must be greater than 0' }).nullish(),
  maxDelay: seconds.nullish(),
})

const type = text
const timeout = seconds.positive({ error: 'must be greater than 0' }).nullish()

export const MapAction = z.object({ type, lines: list })
export const CodeAction = z.object({
  type, className: name, methodName: name, parameters: anything, inputs: list, outputs: list, retry: record.nullish(), timeout, isolate: flag,
})
export const FluxAction = z.object({ type, name, inputs: list, outputs: list, timeout })
export const ScriptAction = z.object({ type, script: name, outputs: list, retry: record.nullish(), timeout })

/**
 * Takes an object out of a file. Fields of the wrong type are faults and count as absent; unknown keys are faults if they are misspelt, else warnings.
 * null: what it can't do without is missing.
 */
export function take<T extends z.ZodObject>(schema: T, source: Json, pointer: string, report: Report): z.output<T> | null {
  if (!isObject(source)) {
    report.fault(pointer, 'must be an object')
    return null
  }
  checkUnknown(schema, source, pointer, report)
  const first = schema.safeParse(source)
  if (first.success) return first.data
  for (const { path, message } of first.error.issues) {
    const at = path.map((key) => `/${String(key)}`).join('')
    report.fault(pointer + at, path.length === 1 && !Object.hasOwn(source, String(path[0])) ? `there is no ${String(path[0])}` : message)
  }
  const wrong = new Set(first.error.issues.map(({ path }) => path[0]))
  const rest = schema.safeParse(Object.fromEntries(Object.entries(source).filter(([key]) => !wrong.has(key))))
  return rest.success ? rest.data : null
}

/** Unknown keys are kept: someone else may know them. One that is near to a known one is misspelt. */
export function checkUnknown(schema: z.ZodObject, source: JsonObject, pointer: string, report: Report): void {
  const known = Object.keys(schema.shape)
  for (const key of Object.keys(source)) {
    if (Object.hasOwn(schema.shape, key)) continue
    const misspelt = nearestName(key, known, { matchCase: true }) !== null
    report.unknownKey(`${pointer}/${escape(key)}`, `unknown key "${key}"${misspelt ? alternatives(key, known) : suggestion(key, known)}`, { misspelt })
  }
}

const escape = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1')
