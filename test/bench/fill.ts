// Fills a store with contexts that wait, and tells their ids: through the calls in process, many at once. A process of
// its own, so that the memory it takes is given back.
//
// Arguments: folder of services, data folder, URL of Redis or '', number of contexts.
import { createRuntime } from '../../src/main.ts'

/** Starts under way at once. */
const AT_ONCE = 512

const [actors = '', data = '', redisUrl = '', count = ''] = process.argv.slice(2)
const runtime = await createRuntime({ actors: [actors], data, ...(redisUrl !== '' && { redisUrl }) })
let begun = 0
let [lowest, highest] = [Infinity, 0]
const startSome = async () => {
  while (begun < Number(count)) {
    const nr = begun++
    const tags = [`t${nr % 1000}`]
    const { contextId } = await runtime.execute({ package: 'bench', fluxName: 'Spread', input: { nr }, tags })
    lowest = Math.min(lowest, contextId)
    highest = Math.max(highest, contextId)
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, startSome))
await runtime.close()
console.log(JSON.stringify({ lowest, highest }))
