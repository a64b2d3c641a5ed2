// definitions: what reading a value comes to, and how its origin decides what is taken.
import type { Json } from '../../model/json/value.ts'

/**
 * Where a value comes from. `json`: it must have its type's JSON type. `text`: text is coerced, anything else is as in
 * JSON. `line`: as text, and a number or boolean becomes text for a string. `default`: as a line, and a date may be
 * `now`.
 */
export type ValueOrigin = 'json' | 'text' | 'line' | 'default'

export type Err = { readonly ok: false; readonly reason: string }
export type Result = { readonly ok: true; readonly value: Json } | Err

export const ok = (value: Json): Result => ({ ok: true, value })
export const err = (reason: string): Err => ({ ok: false, reason })
