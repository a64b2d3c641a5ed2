// definitions: the kinds of values that keys of files have. What zod can't tell a JSON Schema, `meta` does: the
// descriptions, and what the compilation checks later. null stands for what is absent.
import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'

/** User data is passed on as it is, without a copy. */
export const RECORD = z.custom<JsonObject>(isObject, { error: 'must be an object' })
/** A list of objects. Each entry is checked when it is read, so that a wrong one does not hide the others. */
export const LIST = z.array(z.custom<JsonObject>(), { error: 'must be a list' }).nullish()
export const TEXT = z.string({ error: 'must be text' }).nullish()
export const STATE_NAME = z.string({ error: 'must be text' }).min(1, { error: 'must not be empty' })
export const TEXTS = z.array(z.string({ error: 'must be text' }), { error: 'must be a list of texts' }).nullish()
export const FLAG = z.boolean({ error: 'must be true or false' }).nullish()
export const ANYTHING = z.unknown().optional()
export const JSON_VALUE = z.custom<Json>().nullish()
export const WHOLE_NUMBER = 'must be a whole number'
export const SECONDS = z
  .number({ error: 'must be a number of seconds' })
  .min(0, { error: 'must not be negative' })
  .max(1e10, { error: 'is too long' })
export const TIMEOUT = SECONDS.positive({ error: 'must be greater than 0' }).nullish()

/** The kinds of objects in files, each with an entry in the table and a schema of its own in the JSON Schema. */
export type FileObject =
  | 'flux'
  | 'model'
  | 'property'
  | 'line'
  | 'state'
  | 'transition'
  | 'action'
  | 'retry'
  | 'trigger'
  | 'onEnd'
  | 'webhook'
  | 'verify'
  | 'dedupe'
  | 'send'
  | 'orStart'

/** A reference to the schema of an object. */
export const refer = (name: FileObject): { $ref: string } => ({ $ref: `#/$defs/${name}` })
/** null, or such an object. */
export const refersOrNull = (name: FileObject): JsonObject => ({ anyOf: [refer(name), { type: 'null' }] })
/** Text that is not empty. */
export const NAMED = { type: 'string', minLength: 1 }
export const NULLABLE_TEXT = { type: ['string', 'null'] }

export const COMMENT = ANYTHING.meta({ description: 'Free text, which has no effect.' })

interface Branches {
  readonly holds?: JsonObject
  readonly fails?: JsonObject
}

/** What holds of a value that a schema accepts, and of one that it does not. Entries, since `then` is no name for a key. */
export const ifElse = (condition: JsonObject, { holds, fails }: Branches): JsonObject =>
  Object.fromEntries([
    ['if', condition],
    ...(holds ? [['then', holds] as const] : []),
    ...(fails ? [['else', fails] as const] : []),
  ])

/** A list of property declarations. */
export const PROPERTIES = LIST.meta({ items: refer('property') })
/** A list of lines. */
export const LINES = LIST.meta({ items: refer('line') })

/** Keys that several types of actions have. */
export const ACTION_INPUTS = LINES.meta({ description: 'Lines that set the arguments. Any name becomes an argument.' })
export const ACTION_OUTPUTS = LINES.meta({
  description: 'Lines that run on the result: they see its keys, `$result`, and all names that the state sees.',
})
export const ACTION_RETRY = RECORD.nullish().meta({
  description: 'How often the action is tried when it fails, and after which pauses.',
  ...refersOrNull('retry'),
})
export const ACTION_TIMEOUT = TIMEOUT.meta({ description: 'Seconds after which an attempt fails.' })
