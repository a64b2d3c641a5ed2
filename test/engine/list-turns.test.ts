// Lists that are gathered at once go on one after the other, so that other requests are served in between.
import { expect, test } from 'vitest'
import { ListTurns } from '../../src/engine/webhooks/list-turns.ts'

test('no two lists go on in the same turn of the event loop, and none waits longer than the others', async () => {
  let loop = 0
  let isOver = false
  const count = () => {
    loop += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const turns = new ListTurns()
  const went: { list: number; loop: number }[] = []
  const lists = Array.from({ length: 8 }, async (_, list) => {
    for (let stride = 0; stride < 3; stride += 1) {
      await turns.next()
      went.push({ list, loop })
    }
  })
  await Promise.all(lists)
  isOver = true
  expect(new Set(went.map((one) => one.loop)).size).toBe(24)
  expect(went.map(({ list }) => list)).toEqual([0, 1, 2].flatMap(() => [0, 1, 2, 3, 4, 5, 6, 7]))
})
