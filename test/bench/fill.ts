// Fills a store with contexts that wait, and tells their ids, as ranges without a gap: through the calls in process, many
// at once. A process of its own, so that the memory it takes is given back. Ids may have gaps: where an id that was
// given ahead is refused, it is never used. The package as it is built: its pages are TSX, which jiti doesn't compile.
//
// Arguments: folder of services, data folder, URL of Redis or '', number of contexts.
import { createRuntime } from 'actorflux'

/** Starts under way at once. */
const AT_ONCE = 512

const [actors = '', data = '', redisUrl = '', count = ''] = process.argv.slice(2)
const runtime = await createRuntime({ actors: [actors], data, ...(redisUrl !== '' && { redisUrl }) })
let begun = 0
const ids = new Float64Array(Number(count))
const startSome = async () => {
  while (begun < Number(count)) {
    const nr = begun++
    const tags = [`t${nr % 1000}`]
    const { contextId } = await runtime.execute({ package: 'bench', fluxName: 'Spread', input: { nr }, tags })
    ids[nr] = contextId
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, startSome))
await runtime.close()
const ranges: [first: number, last: number][] = []
for (const id of ids.sort()) {
  const range = ranges.at(-1)
  if (range && range[1] + 1 === id) range[1] = id
  else ranges.push([id, id])
}
console.log(JSON.stringify(ranges))
