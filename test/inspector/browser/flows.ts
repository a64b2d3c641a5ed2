// What people do on the pages, in a browser, with scripts and without.
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { sharedInspected, type Inspected } from './inspected.ts'

let inspected: Inspected
beforeAll(async () => {
  inspected = await sharedInspected()
})

const idOf = (page: Page): number => Number(/contexts\/(\d+)/.exec(page.url())?.[1])

describe.each([
  { title: 'with scripts', javaScriptEnabled: true },
  { title: 'without scripts', javaScriptEnabled: false },
])('$title', ({ javaScriptEnabled }) => {
  let page: Page
  beforeAll(async () => {
    page = await inspected.page({ javaScriptEnabled })
    page.setDefaultTimeout(10_000)
  })
  afterEach(async () => {
    await page.goto('about:blank')
  })

  const sentence = () => page.locator('.sentence').innerText()
  const statusShown = () => page.locator('.head .status').innerText()

  test('starts a service by its form, and sends it an event, a refused one first', async () => {
    await page.goto('/')
    expect(new URL(page.url()).pathname).toBe('/inspector')
    await page.getByRole('link', { name: 'Approval', exact: true }).click()
    const start = page.locator('form[action$="/start"]')
    await start.getByLabel('amount').fill('0')
    await start.getByLabel('lines').fill('[{"a": 1}, not JSON')
    await start.getByLabel('level').selectOption('high')
    await start.getByRole('button', { name: 'Start', exact: true }).click()
    expect(await page.locator('#start-5-wrong').innerText()).toBe('must be JSON')
    expect(await start.getByLabel('lines').inputValue()).toBe('[{"a": 1}, not JSON')
    await start.getByLabel('lines').fill('[{"a": 1}]')
    await start.getByRole('button', { name: 'Start', exact: true }).click()
    expect(await start.locator('.wrong').allInnerTexts()).toEqual([
      expect.stringContaining('required'),
      expect.stringContaining('1'),
    ])
    expect(await start.getByLabel('amount').getAttribute('aria-invalid')).toBe('true')
    await start.getByLabel('request').fill('a desk')
    await start.getByLabel('amount').fill('7')
    await start.getByLabel('urgent').selectOption('true')
    await start.getByLabel('tags').fill('one, two')
    await start.getByRole('button', { name: 'Start', exact: true }).click()

    const id = idOf(page)
    expect(await statusShown()).toBe('WAITING_UNTIL')
    expect(await sentence()).toMatch(
      /^Waits for approve or reject in WaitForDecision, since \d\d:\d\d:\d\d; gives up in (59 min|1 h)/,
    )
    const { input, tags } = await inspected.context(id)
    expect(tags.toSorted()).toEqual(['one', 'two'])
    expect(input.gloopProperties.map(({ name, value }) => [name, value])).toEqual(
      expect.arrayContaining([
        ['amount', 7],
        ['urgent', true],
        ['level', 'high'],
        ['lines', [{ a: 1 }]],
      ]),
    )

    const approve = page.locator('form', { has: page.getByRole('button', { name: 'Send approve' }) })
    await approve.getByLabel('amount').fill('many')
    const [refused] = await Promise.all([
      page.waitForResponse((response) => response.request().method() === 'POST'),
      approve.getByRole('button', { name: 'Send approve', exact: true }).click(),
    ])
    expect(refused.status()).toBe(422)
    expect(await approve.getByLabel('amount').inputValue()).toBe('many')
    for (const [label, fault] of [
      ['by', 'is required'],
      ['amount', 'must be a number'],
    ] as const) {
      const field = approve.getByLabel(label)
      expect(await field.getAttribute('aria-invalid')).toBe('true')
      const described = (await field.getAttribute('aria-describedby'))?.split(' ').at(-1)
      expect(await approve.locator(`[id="${described}"]`).innerText()).toBe(fault)
    }
    expect((await inspected.context(id)).status).toBe('WAITING_UNTIL')

    await approve.getByLabel('by').fill('Ada')
    await approve.getByLabel('amount').fill('')
    await approve.getByRole('button', { name: 'Send approve', exact: true }).click()
    expect(await statusShown()).toBe('COMPLETED')
    expect(await sentence()).toMatch(/^Completed in Approved at /)
    expect(await page.locator('.line.taken title').allTextContents()).toEqual(['WaitForDecision → Approved: approve'])
    expect((await inspected.context(id)).currentState).toBe('Approved')
  })

  test('finds one that failed, tells why and where, and shows its snapshot', async () => {
    const id = await inspected.startFailing('no such carrier')
    await page.goto('/inspector/contexts')
    const filters = page.getByRole('search', { name: 'Filters' })
    await filters.getByLabel('status').selectOption('FAILED')
    await filters.getByLabel('service').fill('Failing')
    await filters.getByRole('button', { name: 'Filter' }).click()
    expect(new URL(page.url()).searchParams.get('status')).toBe('FAILED')
    await filters.getByText('More').click()
    await filters.getByLabel('startedAfter').fill('2020-01-01')
    await filters.getByRole('button', { name: 'Filter' }).click()
    expect(await filters.getByLabel('startedAfter').inputValue()).toBe('2020-01-01')
    expect(await filters.getByLabel('status').inputValue()).toBe('FAILED')
    await page.getByRole('link', { name: String(id), exact: true }).click()
    expect(await sentence()).toMatch(/^Failed in Charge at [\d:]+: no such carrier \(functions\.ts:3:\d+\)$/)
    await page.getByText('Where it failed').click()
    expect(await page.locator('.head pre').innerText()).toMatch(/at inner \(functions\.ts:3:[^]*at .*functions\.ts:6:/)
    await page.getByRole('link', { name: 'Snapshot' }).click()
    expect(JSON.parse(await page.locator('[data-part=tab] pre').innerText())).toMatchObject({
      value: expect.anything(),
    })
    await page.getByRole('link', { name: 'JSON', exact: true }).click()
    expect(JSON.parse(await page.locator('[data-part=tab] pre').innerText())).toMatchObject({ id, status: 'FAILED' })
  })

  test('terminates those that were chosen, then all that match, and shows how far it is', async () => {
    const tag = `many-${javaScriptEnabled}`
    const ids: number[] = []
    for (let count = 0; count < 6; count++) ids.push(await inspected.start('Approval', { request: 'x', team: tag }))
    const statuses = async () => (await Promise.all(ids.map((id) => inspected.context(id)))).map(({ status }) => status)

    await page.goto(`/inspector/contexts?tag=${tag}`)
    for (const id of ids.slice(0, 2)) await page.getByLabel(`Choose ${id}`).check()
    await page.getByRole('button', { name: 'Terminate …' }).click()
    expect(await page.locator('form').getByText('2 contexts that you chose').count()).toBe(1)
    expect(await page.getByText(`all 6 contexts that match: tag=${tag}`).count()).toBe(1)
    expect(await statuses()).not.toContain('TERMINATED')
    await page.getByRole('button', { name: 'Terminate them' }).click()
    await page.getByRole('heading', { name: 'Terminate 2 contexts' }).waitFor()
    await page.locator('[data-ended=true]').waitFor()
    expect(await page.getByText('2 of 2 done, 2 changed, 0 failed').count()).toBe(1)
    expect(await statuses()).toEqual([...Array(2).fill('TERMINATED'), ...Array(4).fill('WAITING_UNTIL')])

    await page.goto(`/inspector/contexts?tag=${tag}`)
    await page.getByRole('button', { name: 'Terminate …' }).click()
    await page.getByRole('button', { name: 'Terminate them' }).click()
    await page.getByRole('heading', { name: 'Terminate 4 contexts' }).waitFor()
    await page.locator('[data-ended=true]').waitFor()
    expect(await statuses()).toEqual(Array(6).fill('TERMINATED'))
  })

  test('pauses one, which keeps its event until it is resumed', async () => {
    const id = await inspected.start('Approval', { request: 'x' })
    await page.goto(`/inspector/contexts/${id}`)
    await page.getByRole('button', { name: 'Pause' }).click()
    expect(await page.locator('.head .paused').innerText()).toBe('paused')
    expect(await sentence()).toMatch(/^Paused: nothing goes on until it is resumed\. Waits for .*; would give up in /)
    const approve = page.locator('form', { has: page.getByRole('button', { name: 'Send approve' }) })
    await approve.getByLabel('by').fill('Ada')
    await approve.getByRole('button', { name: 'Send approve', exact: true }).click()
    expect(await sentence()).toMatch(/until it is resumed, and it keeps an event\./)
    expect((await inspected.context(id)).currentState).toBe('WaitForDecision')
    await page.goto(`/inspector/contexts?paused=true`)
    expect(await page.locator(`#context-${id} .paused`).count()).toBe(1)
    await page.goto(`/inspector/contexts/${id}`)
    await page.getByRole('button', { name: 'Resume', exact: true }).click()
    await expect.poll(async () => (await inspected.context(id)).currentState).toBe('Approved')
    expect((await inspected.context(id)).paused).toBe(false)
  })

  test('retries one that failed, in another state, a refused one first; and makes the next attempt now', async () => {
    const id = await inspected.startFailing('no')
    await page.goto(`/inspector/contexts/${id}`)
    await page.getByRole('button', { name: 'Retry', exact: true }).click()
    await expect
      .poll(async () => (await inspected.context(id)).executionHistory.at(-1))
      .toMatchObject({ event: '$retry' })
    await expect.poll(async () => (await inspected.context(id)).status).toBe('FAILED')
    await page.goto(`/inspector/contexts/${id}`)
    expect(await page.getByRole('cell', { name: '$retry' }).count()).toBe(1)
    await page.getByText('Retry otherwise …').click()
    const form = page.getByRole('form', { name: 'Retry otherwise' })
    await form.getByLabel('Inputs of that state').fill('{ no JSON')
    await form.getByRole('button', { name: 'Retry this way', exact: true }).click()
    expect(await form.locator('.wrong').innerText()).toBe('must be a JSON object')
    expect(await form.getByLabel('Inputs of that state').inputValue()).toBe('{ no JSON')
    await form.getByLabel('Inputs of that state').fill('')
    await form.getByLabel('Enter a state').selectOption('Done')
    await form.getByRole('button', { name: 'Retry this way', exact: true }).click()
    await expect.poll(async () => (await inspected.context(id)).status).toBe('COMPLETED')

    const late = await inspected.start('Retry', { message: 'no' })
    await expect.poll(async () => (await inspected.context(late)).step?.attempt).toBe(2)
    await page.goto(`/inspector/contexts/${late}`)
    expect(await page.getByText('attempt 2 of 5 comes next').count()).toBe(1)
    await page.getByRole('button', { name: 'Try now', exact: true }).click()
    await expect.poll(async () => (await inspected.context(late)).step?.attempt).toBe(3)
  })

  test('retries those of a list that failed, shows why some could not, and lists what was done', async () => {
    const tag = `retried-${javaScriptEnabled}`
    const ids: number[] = []
    for (let count = 0; count < 3; count++) ids.push(await inspected.startFailing('no', [tag]))
    await page.goto(`/inspector/contexts?tag=${tag}`)
    expect(await page.getByRole('button', { name: 'Retry …' }).count()).toBe(0)
    await page.goto(`/inspector/contexts?tag=${tag}&status=FAILED`)
    await page.getByRole('button', { name: 'Retry …' }).click()
    await page.getByText('Otherwise …').click()
    await page.getByLabel('Enter a state').fill('Nowhere')
    await page.getByRole('button', { name: 'Retry them' }).click()
    await page.getByRole('heading', { name: 'Retry 3 contexts' }).waitFor()
    await page.locator('[data-ended=true]').waitFor()
    expect(await page.getByText('3 of 3 done, 0 changed, 3 failed').count()).toBe(1)
    expect(await page.locator('tbody tr').count()).toBe(3)
    await page.getByRole('link', { name: 'Operations' }).click()
    expect(await page.locator('tbody tr').first().innerText()).toMatch(/done[^]*Retry 3 contexts[^]*status=FAILED/)
    await page.goto('/inspector/contexts')
    await page.getByRole('link', { name: 'Operations' }).click()
    await page.getByRole('link', { name: 'Retry 3 contexts' }).first().click()
    await page.getByRole('heading', { name: 'Retry 3 contexts' }).waitFor()
  })

  test('rehearses an event, and sends it as long as nothing else has happened', async () => {
    const id = await inspected.start('Approval', { request: 'x' })
    const rehearse = async () => {
      await page.goto(`/inspector/contexts/${id}`)
      const approve = page.locator('form', { has: page.getByRole('button', { name: 'Send approve', exact: true }) })
      await approve.getByLabel('by').fill('Ada')
      await approve.getByRole('button', { name: 'Rehearse: Send approve' }).click()
      await page.getByRole('heading', { name: 'Rehearsal: Send approve' }).waitFor()
    }
    await rehearse()
    expect(await sentence()).toBe(`Approval ${id} would go from WaitForDecision to Approved, and complete there.`)
    expect(await page.locator('.line.taken title').allTextContents()).toEqual(['WaitForDecision → Approved: approve'])
    await page.getByLabel('Rehearse as if nothing else happened for').selectOption('1 d')
    await page.getByRole('button', { name: 'Rehearse: Send approve' }).click()
    await page.waitForLoadState()
    expect(await page.getByLabel('Rehearse as if nothing else happened for').inputValue()).toBe('86400000')
    expect((await inspected.context(id)).version).toBe(1)
    await inspected.post(`/flux-api/context/tag?contextId=${id}&tag=seen`, {})
    await page.getByRole('button', { name: 'Send approve', exact: true }).click()
    expect(await page.getByRole('alert').first().innerText()).toContain('Nothing was done')
    expect((await inspected.context(id)).currentState).toBe('WaitForDecision')
    await rehearse()
    await page.getByRole('button', { name: 'Send approve', exact: true }).click()
    expect(await statusShown()).toBe('COMPLETED')
  })

  test('tags one, and terminates it after asking', async () => {
    const id = await inspected.start('Approval', { request: 'x' })
    await page.goto(`/inspector/contexts/${id}`)
    await page.getByLabel('Tag', { exact: true }).fill('urgent & more')
    await page.getByRole('button', { name: 'Add tag' }).click()
    expect((await inspected.context(id)).tags).toContain('urgent & more')
    await page.getByRole('link', { name: 'urgent & more' }).click()
    await page.getByRole('link', { name: String(id), exact: true }).click()
    await page.getByText('Terminate …').click()
    await page.getByRole('button', { name: 'Terminate', exact: true }).click()
    expect(await statusShown()).toBe('TERMINATED')
    expect(await page.getByRole('heading', { name: 'It can take' }).count()).toBe(0)
  })
})

test('on a phone the diagram begins at the present state', async () => {
  const page = await inspected.page({ viewport: { width: 390, height: 844 } })
  const id = await inspected.start('Approval', { request: 'x' })
  await inspected.post(`/flux-api/event?contextId=${id}`, { event: 'approve', input: { by: 'Ada' } })
  await page.goto(`/inspector/contexts/${id}`)
  const [state, frame] = [page.locator('.diagram .here'), page.locator('.diagram')]
  await expect.poll(() => frame.evaluate(({ scrollLeft }) => scrollLeft)).toBeGreaterThan(0)
  const [inner, outer] = [await state.boundingBox(), await frame.boundingBox()]
  const [left, right] = [inner?.x ?? 0, (inner?.x ?? 0) + (inner?.width ?? 0)]
  expect(left).toBeGreaterThanOrEqual(outer?.x ?? 0)
  expect(right).toBeLessThanOrEqual((outer?.x ?? 0) + (outer?.width ?? 0))
})

test('the diagram fits its place, says how many states it has, and opens large', async () => {
  const page = await inspected.page()
  const id = await inspected.start('Approval', { request: 'x' })
  await page.goto(`/inspector/contexts/${id}`)
  const [frame, caption] = [page.locator('.diagram'), page.locator('#diagram figcaption')]
  const widths = () => frame.evaluate(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])
  const [inside = 0, width = 0] = await widths()
  expect(inside).toBeLessThanOrEqual(width)
  expect(await caption.innerText()).toContain(`${await frame.locator('.state').count()} states`)
  await page.getByRole('link', { name: 'Open large' }).click()
  await expect.poll(async () => (await widths())[1]).toBeGreaterThan(width)
  await page.getByRole('link', { name: 'Close' }).click()
  await expect.poll(async () => (await widths())[1]).toBe(width)
})

test('keys lead to pages, and times are told in the zone of the reader', async () => {
  const page = await inspected.page()
  page.setDefaultTimeout(10_000)
  await page.goto('/inspector')
  await page.keyboard.press('g')
  await page.keyboard.press('c')
  await page.waitForURL('**/inspector/contexts')
  await page.keyboard.press('/')
  await page.keyboard.type('1')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/inspector/contexts/1')
  expect(await page.locator('time').first().getAttribute('title')).not.toMatch(/Z$/)
})
