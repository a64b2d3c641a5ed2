// Makes the screenshots of the README: `npm run screenshots`. It starts a server with the examples, gives it some work, and
// shows what the inspector shows then.
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { cleanUp, placeFor, startServer } from '../support/server.ts'
import { launchChromium } from '../support/chromium.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const FOLDER = join(ROOT, 'test/inspector/screenshots')
const SIZE = { width: 1200, height: 820 }
const CUSTOMERS = ['Ada', 'Grace', 'Edsger', 'Barbara', 'Tony', 'Frances']

const order = (number: number, country = 'NL') => ({
  fluxName: 'orders.OrderProcess',
  input: {
    order: {
      id: `2026-${number}`,
      customer: { id: `c-${number % 7}`, name: CUSTOMERS[number % CUSTOMERS.length], country },
      items: [{ sku: number % 9 === 4 ? 'fig' : 'pear', quantity: 1, price: 5 }],
    },
  },
})

async function work(url: string): Promise<number> {
  const post = async (path: string, body: object): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${url}/flux-api/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return answer.json()
  }
  for (let number = 1; number <= 24; number += 1)
    await post('examples/execute', order(number, number % 11 === 3 ? 'Atlantis' : 'NL'))
  for (let number = 1; number <= 3; number += 1)
    await post('event', { event: 'paid', input: { amount: 20 }, tags: [`order-2026-${number}`] })
  for (const request of ['a day off', 'a new desk', 'a trip to Delft'])
    await post('examples/execute', { fluxName: 'ApprovalWithTimeout', input: { request }, tags: ['team-7'] })
  await post('examples/execute', { fluxName: 'ErrorHandling', input: {} })
  // Paid too little, so it enters its state again.
  await post('event', { event: 'paid', input: { amount: 1 }, tags: ['order-2026-6'] })
  const found = await fetch(`${url}/flux-api/contexts?tag=order-2026-6`)
  const [context] = (await found.json()) as { id: number }[]
  return context?.id ?? 1
}

const place = await placeFor({})
const program = join(ROOT, 'dist/cli/actorflux.js')
const server = await startServer({ program, actors: [join(ROOT, 'actors')], data: place.data })
const browser = await launchChromium()
try {
  const id = await work(server.url)
  await mkdir(FOLDER, { recursive: true })
  for (const { name, path, scheme } of [
    { name: 'context', path: `/inspector/contexts/${id}`, scheme: 'light' as const },
    { name: 'contexts', path: '/inspector/contexts?status=all', scheme: 'dark' as const },
  ]) {
    const page = await browser.newPage({ viewport: SIZE, colorScheme: scheme })
    await page.goto(server.url + path)
    await page.getByText('live', { exact: true }).waitFor()
    await page.screenshot({ path: join(FOLDER, `${name}.png`) })
    await page.close()
  }
} finally {
  await browser.close()
  await cleanUp()
}
