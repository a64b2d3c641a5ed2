// cli/remote: a command that speaks to a server: it reads what was given, opens the client, and tells what went wrong in
// one line.
import { createClient, type Client } from '../../client/client.ts'
import { ConnectionError, Problem } from '../../client/problem.ts'
import { alternatives } from '../../model/nearest.ts'
import { readSettings } from '../../settings.ts'
import { EXIT, IS_IT_RUNNING, UsageError, type Command, type World } from '../command.ts'
import { flagOption, readGiven, optionText, textOption, type Given, type OptionSpecs } from './arguments.ts'
import { plainJson, plain, styled, tableLines, type Cell, type Style } from './text.ts'

export interface RemoteCommand {
  /** Behind `actorflux`: `context show <id>…`. */
  readonly usage: string
  readonly summary: string
  /** Besides those that all take. */
  readonly options?: OptionSpecs
  /** Whether what it writes has a form of its own, so that there is no `--json`. */
  readonly hasOwnForm?: boolean
  /** Lines of help below the options. */
  readonly notes?: readonly string[]
  /** Resolves with the exit code. */
  readonly run: (given: Given, remote: Remote) => Promise<number>
}

export interface Remote {
  readonly client: Client
  readonly world: World
  /** Whether a program reads what is written. */
  readonly isJson: boolean
  /** Writes an answer: as one line of JSON, or what `lines` makes of it for people. */
  readonly answer: (data: unknown, lines: () => readonly string[]) => void
  readonly table: (heads: readonly string[], rows: readonly (readonly Cell[])[]) => readonly string[]
  /** In colour, where there is colour. */
  readonly style: (style: Style, text: string) => string
}

const URL_OPTION = { url: textOption('url', 'the server; else ACTORFLUX_URL, else ACTORFLUX_HOST and ACTORFLUX_PORT') }
const JSON_OPTION = { json: flagOption('for programs: each answer as one line of JSON') }
const HELP = { help: flagOption('this') }

const NOTES = ['ACTORFLUX_TOKEN has the token, if the server asks for one.']

export const optionsOf = ({ options, hasOwnForm }: RemoteCommand): OptionSpecs => ({
  ...options,
  ...URL_OPTION,
  ...(!hasOwnForm && JSON_OPTION),
  ...HELP,
})

export const remote =
  (command: RemoteCommand): Command =>
  async (args, world) => {
    const given = readGiven(args, optionsOf(command))
    if (given.values['help'] === true) {
      world.out(helpOf(command))
      return EXIT.fine
    }
    const url = urlOf(given, world)
    try {
      return await command.run(given, open(url, given, world))
    } catch (error) {
      throw told(error)
    }
  }

function open(url: string, { values }: Given, world: World): Remote {
  const token = world.env['ACTORFLUX_TOKEN']
  const isJson = values['json'] === true
  const { screen } = world
  const hasColour = screen?.hasColour ?? false
  return {
    client: createClient({ url, ...(token !== undefined && token !== '' && { token }) }),
    world,
    isJson,
    answer(data, lines) {
      if (isJson) world.out(plainJson(data))
      else for (const line of lines()) world.out(line)
    },
    table: (heads, rows) => tableLines(heads, rows, { columns: screen?.columns ?? null, hasColour }),
    style: (style, text) => (hasColour ? styled(style, plain(text)) : plain(text)),
  }
}

/** @throws UsageError */
function urlOf({ values }: Given, { env }: World): string {
  const given = optionText(values, 'url')
  const { ACTORFLUX_HOST, ACTORFLUX_PORT, ACTORFLUX_URL } = env
  try {
    const { url, host, port } = readSettings({
      ACTORFLUX_HOST,
      ACTORFLUX_PORT,
      ACTORFLUX_URL: given ?? ACTORFLUX_URL,
    })
    return url ?? `http://${ownName(host)}:${port}`
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    throw new UsageError(given === undefined ? text : text.replace('ACTORFLUX_URL', '--url'))
  }
}

/** A server that listens on every address is reached on this machine's own. */
function ownName(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}

/** The error as one line for people. */
function told(error: unknown): unknown {
  if (error instanceof UsageError) return error
  if (error instanceof Problem) return new Error(problemText(error))
  if (error instanceof ConnectionError) return new Error(plain(`${error.message}; ${IS_IT_RUNNING}`), { cause: error })
  // What is shown was not in the answer, or was of another type.
  if (error instanceof TypeError)
    return new Error(plain(`the answer is not that of actorflux: ${error.message}`), { cause: error })
  return error instanceof Error ? new Error(plain(error.message), { cause: error }) : error
}

export function problemText({ message, errors, hint, status }: Problem): string {
  const more = errors
    .filter(({ detail }) => !message.includes(detail))
    .map(({ pointer, detail }) => `${pointer.replace(/^\//, '')} ${detail}`.trim())
  const hints = [hint, status === 401 ? 'set ACTORFLUX_TOKEN to a token that is valid' : null]
  return plain([message, ...more, ...hints.filter((text) => text !== null)].join('; '))
}

export function helpOf(command: RemoteCommand): string {
  const options = Object.entries(optionsOf(command)).map(([name, { value, many, help }]) => {
    const form = `--${name}${value === null ? '' : ` ${value.includes('|') ? value : `<${value}>`}`}${many ? '…' : ''}`
    return [form, help] as const
  })
  const width = Math.min(32, Math.max(...options.map(([form]) => form.length)))
  const lines = options.map(([form, help]) =>
    form.length > width ? `  ${form}\n  ${' '.repeat(width)}  ${help}` : `  ${form.padEnd(width)}  ${help}`,
  )
  const sentence = `${command.summary.charAt(0).toUpperCase()}${command.summary.slice(1)}.`
  return [
    `Usage: actorflux ${command.usage} [options]`,
    '',
    sentence,
    '',
    ...lines,
    '',
    ...(command.notes ?? []),
    ...NOTES,
  ].join('\n')
}

/** Commands that share their first word: `context show`, `context wait`. */
export const group =
  (name: string, commands: { readonly [name: string]: Command }, help: () => string): Command =>
  async ([first, ...args], world) => {
    if (first === '--help' || first === '-h') {
      world.out(help())
      return EXIT.fine
    }
    if (first === undefined) throw new UsageError(`${name} needs a command: ${Object.keys(commands).join(', ')}`)
    const command = Object.hasOwn(commands, first) ? commands[first] : undefined
    if (command === undefined)
      throw new UsageError(`there is no command ${name} ${first}${alternatives(first, Object.keys(commands))}`)
    return command(args, world)
  }
