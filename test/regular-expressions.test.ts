// Every regular expression of the program takes time in proportion to its text: what a stranger sends is paid by its
// size. Checked by recheck, which follows the automaton of a pattern, or tries attacks on it.
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseSync } from 'oxc-parser'
import { check } from 'recheck'
import { afterEach, describe, expect, test, vi } from 'vitest'

const SRC = resolve(import.meta.dirname, '../src')

/** Files that make patterns later than when they are imported, and what these see. */
const LATER: { readonly [file: string]: string } = {
  'model/secret-redactor.ts': 'at most 64 alternatives of 8 escaped characters each, none repeated',
  'model/secret-reference.ts': 'a mark of random digits, and one name behind it',
  'testing/scenario/match.ts': 'any text, by the engine of V8 that takes linear time',
  'store/redis/connection.ts': 'what Redis says of itself, with names of ours',
}

interface Found {
  readonly file: string
  readonly source: string
  readonly flags: string
}

/** The literals of a file, and how many patterns it makes by the constructor. */
function patternsIn(file: string, text: string): { literals: Found[]; made: number } {
  const { program, errors } = parseSync(file, text)
  expect(errors, file).toEqual([])
  const literals: Found[] = []
  let made = 0
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if ('regex' in node && isPattern(node.regex))
      literals.push({ file, source: node.regex.pattern, flags: node.regex.flags })
    if (
      'callee' in node &&
      'type' in node &&
      (node.type === 'NewExpression' || node.type === 'CallExpression') &&
      isNamed(node.callee, 'RegExp')
    )
      made += 1
    for (const part of Object.values(node)) visit(part)
  }
  visit(program.body)
  return { literals, made }
}

const isPattern = (value: unknown): value is { pattern: string; flags: string } =>
  typeof value === 'object' && value !== null && 'pattern' in value && 'flags' in value
const isNamed = (value: unknown, name: string) =>
  typeof value === 'object' && value !== null && 'name' in value && value.name === name

/** The patterns that are made by the constructor while that runs. */
async function madeBy(file: string, run: () => Promise<unknown>): Promise<Found[]> {
  const found: Found[] = []
  const note = (pattern: RegExp) => {
    found.push({ file, source: pattern.source, flags: pattern.flags })
    return pattern
  }
  vi.stubGlobal(
    'RegExp',
    new Proxy(RegExp, {
      construct: (target, [source, flags]: [string, string | undefined]) => note(new target(source, flags)),
      apply: (target, _, [source, flags]: [string, string | undefined]) => note(target(source, flags)),
    }),
  )
  try {
    await run()
  } finally {
    vi.unstubAllGlobals()
  }
  return found
}

/** Why a pattern isn't known to be linear; null when it is. */
async function doubt({ source, flags }: Found): Promise<string | null> {
  // Without an unbounded repetition there is nothing that could grow.
  if (!/[*+]|\{\d+,\}/.test(source)) return null
  const result = await check(source, flags, { timeout: 120_000 })
  if (result.status === 'safe') return null
  return result.status === 'vulnerable' ? `vulnerable: ${result.complexity.type}` : 'not decided in time'
}

async function doubts(found: readonly Found[]): Promise<string[]> {
  const first = await Promise.all(found.map(doubt))
  const sure: string[] = []
  for (const [index, pattern] of found.entries()) {
    // Attacks are timed: on a busy machine, and beside one another, harmless ones may seem to succeed.
    const reason = first[index] === null ? null : (await doubt(pattern)) && (await doubt(pattern))
    if (reason !== null) sure.push(`${pattern.file}: /${pattern.source}/${pattern.flags} is ${reason}`)
  }
  return sure
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts'))
  .map((file) => file.replaceAll('\\', '/'))

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('regular expressions', () => {
  test('of the source take linear time', { timeout: 600_000 }, async () => {
    const all: Found[] = []
    for (const file of files) {
      const { literals, made } = patternsIn(file, readFileSync(join(SRC, file), 'utf8'))
      all.push(...literals)
      if (made === 0 || Object.hasOwn(LATER, file)) continue
      vi.resetModules()
      const constructed = await madeBy(file, () => import(join(SRC, file)))
      expect(constructed.length, `patterns made when ${file} is imported`).toBeGreaterThanOrEqual(made)
      all.push(...constructed)
    }
    expect(all.length).toBeGreaterThan(100)
    const unique = new Map(all.map((found) => [`${found.source}/${found.flags}`, found]))
    expect(await doubts([...unique.values()])).toEqual([])
  })

  test('that are superlinear are found, as literals and as made ones', { timeout: 120_000 }, async () => {
    const text =
      'const a: RegExp = /(x+)+$/i\nif (/^\\s*y?\\s*$/.test(`${a}`)) throw new RegExp("z*z*" + "=$");\n/fine[abc]+/.test("")'
    const { literals, made } = patternsIn('bad.ts', text)
    expect(literals).toHaveLength(3)
    expect(made).toBe(1)
    const constructed = await madeBy('bad.ts', () => Promise.resolve([new RegExp('z*z*=$'), RegExp('^w')]))
    expect(await doubts([...literals, ...constructed])).toEqual([
      expect.stringMatching(/^bad\.ts: \/\(x\+\)\+\$\/i is vulnerable: exponential$/),
      expect.stringMatching(/y\?.* is vulnerable: polynomial$/),
      expect.stringMatching(/z\*z\*=\$\/ is vulnerable: polynomial$/),
    ])
  })
})
