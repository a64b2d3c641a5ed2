// cli/remote: what a command takes, as a table: its words and options are read by it, and help and completion show it.
import type { z } from 'zod'
import { type Call, type FieldShape, check } from '../../api/call.ts'
import { fieldSchema } from '../../api/call.ts'
import { FluxError } from '../../model/failure.ts'
import type { Json, JsonObject } from '../../model/json/value.ts'
import { UsageError } from '../command.ts'
import { parseWords } from '../parse.ts'

export interface OptionSpec {
  /** What help calls its value; null: it has none. */
  readonly value: string | null
  /** Whether it may be repeated, and is a list. */
  readonly many?: boolean
  readonly help: string
}

export type OptionSpecs = { readonly [name: string]: OptionSpec }

/** The values of options, by their names. */
export type Values = { readonly [name: string]: string | boolean | readonly (string | boolean)[] | undefined }

/** What stands behind a command. */
export interface Given {
  /** What is no option, in order. */
  readonly words: readonly string[]
  readonly values: Values
}

export const textOption = (value: string, help: string): OptionSpec => ({ value, help })
export const listOption = (value: string, help: string): OptionSpec => ({ value, many: true, help })
export const flagOption = (help: string): OptionSpec => ({ value: null, help })

/** `currentState`, as options are written: `current-state`. */
const optionNameOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** An option for each field of a call, with the beginning of its description. */
export function optionsFor(shape: FieldShape): OptionSpecs {
  return Object.fromEntries(
    Object.entries(shape).map(([field, type]) => {
      const { description, type: kind, enum: values } = fieldSchema(type)
      const [help = ''] = String(description ?? '').split(/[.;:] /)
      const value = Array.isArray(values) ? values.join('|') : kind === 'boolean' ? 'true|false' : field
      return [optionNameOf(field), { value, many: kind === 'array', help }]
    }),
  )
}

/**
 * Reads what stands behind a command.
 * @throws UsageError for an option that it does not take, or that lacks its value
 */
export function readGiven(args: readonly string[], specs: OptionSpecs): Given {
  const options = Object.entries(specs).map(([name, { value, many = false }]) => {
    const type: 'boolean' | 'string' = value === null ? 'boolean' : 'string'
    return [name, { type, multiple: many }] as const
  })
  const words = args.map((word) => (word === '-h' ? '--help' : word))
  const { values, positionals } = parseWords(words, Object.fromEntries(options))
  return { words: positionals, values: { ...values } }
}

/** The shape without these fields. */
export const withoutFields = (shape: FieldShape, ...names: readonly string[]): FieldShape =>
  Object.fromEntries(Object.entries(shape).filter(([name]) => !names.includes(name)))

/** The text of an option that may be given once. */
export function optionText(values: Values, name: string): string | undefined {
  const value = values[name]
  return typeof value === 'string' ? value : undefined
}

/** The fields of a shape that options have, as the call takes them. */
export function fieldsIn(shape: FieldShape, values: Values): JsonObject {
  const given = Object.entries(shape).flatMap(([field, type]) => {
    const value = values[optionNameOf(field)]
    if (value === undefined) return []
    const { type: kind } = fieldSchema(type)
    return [[field, typeof value === 'object' ? value.flatMap(separated) : typed(value, kind)] as const]
  })
  return Object.fromEntries(given)
}

const separated = (text: unknown): string[] => String(text).split(',')

function typed(value: string | boolean, kind: unknown): Json {
  if (kind === 'integer' && typeof value === 'string' && /^\d{1,16}$/.test(value)) return Number(value)
  if (kind === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  return value
}

/**
 * The request, as the server would check it, so that a mistake is told before anything is sent.
 * @throws UsageError that names the option
 */
export function checked<R extends z.ZodType>(
  call: Call<R>,
  fields: { readonly [field: string]: unknown },
): z.output<R> {
  try {
    return check(call, fields)
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

/** Ids of contexts, at least one. @throws UsageError */
export function idsIn(words: readonly string[]): readonly number[] {
  if (words.length === 0) throw new UsageError('<id> is missing')
  return words.map(idOf)
}

/** The only word. @throws UsageError when there is none, or more */
export function wordIn(words: readonly string[], name: string): string {
  const [word, ...more] = words
  if (word === undefined) throw new UsageError(`<${name}> is missing`)
  noWords(more)
  return word
}

/** @throws UsageError when there are any */
export function noWords(words: readonly string[]): void {
  if (words.length > 0) throw new UsageError(`there is no place for ${JSON.stringify(words[0])}`)
}

/** `package/service`, or the name alone, where only one package has it. */
export function serviceFields(word: string): { readonly fluxName: string; readonly package?: string } {
  const at = word.lastIndexOf('/')
  return at < 0 ? { fluxName: word } : { package: word.slice(0, at), fluxName: word.slice(at + 1) }
}
