// recorded: the answers that are kept, one line of JSON for each call, compressed; and how two of them differ, for
// whoever has to judge that.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { z } from 'zod'
import type { Exchange } from './run.ts'

/** As many worlds, and calls in each. */
export const SEEDS = 36
export const CALLS = 100

const FILE = join(import.meta.dirname, 'answers.jsonl.gz')
const Line = z.object({ seed: z.number(), request: z.string(), answer: z.string() })

/** What is kept of each seed. */
export async function readAnswers(): Promise<ReadonlyMap<number, readonly Exchange[]>> {
  const kept = new Map<number, Exchange[]>()
  for (const text of gunzipSync(await readFile(FILE))
    .toString('utf8')
    .split('\n')) {
    if (text === '') continue
    const { seed, request, answer } = Line.parse(JSON.parse(text))
    const exchanges = kept.get(seed) ?? []
    kept.set(seed, exchanges)
    exchanges.push({ request, answer })
  }
  return kept
}

export async function writeAnswers(answers: ReadonlyMap<number, readonly Exchange[]>): Promise<number> {
  const lines = [...answers].flatMap(([seed, exchanges]) =>
    exchanges.map((exchange) => `${JSON.stringify({ seed, ...exchange })}\n`),
  )
  const bytes = gzipSync(lines.join(''), { level: 9 })
  await writeFile(FILE, bytes)
  return bytes.length
}

/** Characters shown of each answer before the first difference, and from there on. */
const SHOWN = { before: 160, after: 400 }
/** Answers up to this length are shown whole. */
const SHORT = 1500

/** The first call that is answered otherwise, for people to read; null: there is none. */
export function firstDifference(
  seed: number,
  expected: readonly Exchange[],
  actual: readonly Exchange[],
): string | null {
  const index = Array.from({ length: Math.max(expected.length, actual.length) }, (_, at) => at).find(
    (at) => !same(expected[at], actual[at]),
  )
  if (index === undefined) return null
  const [was, is] = [expected[index], actual[index]]
  const title = `seed ${seed}, call ${index + 1} of ${expected.length}`
  if (!was || !is) return `${title}: ${expected.length} calls are recorded, ${actual.length} were made`
  if (was.request !== is.request)
    return [
      `${title} is another one: the generator has changed`,
      `recorded: ${was.request}`,
      `now:      ${is.request}`,
    ].join('\n  ')
  let at = 0
  while (at < was.answer.length && was.answer[at] === is.answer[at]) at += 1
  const lines = [`request:  ${was.request}`, `expected: ${part(was.answer, at)}`, `actual:   ${part(is.answer, at)}`]
  return [`${title} is answered otherwise, from character ${at} on`, ...lines].join('\n  ')
}

const same = (one: Exchange | undefined, other: Exchange | undefined) =>
  one?.request === other?.request && one?.answer === other?.answer

function part(answer: string, at: number): string {
  if (answer.length <= SHORT) return answer
  const from = Math.max(0, at - SHOWN.before)
  const to = at + SHOWN.after
  return `${from > 0 ? '…' : ''}${answer.slice(from, to)}${to < answer.length ? '…' : ''}`
}
