// `npm run simulate`: any number of seeds, or one with its trace.
import { parseArgs } from 'node:util'
import { openServices, simulate } from './simulate.ts'

const HELP = `npm run simulate -- [options]
  --seeds 10000  how many
  --from 1       the first of them
  --keys         calls under keys, instead of calls of all kinds
  --trace        tells everything that happened, too
  --go-on        doesn't end at the first that fails`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10000' },
    from: { type: 'string', default: '1' },
    keys: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    'go-on': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

/** Lines of a trace that are shown without being asked for. */
const SHOWN = 60
/** Seeds between two lines on how far it has got. */
const TELL_EVERY = 5_000

async function main(): Promise<void> {
  const [from, seeds] = [Number(values.from), Number(values.seeds)]
  const catalog = await openServices()
  const began = Date.now()
  let [failed, commits] = [0, 0]
  for (let seed = from; seed < from + seeds; seed += 1) {
    const run = await simulate(seed, catalog, values.keys ? 'keys' : 'calls')
    commits += run.commits
    if (values.trace) console.log(run.trace.join('\n'))
    if ((seed - from + 1) % TELL_EVERY === 0) console.log(`${seed - from + 1} seeds`)
    if (run.violations.length === 0) continue
    failed += 1
    if (!values.trace && !values['go-on']) console.log(run.trace.slice(-SHOWN).join('\n'))
    console.log(
      `seed ${seed}, number ${seed - from + 1}:\n  ${run.violations.slice(0, 3).join('\n  ')}\n` +
        `again: npm run simulate -- ${values.keys ? '--keys ' : ''}--from ${seed} --seeds 1 --trace`,
    )
    process.exitCode = 1
    if (!values['go-on']) break
  }
  console.log(`${failed} of them failed, ${commits} commits, ${Math.round((Date.now() - began) / 100) / 10} s`)
}

if (values.help) console.log(HELP)
else await main()
