// definitions: the schemas of .flux and .model files. Errors are reported with their pointers, and the valid rest is
// used.
import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { alternatives, nearestName, suggestion } from '../../model/nearest.ts'
import type { Report } from '../report.ts'

/** User data is passed on as it is, without a copy. */
export const RECORD = z.custom<JsonObject>(isObject, { error: 'must be an object' })
/** A list of objects. Each entry is checked when it is read, so that a wrong one does not hide the others. */
export const LIST = z.array(z.custom<JsonObject>(), { error: 'must be a list' }).nullish()
const text = z.string({ error: 'must be text' }).nullish()
export const STATE_NAME = z.string({ error: 'must be text' }).min(1, { error: 'must not be empty' })
const texts = z.array(z.string({ error: 'must be text' }), { error: 'must be a list of texts' }).nullish()
export const FLAG = z.boolean({ error: 'must be true or false' }).nullish()
export const ANYTHING = z.unknown().optional()
const WHOLE_NUMBER = 'must be a whole number'
const seconds = z
  .number({ error: 'must be a number of seconds' })
  .min(0, { error: 'must not be negative' })
  .max(1e10, { error: 'is too long' })
/** Type and timeout of an action. */
export const TYPE = text
export const TIMEOUT = seconds.positive({ error: 'must be greater than 0' }).nullish()

export const Root = z.object({
  $schema: ANYTHING,
  comment: ANYTHING,
  key: ANYTHING,
  keyReuse: ANYTHING,
  early: ANYTHING,
  triggers: ANYTHING,
  onEnd: ANYTHING,
  tags: texts,
  startState: text,
  input: LIST,
  output: LIST,
  webhooks: LIST,
  secured: FLAG,
  allowExtraProperties: FLAG,
  states: LIST,
})

export const TriggerSchema = z.object({
  event: STATE_NAME,
  key: ANYTHING,
  unlessMoved: FLAG,
  comment: ANYTHING,
})

export const State = z.object({
  name: STATE_NAME,
  displayName: ANYTHING,
  x: ANYTHING,
  y: ANYTHING,
  comment: ANYTHING,
  waiting: FLAG,
  action: RECORD.nullish(),
  input: LIST,
  output: LIST,
  transitions: LIST,
})

export const TransitionSchema = z.object({
  to: STATE_NAME,
  event: text,
  early: ANYTHING,
  wait: text,
  lines: LIST,
  comments: ANYTHING,
})

export const LineSchema = z.object({
  type: ANYTHING,
  from: ANYTHING,
  to: ANYTHING,
  expression: ANYTHING,
  evaluate: ANYTHING,
})

export const PropertySchema = z.object({
  name: ANYTHING,
  type: ANYTHING,
  array: ANYTHING,
  defaultValue: ANYTHING,
  required: ANYTHING,
  allowNull: ANYTHING,
  allowExtraProperties: ANYTHING,
  gloopProperties: ANYTHING,
  reference: ANYTHING,
  comments: ANYTHING,
  min: ANYTHING,
  max: ANYTHING,
  minLength: ANYTHING,
  maxLength: ANYTHING,
  choices: ANYTHING,
  allowOtherValues: ANYTHING,
})

/** A .model file, which is a property of type model. */
export const ModelFile = PropertySchema.extend({ $schema: ANYTHING, gloopProperties: LIST, reference: text })

export const WebhookSchema = z.object({
  urlPath: STATE_NAME,
  httpMethods: texts,
  name: text,
  enabled: FLAG,
  timeout: seconds.nullish(),
  verify: ANYTHING,
  dedupe: ANYTHING,
  when: ANYTHING,
  send: ANYTHING,
  answer: ANYTHING,
})

const JSON_VALUE = z.custom<Json>().nullish()

export const VerifySchema = z.object({
  scheme: z.string({ error: 'must be text' }),
  secrets: JSON_VALUE,
  tolerance: z.int({ error: WHOLE_NUMBER }).min(1, { error: 'must be at least 1' }).nullish(),
  header: text,
  algorithm: text,
  encoding: text,
  payload: text,
  prefix: text,
  timestampHeader: text,
  url: text,
})

export const DedupeSchema = z.object({ key: JSON_VALUE, keep: JSON_VALUE })

const name = STATE_NAME.nullish()
export const OrStartSchema = z.object({ package: name, fluxName: name, input: JSON_VALUE, tags: JSON_VALUE })

export const SendSchema = OrStartSchema.extend({
  event: JSON_VALUE,
  contextId: JSON_VALUE,
  key: JSON_VALUE,
  orStart: JSON_VALUE,
})

export const OnEndSchema = z.object({ url: STATE_NAME, secret: JSON_VALUE })

export const RetrySchema = z.object({
  maxAttempts: z.int({ error: WHOLE_NUMBER }).min(1, { error: 'must be at least 1' }).nullish(),
  delay: seconds.nullish(),
  factor: z.number({ error: 'must be a number' }).positive({ error: 'must be greater than 0' }).nullish(),
  maxDelay: seconds.nullish(),
})

/**
 * Validates an object of a file. Fields of the wrong type are faults and count as absent. Unknown keys are faults if
 * they are misspelt, else warnings. Returns null if a required field is missing or wrong.
 */
export function take<T extends z.ZodObject>(
  schema: T,
  source: Json,
  pointer: string,
  report: Report,
  { strict = false }: UnknownKeys = {},
): z.output<T> | null {
  if (!isObject(source)) {
    report.fault(pointer, 'must be an object')
    return null
  }
  checkUnknown(schema, source, pointer, report, { strict })
  const first = schema.safeParse(source)
  if (first.success) return first.data
  for (const { path, message } of first.error.issues) {
    const at = path.map((key) => `/${String(key)}`).join('')
    report.fault(
      pointer + at,
      path.length === 1 && !Object.hasOwn(source, String(path[0])) ? `there is no ${String(path[0])}` : message,
    )
  }
  const wrong = new Set(first.error.issues.map(({ path }) => path[0]))
  const rest = schema.safeParse(Object.fromEntries(Object.entries(source).filter(([key]) => !wrong.has(key))))
  return rest.success ? rest.data : null
}

/** Like `take`, for parts in which each unknown key is a fault, since a setting without effect would be dangerous. */
export const takeStrictly = <T extends z.ZodObject>(
  schema: T,
  source: Json,
  pointer: string,
  report: Report,
): z.output<T> | null => take(schema, source, pointer, report, { strict: true })

interface UnknownKeys {
  /** Whether each unknown key is a fault, however far it is from the known ones. */
  readonly strict?: boolean
}

/**
 * Reports unknown keys. They stay in the source, since another program may use them. A key that is near to a known one
 * counts as misspelt.
 */
export function checkUnknown(
  schema: z.ZodObject,
  source: JsonObject,
  pointer: string,
  report: Report,
  { strict = false }: UnknownKeys = {},
): void {
  const known = Object.keys(schema.shape)
  for (const key of Object.keys(source)) {
    if (Object.hasOwn(schema.shape, key)) continue
    const misspelt = strict || nearestName(key, known, { matchCase: true }) !== null
    report.unknownKey(
      `${pointer}/${escape(key)}`,
      `unknown key "${key}"${misspelt ? alternatives(key, known) : suggestion(key, known)}`,
      { misspelt },
    )
  }
}

const escape = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1')
