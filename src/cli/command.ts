// cli: what a command is. Parsing, help and completion read the same description of its words and options.
import { parseArgs } from 'node:util'
import { messageOf } from '../model/error-message.ts'
import { suggestion } from '../model/nearest.ts'
import type { CliIo } from './cli-io.ts'
import { aligned } from './remote/text.ts'

export const flagOption = (help: string) => ({ type: 'boolean', help }) as const
/** `value`: what help calls its value. */
export const textOption = (value: string, help: string) => ({ type: 'string', value, help }) as const
/** It may be repeated. */
export const listOption = (value: string, help: string) => ({ ...textOption(value, help), multiple: true }) as const

export interface OptionSpecs {
  readonly [name: string]: ReturnType<typeof flagOption | typeof textOption | typeof listOption>
}

type ValueOf<Option> = Option extends { readonly type: 'boolean' }
  ? boolean
  : Option extends { readonly multiple: true }
    ? readonly string[]
    : string

/** What stands behind a command. */
export interface Given<Options extends OptionSpecs = OptionSpecs> {
  /** The first of the words. */
  readonly word: string
  readonly words: readonly string[]
  readonly values: { readonly [name in keyof Options]?: ValueOf<Options[name]> | undefined }
}

export interface CommandSpec<Options extends OptionSpecs = OptionSpecs, Io = CliIo> {
  /** A sentence without its capital and its full stop. */
  readonly summary: string
  /** The one word that it takes: `<id>`; `[folder]` may be left out. */
  readonly word?: string
  /** Words that the command checks by itself, as help shows them. */
  readonly words?: string
  readonly options?: Options
  /** Lines of help below the options. */
  readonly notes?: string
  /** Resolves with the exit code; without one, all is well. */
  run(given: Given<Options>, io: Io): Promise<number | void>
}

/** A command whose values have the types of its options. */
export const command = <Options extends OptionSpecs>(spec: CommandSpec<Options>): CommandSpec => spec

/** Commands by the word behind that of their group. */
export interface Group {
  readonly [word: string]: CommandSpec
}

/** A command, or a group of them, that is loaded when it is used. */
export interface LoadableCommand {
  /** Behind `actorflux`. */
  readonly name: string
  readonly summary: string
  readonly load: () => Promise<CommandSpec | Group>
}

export const isCommand = (found: CommandSpec | Group): found is CommandSpec => typeof found['run'] === 'function'

/** `name`: behind `actorflux`. Resolves with the exit code. @throws UsageError for what the command does not take */
export async function execute(command: CommandSpec, name: string, args: readonly string[], io: CliIo): Promise<number> {
  if (!args.some(asksForHelp)) return (await command.run(givenIn(command, name, args), io)) ?? EXIT.fine
  io.out(helpOf(command, name))
  return EXIT.fine
}

export const asksForHelp = (word: string): boolean => word === '--help' || word === '-h'

/** The options with that which each command has. */
export const optionsOf = ({ options }: CommandSpec): OptionSpecs => ({ ...options, help: flagOption('this') })

function givenIn({ word, words, options = {} }: CommandSpec, name: string, args: readonly string[]) {
  const { values, positionals } = parsed([...args], options)
  const [first = ''] = positionals
  if (first === '' && word?.startsWith('<')) throw new UsageError(`${word} is missing`)
  const extra = positionals[word === undefined ? 0 : 1]
  if (words === undefined && extra !== undefined)
    throw new UsageError(`there is no place for ${JSON.stringify(extra)}: ${name} takes no further words`)
  const given = Object.entries(values).map(
    ([option, value]) => [option, Array.isArray(value) ? value.map(String) : value] as const,
  )
  return { word: first, words: positionals, values: Object.fromEntries(given) }
}

function parsed(args: string[], options: OptionSpecs) {
  const { tokens } = parseArgs({ args, options, strict: false, tokens: true })
  const unknown = tokens.find((token) => token.kind === 'option' && !Object.hasOwn(options, token.name))
  if (unknown?.kind === 'option') {
    const known = Object.keys(options).map((name) => `--${name}`)
    throw new UsageError(`there is no option ${unknown.rawName}${suggestion(unknown.rawName, known)}`)
  }
  try {
    return parseArgs({ args, options, allowPositionals: true })
  } catch (error) {
    throw new UsageError(messageOf(error))
  }
}

function helpOf(command: CommandSpec, name: string) {
  const { summary, word, words, notes } = command
  const options = Object.entries(optionsOf(command)).map(([option, spec]) => {
    const value = 'value' in spec ? ` ${spec.value.includes('|') ? spec.value : `<${spec.value}>`}` : ''
    return [`  --${option}${value}${'multiple' in spec ? '…' : ''}`, spec.help]
  })
  return helpText(`${name} ${word ?? words ?? ''}`.trimEnd(), summary, options, notes)
}

/** `rows`: commands or options, each with what it is. */
export const helpText = (
  usage: string,
  summary: string,
  rows: readonly (readonly string[])[],
  notes?: string,
): string =>
  [
    `Usage: actorflux ${usage} [options]`,
    '',
    `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`,
    '',
    ...aligned(rows),
    ...(notes === undefined ? [] : ['', notes]),
  ].join('\n')

/** A mistake on the command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** What `read` gives. @throws UsageError that begins so, when it fails */
export async function orUsage<Result>(beginning: string, read: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await read()
  } catch (error) {
    throw new UsageError(`${beginning}: ${messageOf(error)}`)
  }
}

/** Exit codes. `again`: the watchdog ended the server because a function blocked its event loop; start it again. */
export const EXIT = { fine: 0, failed: 1, usage: 2, again: 70 } as const
