// cli/remote: options that stand for the fields of a call, and what they and the words of a command mean.
import { readFile } from 'node:fs/promises'
import type { z } from 'zod'
import { check, fieldSchema, fieldText, type Call, type FieldShape } from '../../api/call.ts'
import { NOT_SEPARATED } from '../../api/fields.ts'
import { FluxError } from '../../model/failure.ts'
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import type { CliIo } from '../cli-io.ts'
import { listOption, orUsage, textOption, UsageError, type Given, type OptionSpecs } from '../command.ts'

type Values = Given['values']

/** `currentState`, as options are written: `current-state`. */
const optionNameOf = (field: string) => field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** An option for each field of a call but these, with the beginning of its description. */
export function optionsFor(shape: FieldShape, ...leftOut: readonly string[]): OptionSpecs {
  const fields = Object.entries(shape).filter(([field]) => !leftOut.includes(field))
  const options = fields.map(([field, type]) => {
    const { description, type: kind, enum: values, items } = fieldSchema(type)
    const [help = ''] = String(description ?? '').split(/[.;:] /)
    const listed = values ?? (isObject(items) ? items['enum'] : undefined)
    const told = Array.isArray(listed) ? `${help} (${listed.join(', ')})` : help
    const option = kind === 'array' ? listOption : textOption
    return [optionNameOf(field), option(kind === 'boolean' ? 'true|false' : field, told)] as const
  })
  return Object.fromEntries(options)
}

/** The fields of a shape that options have, as the call takes them. */
export function fieldsIn(shape: FieldShape, values: Values): JsonObject {
  const fields: { [field: string]: Json } = {}
  for (const [field, type] of Object.entries(shape)) {
    const value = values[optionNameOf(field)]
    const { type: kind, [NOT_SEPARATED]: isWhole } = fieldSchema(type)
    if (typeof value === 'object') fields[field] = isWhole === true ? [...value] : separated(value)
    else if (value !== undefined) fields[field] = typeof value === 'string' ? fieldText(value, kind) : value
  }
  return fields
}

/** Texts that may have several, separated by commas. */
export const separated = (texts: readonly string[]): string[] => texts.flatMap((text) => text.split(','))

/**
 * The request of these fields, and of the options that stand for others of its query, as the server would check it, so that
 * a mistake is told before anything is sent.
 * @throws UsageError that names the option
 */
export function checked<R extends z.ZodType>(
  call: Call<R>,
  fields: { readonly [field: string]: unknown },
  values: Values = {},
): z.output<R> {
  try {
    return check(call, { ...fieldsIn(call.query, values), ...fields })
  } catch (error) {
    if (!(error instanceof FluxError)) throw error
    const { failure, message } = error
    const [first] = ('errors' in failure && failure.errors) || []
    const field = first?.pointer.split('/')[1]
    throw new UsageError(first && field ? `--${optionNameOf(field)} ${first.detail}` : message)
  }
}

/** An id of a context. @throws UsageError */
export function idOf(word: string): number {
  const id = /^[1-9]\d{0,15}$/.test(word) ? Number(word) : Number.NaN
  if (Number.isSafeInteger(id)) return id
  throw new UsageError(`${JSON.stringify(word)} is no id of a context`)
}

/** `package/service`, or the name alone, where only one package has it. */
export function serviceFields(word: string): { readonly fluxName: string; readonly package?: string } {
  const at = word.lastIndexOf('/')
  return at < 0 ? { fluxName: word } : { package: word.slice(0, at), fluxName: word.slice(at + 1) }
}

/**
 * A JSON object that is given as it is, in a file (`@file`), or on standard input (`-`).
 * @throws UsageError when it is no JSON object, or the file can't be read
 */
export async function jsonIn(text: string | undefined, option: string, io: CliIo): Promise<JsonObject | undefined> {
  if (text === undefined) return undefined
  const content = await orUsage(`--${option}`, () =>
    text === '-' ? io.input() : text.startsWith('@') ? readFile(text.slice(1), 'utf8') : text,
  )
  const value = await orUsage(`--${option} is no JSON`, (): unknown => JSON.parse(content))
  if (isObject(value)) return value
  throw new UsageError(`--${option} must be a JSON object`)
}
