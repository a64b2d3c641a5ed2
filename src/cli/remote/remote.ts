// cli/remote: a command that speaks to a server: it opens the client, and tells what went wrong in one line.
import { createClient } from '../../client/client.ts'
import { ConnectionError, Problem } from '../../client/problem.ts'
import {
  flagOption,
  IS_IT_RUNNING,
  UsageError,
  type CommandSpec,
  type Description,
  type Given,
  type OptionSpecs,
  type World,
} from '../command.ts'
import { serverAddress, URL_OPTION } from '../server-address.ts'
import { plain, plainJson, styled, tableLines, type Cell, type Style } from './text.ts'

interface RemoteSpec<Options extends OptionSpecs = OptionSpecs> extends Description<Options> {
  /** Whether what it writes has a form of its own, so that there is no `--json`. */
  readonly hasOwnForm?: boolean
  /** Resolves with the exit code; without one, all is well. */
  run(given: Given<Options>, remote: Remote): Promise<number | void>
}

const TOKEN_NOTE = 'ACTORFLUX_TOKEN has the token, if the server asks for one.'

/** A command whose values have the types of its options. */
export function remote<Options extends OptionSpecs>(given: RemoteSpec<Options>): CommandSpec {
  const spec: RemoteSpec = given
  const json = spec.hasOwnForm ? {} : { json: flagOption('for programs: each answer as one line of JSON') }
  return {
    ...spec,
    options: { ...spec.options, ...URL_OPTION, ...json },
    notes: spec.notes === undefined ? TOKEN_NOTE : `${spec.notes}\n${TOKEN_NOTE}`,
    async run(given, world) {
      const { url, json } = given.values
      const address = serverAddress(url === undefined ? undefined : String(url), world)
      try {
        return await spec.run(given, open(address, json === true, world))
      } catch (error) {
        throw toUserError(error)
      }
    },
  }
}

export type Remote = ReturnType<typeof open>

/** `isJson`: whether a program reads what is written. */
function open(url: string, isJson: boolean, world: World) {
  const { env, screen } = world
  const hasColour = screen?.hasColour ?? false
  const write = (lines: readonly string[]) => lines.forEach((line) => world.out(line))
  return {
    client: createClient({ url, token: env['ACTORFLUX_TOKEN'] || undefined }),
    world,
    isJson,
    /** Writes an answer: as one line of JSON, or what `lines` makes of it for people. */
    answer: (data: unknown, lines: () => readonly string[]) => write(isJson ? [plainJson(data)] : lines()),
    /** Writes a list: for programs, a line for each element. */
    answerList: (list: readonly unknown[], lines: () => readonly string[]) =>
      write(isJson ? list.map((each) => plainJson(each)) : lines()),
    table: (heads: readonly string[], rows: readonly (readonly Cell[])[]) =>
      tableLines([heads.map((text) => ({ text, style: 'dim' as const })), ...rows], screen?.columns ?? null, hasColour),
    /** In colour, where there is colour. */
    style: (style: Style, text: string) => (hasColour ? styled(style, plain(text)) : plain(text)),
  }
}

/** The error as one line for people. */
function toUserError(error: unknown) {
  if (error instanceof UsageError || !(error instanceof Error)) return error
  return new Error(error instanceof Problem ? problemText(error) : plain(textOf(error)), { cause: error })
}

function textOf(error: Error) {
  const { message } = error
  if (error instanceof ConnectionError) return `${message}; ${IS_IT_RUNNING}`
  // What is shown was not in the answer, or was of another type.
  return error instanceof TypeError ? `the answer is not that of actorflux: ${message}` : message
}

export function problemText({ message, errors, hint, status }: Problem): string {
  const more = errors
    .filter(({ detail }) => !message.includes(detail))
    .map(({ pointer, detail }) => `${pointer.replace(/^\//, '')} ${detail}`.trim())
  const hints = [hint, status === 401 ? 'set ACTORFLUX_TOKEN to a token that is valid' : null]
  return plain([message, ...more, ...hints.filter((text) => text !== null)].join('; '))
}
