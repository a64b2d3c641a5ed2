// definitions: what reading a value comes to, and how its origin decides what is taken.
import type { Json } from '../../model/json/value.ts'

/**
 * Where a value comes from. `json`: it must have its type's JSON type. `text`: text is coerced, anything else is as in
 * JSON. `line`: as text, and a number or boolean becomes text for a string. `default`: as a line, and a date may be
 * `now`.
 */
export type Origin = 'json' | 'text' | 'line' | 'default'

export type Refusal = { readonly ok: false; readonly reason: string }
export type Reading = { readonly ok: true; readonly value: Json } | Refusal

export const fits = (value: Json): Reading => ({ ok: true, value })
export const refuse = (reason: string): Refusal => ({ ok: false, reason })
