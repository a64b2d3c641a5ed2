// store/redis: loads and runs the Lua scripts. Each runs in one partition; its header describes arguments and results.
//
// - Scripts declare in their first line what they may do (`#!lua`), so when Redis has no memory left it refuses a
//   script before it starts, and never stops it half-way.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ReplyError, type Cluster, type Redis } from 'ioredis'
import { PARTITION_KEYS } from './keys.ts'

const NAMES = [
  'activate-moves',
  'append-moves',
  'claim-abandoned',
  'claim-due',
  'commit',
  'commit-rows',
  'count-rows',
  'heartbeat',
  'highest',
  'leased-to',
  'list-rows',
  'load',
  'purge',
  'read-moves',
  'read-row',
  'reserve',
  'rows',
  'select',
  'servers',
  'sweep-rows',
  'time',
  'version',
] as const

export type ScriptName = (typeof NAMES)[number]

/** The reply of a script: texts, numbers, null and lists of them. */
export type Reply = string | number | null | readonly Reply[]

interface Script {
  readonly text: string
  readonly hash: string
}

const sourceOf = (file: string) => readFileSync(new URL(`lua/${file}.lua`, import.meta.url), 'utf8')

/**
 * The shared Lua code, split into one piece for each name, in an order in which each piece follows those that it needs.
 * Comments are removed.
 */
const SHARED_FILES = ['packed', 'leaves', 'row-text', 'time'].map((name) => sourceOf(`shared/${name}`))
const SHARED = [PARTITION_KEYS, ...SHARED_FILES].flatMap((text) =>
  text
    .replace(/^--.*\n/gm, '')
    .split(/^(?=local )/m)
    .flatMap((piece) => {
      const [, name] = /^local (?:function )?(\w+)/.exec(piece) ?? []
      return name === undefined ? [] : [{ name, text: piece.trim() }]
    }),
)

/**
 * Reads a script, and inserts the shared pieces that it needs after the first line, which declares what it may do.
 * Unneeded pieces are left out, because each costs time whenever the script runs.
 */
function read(name: ScriptName): Script {
  const [first = '', ...lines] = linesOf(name)
  let body = lines.filter((line) => !line.startsWith('--')).join('\n')
  for (const piece of SHARED.toReversed()) {
    if (new RegExp(`\\b${piece.name}\\b`).test(body)) body = `${piece.text}\n${body}`
  }
  const text = `${first}\n${body}`
  return { text, hash: createHash('sha1').update(text).digest('hex') }
}

/** One source gives two scripts: the commit with rows, and the one without the lines for them. */
function linesOf(name: ScriptName): string[] {
  const lines = sourceOf(name === 'commit-rows' ? 'commit' : name).split('\n')
  if (name !== 'commit') return lines
  let isForRows = false
  return lines.filter((line) => {
    if (line === '--[ rows') isForRows = true
    const isKept = !isForRows
    if (line === '--]') isForRows = false
    return isKept
  })
}

const SCRIPTS = new Map(NAMES.map((name) => [name, read(name)]))

/**
 * Runs a script in the partition whose keys begin with `root`. Takes one round trip, except when Redis does not know
 * the script yet.
 */
export function sendScript(
  redis: Redis | Cluster,
  name: ScriptName,
  root: string,
  values: readonly (string | number)[],
): Promise<Reply> {
  const script = SCRIPTS.get(name)
  if (!script) throw new Error(`there is no script '${name}'`)
  return redis.evalsha(script.hash, 1, root, ...values).then(asReply, async (error: unknown) => {
    if (codeOf(error) !== 'NOSCRIPT') throw error
    return asReply(await redis.eval(script.text, 1, root, ...values))
  })
}

/** The code of an error that Redis returned, which is its first word; null for any other error. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && error instanceof ReplyError ? (/^\w*/.exec(error.message)?.[0] ?? '') : null
}

function asReply(value: unknown): Reply {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value
  if (Array.isArray(value)) return value.map(asReply)
  throw new TypeError('a script gave what no script gives')
}

export function listOf(reply: Reply): readonly Reply[] {
  if (reply === null || typeof reply !== 'object') throw new TypeError('a script gave no list')
  return reply
}

/** Converts a list of texts and numbers to texts. */
export function texts(reply: Reply): string[] {
  return listOf(reply).map((one) => {
    if (typeof one !== 'string' && typeof one !== 'number')
      throw new TypeError('a script gave a list of something else')
    return String(one)
  })
}

/** A list of names, each with its value behind it. */
export const pairsOf = (values: readonly string[]): [name: string, value: string][] =>
  values.flatMap((value, place) => (place % 2 === 1 ? [[values[place - 1] ?? '', value]] : []))

/** The ids among the members of a set; other members are skipped. */
export const idsOf = (members: readonly string[]): number[] =>
  members.map(Number).filter((id) => Number.isSafeInteger(id) && id > 0)
