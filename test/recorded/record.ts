// recorded: records what the server answers now, and shows how each seed differs from what was recorded before.
// `npm run record -- 7` shows the recorded calls of seed 7 instead.
import { CALLS, firstDifference, readAnswers, SEEDS, writeAnswers } from './answers.ts'
import { runSeed, type Exchange } from './run.ts'

const before = await readAnswers().catch(() => new Map<number, Exchange[]>())
const [shown] = process.argv.slice(2)
if (shown === undefined) await record()
else
  for (const { request, answer } of before.get(Number(shown)) ?? [])
    console.log(`${request}\n    ${answer.replaceAll('\n', '\n    ')}`)

async function record(): Promise<void> {
  const answers = new Map<number, readonly Exchange[]>()
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const exchanges = await runSeed(seed, CALLS)
    answers.set(seed, exchanges)
    const difference = firstDifference(seed, before.get(seed) ?? [], exchanges)
    if (difference !== null) console.log(difference)
  }
  const length = await writeAnswers(answers)
  console.log(`${SEEDS * CALLS} answers recorded, ${length} bytes`)
}
