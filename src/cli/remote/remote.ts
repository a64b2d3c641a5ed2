// cli/remote: a command that calls a server: it finds the address, opens the client, and tells what went wrong in one line.
import { createClient } from '../../client/client.ts'
import { ConnectionError, Problem } from '../../client/problem.ts'
import { messageOf } from '../../model/error-message.ts'
import { readSome } from '../../settings.ts'
import type { CliIo } from '../cli-io.ts'
import { flagOption, textOption, UsageError, type CommandSpec, type OptionSpecs } from '../command.ts'
import { plain, plainJson, styled, tableLines, type Cell, type Style } from './text.ts'

interface RemoteSpec<Options extends OptionSpecs> extends CommandSpec<Options, Remote> {
  /** Whether what it writes has a form of its own, so that there is no `--json`. */
  readonly hasOwnForm?: boolean
}

const URL_OPTION = {
  url: textOption('url', 'the server; else ACTORFLUX_URL, else ACTORFLUX_HOST and ACTORFLUX_PORT'),
}

/** A command whose values have the types of its options. */
export function remote<Options extends OptionSpecs>(given: RemoteSpec<Options>): CommandSpec {
  const spec: RemoteSpec<OptionSpecs> = given
  const json = spec.hasOwnForm ? {} : { json: flagOption('for programs: each answer as one line of JSON') }
  return {
    notes: 'ACTORFLUX_TOKEN has the token, if the server asks for one.',
    ...spec,
    options: { ...spec.options, ...URL_OPTION, ...json },
    async run(given, io) {
      const { url, json } = given.values
      const address = serverAddress(url === undefined ? undefined : String(url), io)
      try {
        return await spec.run(given, open(address, json === true, io))
      } catch (error) {
        throw toUserError(error)
      }
    },
  }
}

/** The address without a slash at its end. @throws UsageError */
function serverAddress(given: string | undefined, { env }: CliIo) {
  try {
    const variables = { ...env, ACTORFLUX_URL: given ?? env['ACTORFLUX_URL'] }
    const { url, host, port } = readSome(variables, 'ACTORFLUX_HOST', 'ACTORFLUX_PORT', 'ACTORFLUX_URL')
    if (url !== null) return url.replace(/\/$/, '')
    if (port === 0) throw new Error('ACTORFLUX_PORT is 0, any free port: name the server by --url')
    // A server that listens on every address is reached on this machine's own.
    const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host
    return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
  } catch (error) {
    const text = messageOf(error)
    throw new UsageError(given === undefined ? text : text.replace('ACTORFLUX_URL', '--url'))
  }
}

export type Remote = ReturnType<typeof open>

/** `isJson`: whether a program reads what is written. */
function open(url: string, isJson: boolean, io: CliIo) {
  const { env, screen } = io
  const hasColour = screen?.hasColour ?? false
  return {
    url,
    client: createClient({ url, token: env['ACTORFLUX_TOKEN'] || undefined }),
    io,
    isJson,
    /** Writes an answer: as JSON, of a list a line for each element, or what `linesOf` makes of it for people. */
    answer<Data>(data: Data, linesOf: (data: Data) => readonly string[]) {
      const lines = isJson ? [data].flat().map((each) => plainJson(each)) : linesOf(data)
      lines.forEach(io.out)
    },
    table: (heads: readonly string[], rows: readonly (readonly Cell[])[]) =>
      tableLines([heads.map((text) => ({ text, style: 'dim' as const })), ...rows], screen?.columns ?? null, hasColour),
    /** In colour, where there is colour. */
    style: (style: Style, text: string) => (hasColour ? styled(style, plain(text)) : plain(text)),
  }
}

/** The error as one line for people. */
const toUserError = (error: unknown) =>
  error instanceof UsageError || !(error instanceof Error) ? error : new Error(plain(textOf(error)), { cause: error })

function textOf(error: Error) {
  const { message } = error
  if (error instanceof Problem) return problemText(error)
  if (error instanceof ConnectionError)
    return `${message}; is it running? actorflux serve starts it; --url or ACTORFLUX_URL names another one`
  // What is shown was not in the answer, or was of another type.
  return error instanceof TypeError ? `the answer is not that of actorflux: ${message}` : message
}

export function problemText({ message, errors, hint, status }: Problem): string {
  const more = errors
    .filter(({ detail }) => !message.includes(detail))
    .map(({ pointer, detail }) => `${pointer.replace(/^\//, '')} ${detail}`.trim())
  const hints = [hint ?? [], status === 401 ? 'set ACTORFLUX_TOKEN to a token that is valid' : []]
  return [message, ...more, ...hints.flat()].join('; ')
}
