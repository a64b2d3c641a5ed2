// A message for a context that is being started at that moment: it is answered, whatever the store says of it.
import { expect, test } from 'vitest'
import { held } from '../support/held.ts'
import { openBench, type Bench, type Files } from '../support/engine.ts'
import { withVerbs } from '../support/stores.ts'

const FILES: Files = {
  'p/Wait.flux': { states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'tick' }] }] },
}

let bench: Bench

test('what was sent to an id before a context had it is answered, all of it', async () => {
  const read = held<void>()
  let isSlow = false
  bench = await openBench(FILES, {
    wrap: (store) =>
      withVerbs(store, {
        async load(request) {
          const found = await store.load(request)
          if (isSlow) await read.promise
          return found
        },
      }),
  })
  const contextId = (await bench.run('Wait')) + 1
  isSlow = true
  const answers: string[] = []
  const sent = [1, 2, 3].map((number) =>
    bench.sendEvent({ contextId, event: 'tick' }).then(
      () => answers.push(`${number} moved`),
      () => answers.push(`${number} refused`),
    ),
  )
  expect(await bench.run('Wait')).toBe(contextId)
  isSlow = false
  read.release()
  await Promise.race([Promise.all(sent), new Promise((resolve) => setTimeout(resolve, 1000))])
  expect(answers).toEqual(['1 moved', '2 moved', '3 moved'])
})
