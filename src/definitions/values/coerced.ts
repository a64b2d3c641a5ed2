// definitions: the result of coercing a value, and the origins that determine the rules.
import type { Json } from '../../model/json/value.ts'

/**
 * Where a value comes from. `json`: it must have the JSON type of its declared type. `text`: text is coerced, other
 * values follow the rules of `json`. `line`: as `text`, and a number or boolean becomes text for a string. `default`:
 * as `line`, and a date may be `now`.
 */
export type ValueOrigin = 'json' | 'text' | 'line' | 'default'

export type Err = { readonly ok: false; readonly reason: string }
export type Result = { readonly ok: true; readonly value: Json } | Err

export const ok = (value: Json): Result => ({ ok: true, value })
export const err = (reason: string): Err => ({ ok: false, reason })
