// Lists: never more at once than fits, and nothing of what has been closed since.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ANONYMOUS } from '../../src/model/caller.ts'
import { openBench } from '../support/runtime.ts'

const WAITING = { input: [{ name: 'text' }], states: [{ name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'wait' }] }] }

test('large contexts make pages that end early and lead on to all of them', async ({ onTestFinished }) => {
  const bench = await openBench({ 'p/Large.flux': WAITING })
  onTestFinished(() => bench.close())
  const ids: number[] = []
  for (let index = 0; index < 40; index++) ids.push(await bench.run('Large', { text: 'x'.repeat(index === 7 ? 9_000_000 : 900_000) }))
  const pages: number[][] = []
  for (let after: number | null | undefined = undefined; after !== null;) {
    const page: Awaited<ReturnType<typeof bench.listPage>> = await bench.listPage({ limit: 1000, after })
    pages.push(page.contexts.map(({ id }) => id))
    after = page.next
  }
  expect(pages.flat()).toEqual(ids)
  expect(pages.length).toBeGreaterThan(3)
  expect(Math.max(...pages.map(({ length }) => length))).toBeLessThan(12)
})

test('small contexts come as many as are asked for, and the last page says so', async ({ onTestFinished }) => {
  const bench = await openBench({ 'p/Small.flux': WAITING })
  onTestFinished(() => bench.close())
  const ids: number[] = []
  for (let index = 0; index < 150; index++) ids.push(await bench.run('Small'))
  const page = async (request: object) => {
    const { contexts, next } = await bench.listPage(request)
    return [contexts.map(({ id }) => id), next]
  }
  expect(await page({ limit: 100 })).toEqual([ids.slice(0, 100), ids[99]])
  expect(await page({ limit: 100, after: ids[99] })).toEqual([ids.slice(100), null])
  expect(await page({ limit: 40, page: 3 })).toEqual([ids.slice(120), null])
  expect(await page({ limit: 150 })).toEqual([ids, ids[149]])
  expect(await page({ limit: 33, page: 1 })).toEqual([ids.slice(33, 66), ids[65]])
})

test('a service that is secured now closes the contexts that it started before', async ({ onTestFinished }) => {
  const bench = await openBench({ 'p/Service.flux': WAITING, 'p/Other.flux': WAITING })
  const [closed, open] = [await bench.run('Service'), await bench.run('Other')]
  expect((await bench.runtime.api(ANONYMOUS).listContexts({})).map(({ id }) => id)).toEqual([closed, open])
  await writeFile(join(bench.folder, 'actors/p/Service.flux'), JSON.stringify({ ...WAITING, secured: true }))
  const again = await bench.restart()
  onTestFinished(() => again.close())
  const anyone = again.runtime.api(ANONYMOUS)
  for (const call of [
    anyone.getContext({ contextId: closed }), anyone.getStateContext({ contextId: closed, stateName: 'wait' }), anyone.getDefinition({ contextId: closed }),
    anyone.sendEvent({ contextId: closed, event: 'go' }), anyone.addTags({ contextId: closed, tag: ['x'] }), anyone.terminate({ contextId: closed }),
  ]) await expect(call).rejects.toMatchObject({ failure: { kind: 'unauthorized' } })
  expect((await anyone.listContexts({})).map(({ id }) => id)).toEqual([open])
  expect((await anyone.sendEvent({ event: 'go' })).transitions).toEqual([{ contextId: open, state: 'wait' }])
  expect(await again.listContexts({})).toHaveLength(2)
})
