// Pages stay as the server is: moves appear without a reload, nothing moves under the pointer, and a page stays small.
import type { Route } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { sharedInspected, type Inspected } from './inspected.ts'

let inspected: Inspected
beforeAll(async () => {
  inspected = await sharedInspected()
})

const start = async () => {
  const response = await inspected.post('/flux-api/examples/execute', { fluxName: 'ApprovalWithTimeout', input: {} })
  const { contextId }: { contextId: number } = JSON.parse(await response.text())
  return contextId
}
const send = (id: number, event: string) =>
  inspected.post(`/flux-api/event?contextId=${id}`, { event, input: { by: 'Ada' } })

const liveAt = async (path: string) => {
  const page = await inspected.page()
  await page.goto(path)
  await page.evaluate('globalThis.mark = 1')
  await page.getByText('live', { exact: true }).waitFor()
  return page
}

test('the page of a context moves with it, and its forms go when it has ended', async () => {
  const id = await start()
  const page = await liveAt(`/inspector/contexts/${id}`)
  expect(await page.locator('.sentence').innerText()).toContain('approve')
  await page.locator('input[name="input.note"]').first().fill('typed meanwhile')
  await send(id, 'approve')
  await page.locator('.sentence', { hasText: 'Completed' }).waitFor()
  expect(await page.locator('.head .status').innerText()).toBe('COMPLETED')
  // It was being typed in.
  expect(await page.locator('input[name="input.note"]').first().inputValue()).toBe('typed meanwhile')
  expect(await page.evaluate('globalThis.mark')).toBe(1)
  await page.close()
})

test('what changes before the stream is open is shown, too', async () => {
  const id = await start()
  const page = await inspected.page()
  const interfere = async (route: Route) => {
    await send(id, 'approve')
    await route.continue()
  }
  await page.route('**/inspector/stream?*', interfere, { times: 1 })
  await page.goto(`/inspector/contexts/${id}`)
  await page.locator('.sentence', { hasText: 'Completed' }).waitFor()
  await page.close()
})

test('the list has what was started, and stays small', async () => {
  const first = await start()
  const page = await liveAt('/inspector/contexts')
  const size = () => page.evaluate<number>('document.querySelectorAll("*").length')
  await page.mouse.move(5, 5)
  const second = await start()
  await page.locator(`#context-${second}`).waitFor()
  await send(first, 'reject')
  await page.locator(`#context-${first}`).waitFor({ state: 'detached' })
  await Promise.all(Array.from({ length: 60 }, start))
  await expect.poll(() => page.locator('tr[data-row]').count(), { timeout: 10_000 }).toBe(50)
  const before = await size()
  for (let times = 0; times < 6; times += 1) {
    const ids = await Promise.all(Array.from({ length: 20 }, start))
    await Promise.all(ids.map((id) => send(id, 'approve')))
  }
  const last = await start()
  await page.locator(`#context-${last}`).waitFor()
  expect(await size()).toBeLessThan(before * 1.1)
  expect(await page.evaluate('globalThis.mark')).toBe(1)
  await page.close()
})
