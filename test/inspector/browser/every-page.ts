// Every page with hostile data: it is shown as text, no script of it runs, nothing is wider than the screen of a phone, and
// axe finds nothing serious, light and dark.
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { sharedInspected, type Inspected } from './inspected.ts'
import { HOSTILE, HOSTILE_EVENT, HOSTILE_INPUT, HOSTILE_STATE, LONG } from './services.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const WIDE = { width: 1440, height: 900 }
const PHONE = { width: 390, height: 844 }

let inspected: Inspected
/** Address, and whether hostile text must be on it. */
let pages: ReadonlyMap<string, { readonly path: string; readonly shows: boolean }>
let page: Page
/** Faults that the browser told since the last check. */
const faults: string[] = []

beforeAll(async () => {
  inspected = await sharedInspected()
  const { start, post } = inspected
  const input = { text: HOSTILE, [HOSTILE_INPUT]: { [HOSTILE]: deep(30) }, [LONG]: LONG.repeat(20) }
  const hostile = await start('Hostile', input, [HOSTILE, 't'.repeat(200), 'a', 'b', 'c'])
  const moved = await start('Hostile', input)
  await post(`/flux-api/event?contextId=${moved}`, { event: HOSTILE_EVENT, input: { [HOSTILE_INPUT]: HOSTILE } })
  const failed = await start('Failing', { message: `${HOSTILE} ${LONG}` })
  const retried = await start('Retry', { message: `${HOSTILE} ${LONG}` })
  const waiting = await start('Approval', { request: LONG })
  const paused = await start('Hostile', input)
  await post(`/flux-api/context/pause?contextId=${paused}`, {})
  await post('/flux-api/operations', { filter: { tag: HOSTILE }, do: 'tag', with: { tags: ['seen'] } })
  for (const body of [{ text: HOSTILE }, { [HOSTILE]: LONG }]) await post('/api/hooked', body)
  await post('/api/hooked', [HOSTILE])
  const context = `/inspector/contexts/${hostile}`
  pages = new Map([
    ['services', at('/inspector', true)],
    ['a service', at('/inspector/services/own/Hostile', true)],
    ['a service with places', at('/inspector/services/examples/ApprovalWithTimeout')],
    ['contexts', at('/inspector/contexts?status=all', true)],
    [
      'filters',
      at(`/inspector/contexts?tag=${encodeURIComponent(HOSTILE)}&currentState=${encodeURIComponent(HOSTILE)}`),
    ],
    ['no context', at('/inspector/contexts?fluxName=Nothing')],
    ['a notice', at(`/inspector/deliveries?done=202&context=${hostile}&urlPath=${encodeURIComponent(HOSTILE)}`)],
    ['a context', at(context, true)],
    ['one that moved', at(`/inspector/contexts/${moved}`, true)],
    ['one that failed', at(`/inspector/contexts/${failed}`, true)],
    ['one that is tried again', at(`/inspector/contexts/${retried}`, true)],
    ['one that is paused', at(`/inspector/contexts/${paused}`, true)],
    ['operations', at('/inspector/operations', true)],
    ['one that waits', at(`/inspector/contexts/${waiting}`)],
    ['data', at(`${context}?tab=Data`, true)],
    ['a snapshot', at(`${context}?tab=Snapshot`, true)],
    ['a definition', at(`${context}?tab=Definition`, true)],
    ['JSON', at(`${context}?tab=JSON`, true)],
    ['XML', at(`${context}?tab=XML`)],
    ['a state', at(`${context}?state=${encodeURIComponent(HOSTILE_STATE)}`, true)],
    ['wake-ups', at('/inspector/wake-ups')],
    ['health', at('/inspector/health')],
    ['deliveries', at('/inspector/deliveries')],
    ['the log-in', at(`/inspector/login?next=${encodeURIComponent(HOSTILE)}`)],
    ['no page', at(`/inspector/contexts/${encodeURIComponent(HOSTILE)}`)],
  ])
  page = await inspected.page({ viewport: WIDE })
  page.setDefaultTimeout(10_000)
  page.on('pageerror', ({ message }) => faults.push(message))
  page.on('dialog', (dialog) => {
    faults.push('a dialog')
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    // That a page says 404 or 422 is no fault of its content.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) faults.push(message.text())
  })
})

const at = (path: string, shows = false) => ({ path, shows })

const deep = (depth: number): unknown => (depth === 0 ? HOSTILE : { [`k${depth}`]: [deep(depth - 1)] })

/** Through the protocol of the debugger: the policy of the page lets no other script in. */
async function axe(): Promise<string[]> {
  const { violations }: AxeResults = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`)
}

async function expectSound(shows: boolean): Promise<void> {
  expect(await page.title()).not.toBe('HIT')
  expect(await page.locator('main script, main img, [onerror]').count()).toBe(0)
  if (shows) expect(await page.locator('body').textContent()).toContain("<script>document.title='HIT'</script>")
  await page.evaluate(AXE)
  await page.setViewportSize(WIDE)
  await page.emulateMedia({ colorScheme: 'light' })
  expect(await axe()).toEqual([])
  await page.setViewportSize(PHONE)
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width)
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await axe()).toEqual([])
  expect(faults.splice(0)).toEqual([])
}

describe('a page is sound with hostile data:', () => {
  test.each([
    'services',
    'a service',
    'a service with places',
    'contexts',
    'filters',
    'no context',
    'a notice',
    'a context',
    'one that moved',
    'one that failed',
    'one that is tried again',
    'one that is paused',
    'operations',
    'one that waits',
    'data',
    'a snapshot',
    'a definition',
    'JSON',
    'XML',
    'a state',
    'wake-ups',
    'health',
    'deliveries',
    'the log-in',
    'no page',
  ])('%s', async (name) => {
    const { path, shows } = pages.get(name) ?? { path: '/none', shows: true }
    await page.goto(path)
    await expectSound(shows)
  })

  test('forms that were refused', async () => {
    await page.goto('/inspector/services/own/Hostile')
    await page.getByLabel(LONG).fill(HOSTILE)
    await page.locator(`textarea`).fill(`{ ${HOSTILE}`)
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    expect(await page.locator('.wrong').allInnerTexts()).toEqual(['must be JSON'])
    await expectSound(true)
  })

  test('an event with such a name is rehearsed and sent by its form', async () => {
    const id = await inspected.start('Hostile')
    await page.goto(`/inspector/contexts/${id}`)
    const [form] = await page.locator('form[action$="/events"]').all()
    await form?.locator('input[name^="input."]').fill(HOSTILE)
    await form?.getByRole('button', { name: 'Rehearse' }).click()
    await page.getByText('Nothing has happened yet').waitFor()
    await expectSound(true)
    await page.setViewportSize(WIDE)
    await page.locator('main form').getByRole('button', { name: /^Send/ }).click()
    await page.waitForLoadState()
    expect((await inspected.context(id)).currentState).toBe(LONG)
    await expectSound(true)
  })

  test('what asks before many are changed, and how far it is', async () => {
    await page.setViewportSize(WIDE)
    await page.goto(`/inspector/contexts?tag=${encodeURIComponent(HOSTILE)}`)
    await page.locator('input[name=id]').first().check()
    await page.getByLabel('Event for those chosen').fill(HOSTILE)
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await expectSound(true)
    await page.locator('input[name=scope][value=all]').check()
    await page.locator('main form').getByRole('button').click()
    await page.locator('[data-ended=true]').waitFor()
    await expectSound(true)
  })
})

test('a retry that was refused, and what asks before many are retried', async () => {
  await page.setViewportSize(WIDE)
  const failed = await inspected.startFailing(HOSTILE)
  await page.goto(`/inspector/contexts/${failed}`)
  await page.getByText('Retry otherwise …').click()
  await page.getByLabel('Inputs of that state').fill(HOSTILE)
  await page.getByRole('button', { name: 'Retry this way', exact: true }).click()
  await page.locator('.wrong').waitFor()
  await expectSound(true)
  await page.setViewportSize(WIDE)
  await page.goto('/inspector/contexts?status=all')
  await page.getByRole('button', { name: 'Retry …' }).click()
  await page.getByText('Otherwise …').click()
  await expectSound(false)
})

test('text that turns its direction turns nothing beside it', async () => {
  const failed = await inspected.startFailing('a\u202Eb')
  await page.setViewportSize(WIDE)
  await page.goto(`/inspector/contexts/${failed}`)
  const code = await page.locator('.sentence code').boundingBox()
  const place = await page.locator('.sentence .faint').boundingBox()
  expect(code?.width).toBeGreaterThan(0)
  expect(place?.x).toBeGreaterThanOrEqual((code?.x ?? 0) + (code?.width ?? 0) - 1)
})

test('with scripts that are switched off a page shows the same', async () => {
  const plain = await inspected.page({ javaScriptEnabled: false, viewport: PHONE })
  for (const name of ['services', 'a context', 'contexts']) {
    await plain.goto(pages.get(name)?.path ?? '')
    expect(await plain.locator('body').innerText()).toContain("<script>document.title='HIT'</script>")
    expect(await plain.locator('button.copy:visible, [data-all]:visible').count()).toBe(0)
  }
})
