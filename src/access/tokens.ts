// access: the tokens of service users, as stored in the token file. A token's text is returned once, when it is
// created; the file contains only its SHA-256.
import { hash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Role } from '../model/caller.ts'
import { changeFile, readText } from './change-file.ts'
import { RATE_FORM, rateOf } from './token-bucket.ts'

export const ROLES = ['read', 'invoke', 'admin'] as const satisfies readonly Role[]

/** The latest time that a Date can represent (ECMA-262, 21.4.1.1), in epoch milliseconds. */
export const END_OF_TIME = 8.64e15

const RATE_ERROR = `must be ${RATE_FORM}`

const time = (error: string) => z.int({ error }).min(0, { error }).max(END_OF_TIME, { error })

/**
 * Unknown keys are refused: in a file of a later version they might restrict the token. Messages never quote the
 * content.
 */
const token = z.strictObject(
  {
    name: z
      .string({ error: 'must be text' })
      .regex(/^[A-Za-z0-9._-]{1,64}$/, { error: 'must be 1 to 64 letters, digits, -, _ and .' }),
    /** SHA-256 of the token's text, in lower-case hexadecimal digits. */
    sha256: z
      .string({ error: 'must be text' })
      .regex(/^[0-9a-f]{64}$/, { error: 'must be 64 hexadecimal digits, in lower case' }),
    roles: z
      .array(z.enum(ROLES, { error: `must be one of ${ROLES.join(', ')}` }), { error: 'must be a list' })
      .min(1, { error: 'must name a role' }),
    created: time('must be epoch milliseconds'),
    /** From when on the token is no longer valid; null if it does not expire. */
    expires: time('must be epoch milliseconds or null').nullable(),
    /** Calls that each server takes: `500/s`, `30/m`. Left out: as many as come. */
    rate: z
      .string({ error: RATE_ERROR })
      .refine((text) => rateOf(text) !== null, { error: RATE_ERROR })
      .exactOptional(),
  },
  { error: 'must be an object of name, sha256, roles, created, expires and rate alone' },
)

export type Token = Readonly<z.output<typeof token>>

/** What the file takes for each field. */
export const TOKEN_FIELDS = token.shape

const tokenFile = z.strictObject(
  {
    tokens: z.array(token, { error: 'must be a list' }).superRefine((tokens, context) => {
      for (const key of ['name', 'sha256'] as const) {
        const seen = new Set<string>()
        const again = tokens.findIndex(({ [key]: value }) => seen.size === seen.add(value).size)
        if (again >= 0)
          context.addIssue({ code: 'custom', path: [again, key], message: 'must not be that of another token' })
      }
    }),
  },
  { error: 'must be an object of tokens alone' },
)

/** Parses the text of a token file; null (no file) gives no tokens. */
export function parseTokens(text: string | null, file: string): readonly Token[] {
  if (text === null) return []
  let content: unknown
  try {
    // Some editors save a byte order mark.
    content = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch {
    // The parser's error quotes the text, so it is not kept as the cause.
    throw new Error(`${file} is not JSON`)
  }
  const { data, error } = tokenFile.safeParse(content)
  if (data) return data.tokens
  const [issue] = error.issues
  throw new Error(
    `${file}: ${issue ? `${z.core.toDotPath(issue.path) || 'its content'} ${issue.message}` : 'is no file of tokens'}`,
  )
}

/**
 * Reads a token file.
 * @throws Error as `parseTokens`
 */
export async function readTokens(file: string): Promise<readonly Token[]> {
  return parseTokens(await readText(file), file)
}

/** SHA-256 of a token's text. */
export const digestOf = (text: string): Buffer => hash('sha256', text, 'buffer')

/**
 * Milliseconds for which the name of a revoked token is not given to another one, which could read what is kept under the
 * idempotency keys of the first.
 */
const NAME_KEPT_MS = 30 * 86_400_000

/** The hash that a token has once it is revoked: no token has such a text. */
const revokedHash = (name: string) => digestOf(`revoked ${name}`).toString('hex')

/** Whether the file has it only to keep its name; `expires` says since when. */
export const isRevoked = ({ name, sha256 }: Token): boolean => sha256 === revokedHash(name)

/**
 * Creates a token and returns its text, which can't be retrieved later.
 * @throws Error when the name is taken, or was until lately, or when the file is malformed or can't be written
 */
export async function createToken(file: string, details: Omit<Token, 'sha256'>): Promise<string> {
  const text = `af_${randomBytes(32).toString('base64url')}`
  await changeTokens(file, (tokens) => {
    const taken = tokens.find(({ name }) => name === details.name)
    if (taken && isRevoked(taken))
      throw new Error(
        `a token named ${taken.name} was revoked, and what was done with its keys is kept: choose another name, or wait until ${new Date(freeAt(taken)).toISOString().slice(0, 10)}`,
      )
    if (taken) throw new Error(`there is a token named ${details.name} already`)
    return [...tokens, { ...details, sha256: digestOf(text).toString('hex') }]
  })
  return text
}

/** Epoch milliseconds from which the name of a revoked token may be given to another. */
const freeAt = ({ expires }: Token) => (expires ?? 0) + NAME_KEPT_MS

/**
 * Ends a token: the file keeps its name alone.
 * @throws Error when there is no such token, or when the file is malformed or can't be written
 */
export async function revokeToken(file: string, name: string): Promise<void> {
  await changeTokens(file, (tokens) => {
    const ending = tokens.find((token) => token.name === name && !isRevoked(token))
    if (!ending) throw new Error('there is no token of that name')
    const revoked = { ...ending, sha256: revokedHash(name), expires: Date.now() }
    return tokens.map((token) => (token === ending ? revoked : token))
  })
}

async function changeTokens(file: string, change: (tokens: readonly Token[]) => readonly Token[]) {
  await changeFile(file, (text) => {
    const tokens = parseTokens(text, file).filter((token) => !isRevoked(token) || freeAt(token) > Date.now())
    return `${JSON.stringify({ tokens: change(tokens) }, null, 2)}\n`
  })
}
