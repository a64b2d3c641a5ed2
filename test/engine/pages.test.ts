// Lists: never more at once than fits, and nothing of what has been closed since.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ANONYMOUS } from '../../src/model/caller.ts'
import type { SelectQuery, Store, StoredContext } from '../../src/ports/store.ts'
import { openBench } from '../support/engine.ts'

const WAITING = {
  input: [{ name: 'text' }],
  states: [{ name: 'wait', waiting: true, transitions: [{ event: 'go', to: 'wait' }] }],
}

test('large contexts make pages that end early and lead on to all of them', async () => {
  const bench = await openBench({ 'p/Large.flux': WAITING })
  const ids: number[] = []
  for (let index = 0; index < 40; index++)
    ids.push(await bench.run('Large', { text: 'x'.repeat(index === 7 ? 9_000_000 : 900_000) }))
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

test('small contexts come as many as are asked for, and the last page says so', async () => {
  const bench = await openBench({ 'p/Small.flux': WAITING })
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

test('a service that is secured now closes the contexts that it started before', async () => {
  const bench = await openBench({ 'p/Service.flux': WAITING, 'p/Other.flux': WAITING })
  const [closed, open] = [await bench.run('Service'), await bench.run('Other')]
  expect((await bench.engine.api(ANONYMOUS).listContexts({})).map(({ id }) => id)).toEqual([closed, open])
  await writeFile(join(bench.folder, 'actors/p/Service.flux'), JSON.stringify({ ...WAITING, secured: true }))
  const again = await bench.restart()
  const anyone = again.engine.api(ANONYMOUS)
  for (const call of [
    anyone.getContext({ contextId: closed }),
    anyone.getStateContext({ contextId: closed, stateName: 'wait' }),
    anyone.getDefinition({ contextId: closed }),
    anyone.sendEvent({ contextId: closed, event: 'go' }),
    anyone.addTags({ contextId: closed, tag: ['x'] }),
    anyone.terminate({ contextId: closed }),
  ])
    await expect(call).rejects.toMatchObject({ failure: { kind: 'unauthorized' } })
  expect((await anyone.listContexts({})).map(({ id }) => id)).toEqual([open])
  expect((await anyone.sendEvent({ event: 'go' })).transitions).toEqual([{ contextId: open, state: 'wait' }])
  expect(await again.listContexts({})).toHaveLength(2)
})

/** A store whose lists pass through a hand. */
const listing =
  (through: (contexts: StoredContext[]) => StoredContext[]) =>
  (store: Store): Store =>
    new Proxy(store, {
      get(target, name) {
        if (name === 'select')
          return async (query: SelectQuery) => {
            const { contexts, rest } = await target.select(query)
            return { contexts: through([...contexts]), rest }
          }
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })

test('what a stranger passes over is not read, though services are secured, or have been since, and others have their names', async () => {
  let read = 0
  const wrap = listing((contexts) => {
    read += contexts.length
    return contexts
  })
  const bench = await openBench(
    {
      'p/Service.flux': WAITING,
      'q/Service.flux': WAITING,
      'p/Secret.flux': { ...WAITING, secured: true },
      'p/Other.flux': WAITING,
    },
    { wrap },
  )
  const open: number[] = []
  for (let index = 0; index < 60; index++) {
    await bench.run('Service')
    await bench.run('Secret')
    open.push(await bench.run('Service', undefined, { package: 'q' }), await bench.run('Other'))
  }
  await writeFile(join(bench.folder, 'actors/p/Service.flux'), JSON.stringify({ ...WAITING, secured: true }))
  const again = await bench.restart()
  const [anyone, before] = [again.engine.api(ANONYMOUS), read]
  expect((await anyone.listContexts({ page: 9, limit: 10 })).map(({ id }) => id)).toEqual(open.slice(90, 100))
  expect(read - before).toBe(10)
  expect((await anyone.listContexts({ page: 11, limit: 10 })).map(({ id }) => id)).toEqual(open.slice(110))
  expect(await anyone.listContexts({ page: 999_999_999, limit: 1000 })).toEqual([])
  expect((await anyone.listContexts({ fluxName: 'Service', page: 5, limit: 10 })).map(({ id }) => id)).toEqual(
    open.filter((_, index) => index % 2 === 0).slice(50),
  )
  expect(await again.listContexts({ page: 23, limit: 10 })).toHaveLength(10)
  expect(read - before).toBe(10 + 10 + 10 + 10)
})

test('a page ends before the first context that its reader has no room for, and has one at least', async () => {
  const bench = await openBench({ 'p/Small.flux': WAITING })
  const ids: number[] = []
  for (let index = 0; index < 20; index++) ids.push(await bench.run('Small'))
  const asked: number[] = []
  const page = await bench.listPage({ limit: 10, after: ids[1] }, async ({ id }) => {
    asked.push(id)
    return asked.length < 5
  })
  expect([page.contexts.map(({ id }) => id), page.next, asked]).toEqual([ids.slice(2, 6), ids[5], ids.slice(2, 7)])
  const alone = await bench.listPage({ limit: 10 }, () => false)
  expect([alone.contexts.map(({ id }) => id), alone.next]).toEqual([ids.slice(0, 1), ids[0]])
})

test('a page goes on when contexts of it are purged while it is read', async () => {
  const purged = new Set<number>()
  const wrap = listing((contexts) => contexts.filter(({ id }) => !purged.has(id)))
  const bench = await openBench({ 'p/Small.flux': WAITING }, { wrap })
  const ids: number[] = []
  for (let index = 0; index < 12; index++) ids.push(await bench.run('Small'))
  for (const id of ids.slice(1, 3)) purged.add(id)
  const page = async (request: object) => {
    const { contexts, next } = await bench.listPage(request)
    return [contexts.map(({ id }) => id), next]
  }
  expect(await page({ limit: 5 })).toEqual([[ids[0], ...ids.slice(3, 7)], ids[6]])
  expect(await page({ limit: 5, after: ids[6] })).toEqual([ids.slice(7), ids[11]])
  expect(await page({ limit: 5, after: ids[11] })).toEqual([[], null])
  expect(await page({ limit: 20 })).toEqual([[ids[0], ...ids.slice(3)], null])
})

test('a context whose record is damaged is left out, and the others are there', async () => {
  let damaged = 0
  const wrap = listing((contexts) =>
    contexts.map((context) =>
      context.id === damaged ? { ...context, parts: { ...context.parts, head: '{' } } : context,
    ),
  )
  const bench = await openBench({ 'p/Small.flux': WAITING }, { wrap })
  const ids = [await bench.run('Small'), await bench.run('Small'), await bench.run('Small')]
  damaged = ids[1] ?? 0
  expect((await bench.listContexts({})).map(({ id }) => id)).toEqual([ids[0], ids[2]])
  expect(bench.logged.filter(({ level }) => level === 'error')).toMatchObject([
    { message: `the stored record of context ${damaged} can't be read` },
  ])
})
