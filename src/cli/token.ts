// cli: `actorflux token`: creates, lists and revokes tokens.
import type { z } from 'zod'
import {
  createToken,
  END_OF_TIME,
  isRevoked,
  readTokens,
  revokeToken,
  ROLES,
  TOKEN_FIELDS,
  type Token,
} from '../access/tokens.ts'
import { ROLE_MEANINGS } from '../model/caller.ts'
import { quantityOf } from '../model/quantity.ts'
import { readSome } from '../settings.ts'
import type { CliIo } from './cli-io.ts'
import { command, textOption, UsageError } from './command.ts'
import { aligned } from './remote/text.ts'

const FILE =
  'The file of tokens is ACTORFLUX_TOKENS (tokens.json). A running server follows changes of it within 5 seconds.'

const NAME = { name: textOption('name', 'who it is for: 1 to 64 letters, digits, -, _ and .; each name once') }

const fileIn = ({ env }: CliIo) => readSome(env, 'ACTORFLUX_TOKENS').tokens

export const token = {
  create: command({
    summary: 'make a token and print it, once',
    options: {
      ...NAME,
      roles: textOption('role[,role]', 'invoke if not given'),
      expires: textOption('duration', 'how long it is valid, such as 90d (s, m, h, d, w); without limit if not given'),
      rate: textOption(
        'calls/s',
        'calls that each server takes in a second or a minute, such as 500/s or 30/m; without limit if not given',
      ),
    },
    notes: `Roles:
${ROLES.map((role) => `  ${role.padEnd(6)}  ${ROLE_MEANINGS[role]}`).join('\n')}

It prints the token alone on the last line. The token is shown only once: the file keeps its SHA-256.
${FILE}`,
    async run({ values }, io) {
      const created = Date.now()
      const file = fileIn(io)
      const name = checked('name', TOKEN_FIELDS.name, values.name)
      const words = (values.roles ?? 'invoke').split(',').map((word) => word.trim())
      const roles = [...new Set(checked('roles', TOKEN_FIELDS.roles, words))]
      const expires = values.expires === undefined ? null : created + durationOf(values.expires, END_OF_TIME - created)
      const rate = values.rate?.trim().toLowerCase()
      if (rate !== undefined) checked('rate', TOKEN_FIELDS.rate, rate)
      const text = await createToken(file, { name, roles, created, expires, ...(rate !== undefined && { rate }) })
      const limits = `expires ${expires === null ? 'never' : dateOf(expires)}${rate === undefined ? '' : `; at most ${rate}`}`
      io.out(`Made the token ${name} in ${file}: roles ${roles.join(', ')}; ${limits}.`)
      io.out('It is shown this once. Send it as the header Authorization: Bearer <token>')
      io.out(text)
    },
  }),
  list: command({
    summary: 'show the tokens: name, roles, created, expires, rate',
    notes: `The tokens themselves are not kept.\n${FILE}`,
    async run(_, io) {
      const tokens = await readTokens(fileIn(io))
      const rows = tokens.map((each) => [
        each.name,
        each.roles.join(','),
        dateOf(each.created),
        endOf(each),
        each.rate ?? '',
      ])
      aligned([['NAME', 'ROLES', 'CREATED', 'EXPIRES', 'RATE'], ...rows]).forEach(io.out)
    },
  }),
  revoke: command({
    summary: 'remove a token: from then on it is unknown',
    options: NAME,
    notes: FILE,
    async run({ values }, io) {
      const file = fileIn(io)
      const name = checked('name', TOKEN_FIELDS.name, values.name)
      await revokeToken(file, name)
      io.out(`Revoked the token ${name} in ${file}.`)
    },
  }),
}

function endOf(token: Token) {
  const { expires } = token
  if (expires === null) return 'never'
  const state = expires <= Date.now() ? ' (expired)' : ''
  return dateOf(expires) + (isRevoked(token) ? ' (revoked)' : state)
}

/** The value of an option, if the file of tokens takes it. @throws UsageError */
function checked<Value>(option: string, type: z.ZodType<Value>, value: unknown): Value {
  const { data, error } = type.safeParse(value)
  if (!error) return data
  throw new UsageError(`--${option} ${value === undefined ? 'is missing' : error.issues[0]?.message}`)
}

const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** Milliseconds. @throws UsageError */
function durationOf(text: string, most: number) {
  const duration = quantityOf(text, UNITS)
  if (duration > 0 && duration <= most) return duration
  throw new UsageError(
    '--expires must be a duration such as 12h, 90d or 52w, of the units s, m, h, d, w; a token without it has no end',
  )
}

/** ISO 8601 in UTC, without milliseconds. */
const dateOf = (time: number) => new Date(time).toISOString().replace(/\.\d+Z$/, 'Z')
