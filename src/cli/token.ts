// cli: `actorflux token`: creates, lists and revokes tokens.
import { RATE_FORM, rateOf } from '../access/token-bucket.ts'
import {
  createToken,
  END_OF_TIME,
  isRevoked,
  isTokenName,
  readTokens,
  revokeToken,
  ROLES,
  type Token,
} from '../access/tokens.ts'
import { ROLE_MEANINGS } from '../model/caller.ts'
import { getOwn } from '../model/json/value.ts'
import { alternatives } from '../model/nearest.ts'
import { readSettings } from '../settings.ts'
import { EXIT, UsageError, type Command, type World } from './command.ts'
import { HELP_OPTION } from './options.ts'
import { parseWords } from './parse.ts'

const FILE =
  'The file of tokens is ACTORFLUX_TOKENS (tokens.json). A running server follows changes of it within 5 seconds.'

const HELP = `Usage: actorflux token <command> [options]

  create    make a token and print it, once
  list      show the tokens: name, roles, created, expires, rate
  revoke    remove a token

${FILE}`

const ROLES_HELP = [
  '  --roles     invoke if not given',
  ...ROLES.map((role) => `              ${role.padEnd(6)}  ${ROLE_MEANINGS[role]}`),
].join('\n')

const CREATE_HELP = `Usage: actorflux token create --name <name> [--roles <role>[,<role>]] [--expires <duration>]
                               [--rate <calls>/s]

Makes a token and prints it alone on the last line. The token is shown only once: the file keeps its SHA-256.

  --name      who it is for: 1 to 64 letters, digits, -, _ and .; each name once
${ROLES_HELP}
  --expires   how long it is valid, such as 90d (s, m, h, d, w); without limit if not given
  --rate      calls that each server takes in a second or a minute, such as 500/s or 30/m; without limit if not given

${FILE}`

const LIST_HELP = `Usage: actorflux token list

Shows name, roles, creation, expiry and rate of every token. The tokens themselves are not kept.

${FILE}`

const REVOKE_HELP = `Usage: actorflux token revoke --name <name>

Removes the token of that name: from then on it is unknown.

${FILE}`

type Option = 'name' | 'roles' | 'expires' | 'rate'
type Values = { readonly [option in Option]?: string }

interface SubCommand {
  readonly help: string
  readonly takes: readonly Option[]
  /** The option whose value may also be given without `--option`. */
  readonly word?: Option
  readonly run: (file: string, values: Values, world: World) => Promise<void>
}

const COMMANDS: { readonly [name: string]: SubCommand } = {
  create: { help: CREATE_HELP, takes: ['name', 'roles', 'expires', 'rate'], run: create },
  list: { help: LIST_HELP, takes: [], run: list },
  revoke: { help: REVOKE_HELP, takes: ['name'], word: 'name', run: revoke },
}

export const token: Command = async (args, world) => {
  const {
    help = false,
    values,
    words: [name, ...words],
  } = readWords(args)
  if (help && name === undefined) {
    world.out(HELP)
    return EXIT.fine
  }
  if (name === undefined) throw new UsageError(`token needs a command: ${Object.keys(COMMANDS).join(', ')}`)
  const command = getOwn(COMMANDS, name)
  if (command === undefined)
    throw new UsageError(`there is no command token ${name}${alternatives(name, Object.keys(COMMANDS))}`)
  if (help) {
    world.out(command.help)
    return EXIT.fine
  }
  const given = valuesFor(name, command, { values, words })
  // Only this setting is read: faults in others must not prevent the command.
  await command.run(readSettings({ ACTORFLUX_TOKENS: world.env['ACTORFLUX_TOKENS'] }).tokens, given, world)
  return EXIT.fine
}

async function create(file: string, { name, roles = 'invoke', expires, rate }: Values, { out }: World): Promise<void> {
  const now = Date.now()
  const details: Omit<Token, 'sha256'> = {
    name: nameOf(name),
    roles: rolesOf(roles),
    created: now,
    expires: expires === undefined ? null : now + durationOf(expires, END_OF_TIME - now),
    ...(rate !== undefined && { rate: rateGiven(rate) }),
  }
  const text = await createToken(file, details)
  out(
    `Made the token ${details.name} in ${file}: roles ${details.roles.join(', ')}; expires ${details.expires === null ? 'never' : dateOf(details.expires)}${details.rate === undefined ? '' : `; at most ${details.rate}`}.`,
  )
  out('It is shown this once. Send it as the header Authorization: Bearer <token>')
  out(text)
}

async function list(file: string, _values: Values, { out }: World): Promise<void> {
  const tokens = await readTokens(file)
  const now = Date.now()
  const hasRates = tokens.some(({ rate }) => rate !== undefined)
  const rows = [
    ['NAME', 'ROLES', 'CREATED', 'EXPIRES', ...(hasRates ? ['RATE'] : [])],
    ...tokens.map((token) => [
      token.name,
      token.roles.join(','),
      dateOf(token.created),
      endOf(token, now),
      ...(hasRates ? [token.rate ?? ''] : []),
    ]),
  ]
  const columns = hasRates ? [0, 1, 2, 3] : [0, 1, 2]
  const widths = columns.map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  for (const row of rows)
    out(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}

function endOf(token: Token, now: number): string {
  const { expires } = token
  if (expires === null) return 'never'
  return `${dateOf(expires)}${isRevoked(token) ? ' (revoked)' : expires <= now ? ' (expired)' : ''}`
}

async function revoke(file: string, { name }: Values, { out }: World): Promise<void> {
  const known = nameOf(name)
  await revokeToken(file, known)
  out(`Revoked the token ${known} in ${file}.`)
}

/** Parses the options of all subcommands, and the positional words. @throws UsageError */
function readWords(args: string[]): {
  readonly help: boolean | undefined
  readonly values: Values
  readonly words: readonly string[]
} {
  const text = { type: 'string' } as const
  const options = { ...HELP_OPTION, name: text, roles: text, expires: text, rate: text }
  const {
    values: { help, ...values },
    positionals,
  } = parseWords(args, options)
  return { help, values, words: positionals }
}

/**
 * The options, including one that was given as a positional word. @throws UsageError for what the subcommand does not
 * accept
 */
function valuesFor(
  name: string,
  { takes, word }: SubCommand,
  { values, words }: { readonly values: Values; readonly words: readonly string[] },
): Values {
  const foreign = Object.keys(values).find((option) => !takes.some((taken) => taken === option))
  if (foreign !== undefined) throw new UsageError(`token ${name} takes no --${foreign}`)
  if (words.length === 0) return values
  if (word === undefined || words.length > 1 || values[word] !== undefined)
    throw new UsageError(`token ${name} takes no further words`)
  return { ...values, [word]: words[0] }
}

function nameOf(name: string | undefined): string {
  if (name === undefined) throw new UsageError('--name is missing')
  if (!isTokenName(name)) throw new UsageError('--name must be 1 to 64 letters, digits, -, _ and .')
  return name
}

function rateGiven(text: string): string {
  const rate = text.trim().toLowerCase()
  if (rateOf(rate) === null) throw new UsageError(`--rate must be ${RATE_FORM}`)
  return rate
}

function rolesOf(list: string): Token['roles'] {
  const roles = list.split(',').map((word) => ROLES.find((role) => role === word.trim()))
  const known = roles.filter((role) => role !== undefined)
  if (known.length < roles.length) throw new UsageError(`--roles must be of ${ROLES.join(', ')}, separated by commas`)
  return [...new Set(known)]
}

const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** Milliseconds. @throws UsageError */
function durationOf(text: string, most: number): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([a-z])$/.exec(text.toLowerCase()) ?? []
  const duration = Math.round(Number(number) * (getOwn(UNITS, unit) ?? Number.NaN))
  if (duration > 0 && duration <= most) return duration
  throw new UsageError(
    `--expires must be a duration such as 12h, 90d or 52w, of the units ${Object.keys(UNITS).join(', ')}; a token without it has no end`,
  )
}

/** ISO 8601 in UTC, without milliseconds. */
const dateOf = (time: number): string => new Date(time).toISOString().replace(/\.\d+Z$/, 'Z')
