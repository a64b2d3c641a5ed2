// `actorflux types`: what it writes compiles under both ways to resolve modules, and makes mistakes errors of the compiler.
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { NO_TERMINAL } from '../cli/world.ts'
import { run } from '../../src/cli/run.ts'
import { buildClient, compile, type BuiltClient } from './built.ts'

const LONG = 'l'.repeat(150)

const FILES: { readonly [file: string]: object } = {
  'shop/models/Item.model': {
    name: 'Item',
    type: 'model',
    gloopProperties: [
      { name: 'name', type: 'string', required: true, allowNull: false },
      { name: 'parts', type: 'model', reference: 'models.Item', array: true },
    ],
  },
  'shop/orders.Order.flux': {
    comment: 'An order */ of a shop\nin two lines',
    input: [
      { name: 'item', type: 'model', reference: 'models.Item', required: true, allowNull: false },
      { name: 'serial', type: 'long' },
      { name: 'due', type: 'date', allowNull: false },
      { name: 'size', type: 'string', choices: ['small', 'big "one"'], allowNull: false },
      { name: 'lines', type: 'string', array: true, allowNull: false },
    ],
    output: [{ name: 'total', type: 'double' }],
    states: [
      {
        name: 'Open',
        waiting: true,
        input: [
          { name: 'amount', type: 'double', required: true, allowNull: false },
          { name: 'note', type: 'string' },
        ],
        transitions: [
          { event: 'paid', to: 'Paid' },
          { event: 'moved', to: 'Paid' },
          { event: 'tooLittle', to: 'Open', internal: true },
        ],
      },
      {
        name: 'Paid',
        waiting: true,
        input: [{ name: 'why', type: 'string' }],
        transitions: [
          { event: 'cancel', to: 'Done' },
          { event: 'moved', to: 'Done' },
        ],
      },
      { name: 'Done' },
    ],
  },
  'shop/Any.flux': {
    input: [{ name: 'what', type: 'string' }],
    states: [
      {
        name: 'Open',
        waiting: true,
        input: [{ name: 'n', type: 'integer', required: true, allowNull: false }],
        transitions: [{ event: '$else', to: 'Done' }],
      },
      { name: 'Done' },
    ],
  },
  'shop/Quiet.flux': {
    input: [],
    states: [{ name: 'Open', waiting: true, transitions: [{ event: 'go', to: 'Done' }] }, { name: 'Done' }],
  },
  [`shop/Odd-ünï_${LONG}.flux`]: {
    triggers: ['it\'s "on" \u2028 */ `${now}`'],
    input: [
      { name: 'class', type: 'string', required: true, allowNull: false },
      { name: 'größe', type: 'double' },
      { name: LONG, type: 'boolean' },
    ],
    states: [
      {
        name: 'Wait for "it" */',
        waiting: true,
        input: [
          { name: 'default', type: 'any' },
          { name: 'it', type: 'object', array: true },
        ],
        transitions: [
          { event: 'constructor', to: 'Done' },
          { event: 'über "alles" \\ \'x\'', to: 'Done' },
        ],
      },
      { name: 'Done' },
    ],
  },
}

const USE = `
import { createClient } from 'actorflux/client'
import type { Services } from './services.js'
const client = createClient<Services>({ url: 'http://localhost:1' })
export const order = client.service('shop/orders.Order')
const item = { name: 'a', parts: [{ name: 'b', parts: null }, { name: 'c', parts: [{ name: 'd' }] }] }
export const right = () => [
  order.execute({ item }),
  order.execute({ item, serial: 9007199254740993n, due: new Date(), size: 'small', lines: ['x'] }, { tags: ['t'], key: 'k' }),
  order.execute({ item, serial: '9007199254740993', due: '2030-01-01' }),
  order.send('paid', { contextId: 1, input: { amount: 1 }, ttl: 5 }),
  order.send('paid', { key: 'k', input: { amount: 1, note: null }, orStart: { input: { item } } }),
  order.send('cancel', { tags: ['t'] }),
  order.send('cancel', { contextId: 1, input: { why: 'so' }, wait: 5 }),
  order.send('moved', { contextId: 1, input: { amount: 1 } }),
  order.send('moved', { contextId: 1, input: { why: null } }),
  client.service('shop/Any').execute(),
  client.service('shop/Any').send('anything', { contextId: 1, input: { n: 1 } }),
  client.service('shop/Quiet').execute(undefined, { tags: ['t'] }),
  client.service('shop/Quiet').send('go', { contextId: 1 }),
  client.service('shop/Odd-ünï_${LONG}').send('über "alles" \\\\ \\'x\\'', { contextId: 1, input: { default: [1], it: [{}] } }),
  client.service('shop/Odd-ünï_${LONG}').send('constructor', { contextId: 1 }),
  createClient({ url: '' }).service('any/Name').send('any', { contextId: 1, input: { any: 1 } }),
  createClient({ url: '' }).service('any/Name').execute({ any: 1 }),
]
type Total = Services['shop/orders.Order']['output']['total']
export const total: Total = null as number | null
`

/** Each is an error of the compiler. */
const WRONG = [
  `client.service('shop/Nobody')`,
  `client.service('orders.Order')`,
  `order.send('payed', { contextId: 1, input: { amount: 1 } })`,
  `order.send('tooLittle', { contextId: 1, input: { amount: 1 } })`,
  `order.send('paid', { contextId: 1 })`,
  `order.send('paid', { contextId: 1, input: {} })`,
  `order.send('paid', { contextId: 1, input: { amount: '1' } })`,
  `order.send('paid', { contextId: 1, input: { amount: null } })`,
  `order.send('paid', { contextId: 1, input: { amount: 1, nota: 'x' } })`,
  `order.send('moved', { contextId: 1 })`,
  `order.send('paid', { input: { amount: 1 } })`,
  `order.send('paid', { contextId: 1, key: 'k', input: { amount: 1 } })`,
  `order.send('paid', { contextId: '1', input: { amount: 1 } })`,
  `order.send('paid', { key: 'k', input: { amount: 1 }, orStart: {} })`,
  `order.execute()`,
  `order.execute({})`,
  `order.execute({ item: { name: null } })`,
  `order.execute({ item: { name: 'a', parts: [{ nama: 'b' }] } })`,
  `order.execute({ item, size: 'medium' })`,
  `order.execute({ item, items: 1 })`,
  `order.execute({ item, lines: [1] })`,
  `order.execute({ item, lines: null })`,
  `client.service('shop/Any').send('anything', { contextId: 1 })`,
  `client.service('shop/Any').execute({ what: 1 })`,
  `client.service('shop/Quiet').send('go', { contextId: 1, input: { x: 1 } })`,
  `client.service('shop/Quiet').execute({ x: 1 })`,
  `client.execute({ fluxName: 'Order' })`,
  `client.sendEvent({ contextId: 1 })`,
]

let built: BuiltClient
let out: string[]
let code: number
beforeAll(async () => {
  built = await buildClient()
  for (const [file, content] of Object.entries(FILES)) {
    const path = join(built.folder, 'actors', file)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, JSON.stringify(content))
  }
  out = []
  const world = {
    ...NO_TERMINAL,
    env: {},
    out: (line: string) => out.push(line),
    err: (line: string) => out.push(line),
  }
  code = await run(['types', join(built.folder, 'actors'), '--out', join(built.folder, 'services.ts')], world)
  await writeFile(join(built.folder, 'package.json'), JSON.stringify({ type: 'module' }))
  const wrong = WRONG.map((line) => `  // @ts-expect-error\n  ${line}\n`).join('')
  const misspelt = `import { order } from './use.js'\norder.send('payed', { contextId: 1 })\n`
  await writeFile(join(built.folder, 'misspelt.ts'), misspelt)
  await writeFile(join(built.folder, 'use.ts'), `${USE}\nexport const wrong = () => {\n${wrong}}\n`)
})
afterAll(() => built.remove())

test('the command writes the file', async () => {
  expect(out.join('\n')).toMatch(/^4 services: .*services\.ts$/)
  expect(code).toBe(0)
  const text = await readFile(join(built.folder, 'services.ts'), 'utf8')
  expect(text).toContain('export type Services = {')
  expect(text).toContain('   * An order *\\/ of a shop\n   * in two lines\n')
})

const typesOf = async (...args: string[]) => {
  const lines: { out: string[]; err: string[] } = { out: [], err: [] }
  const world = {
    ...NO_TERMINAL,
    env: {},
    out: (line: string) => lines.out.push(line),
    err: (line: string) => lines.err.push(line),
  }
  return { code: await run(['types', ...args], world), ...lines }
}

describe('the command', () => {
  test('writes to standard output what it writes to a file', async () => {
    const { code: exit, out: text, err } = await typesOf(join(built.folder, 'actors'))
    expect({ exit, err }).toEqual({ exit: 0, err: [] })
    expect(`${text.join('\n')}\n`).toBe(await readFile(join(built.folder, 'services.ts'), 'utf8'))
  })

  test('writes nothing else to standard output, whatever modules print', async () => {
    const folder = join(built.folder, 'printing')
    await mkdir(join(folder, 'p'), { recursive: true })
    await writeFile(join(folder, 'p/code.mjs'), 'console.log("loaded"); export const f = () => 1')
    const action = { type: 'invokeCode', className: 'code', methodName: 'f' }
    await writeFile(join(folder, 'p/A.flux'), JSON.stringify({ states: [{ name: 'S', action }] }))
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [inject('program'), 'types', folder])
    expect(stdout).toMatch(/^\/\/ The services/)
    expect(stdout).not.toContain('loaded')
    expect(stderr).toContain('loaded')
  })

  test('writes nothing where a service has a fault, or there is none', async () => {
    const folder = join(built.folder, 'faulty')
    await mkdir(join(folder, 'p'), { recursive: true })
    expect(await typesOf(folder)).toMatchObject({ code: 1, out: [], err: [expect.stringContaining('no service')] })
    await writeFile(join(folder, 'p/Bad.flux'), '{"states":[]}')
    expect(await typesOf(folder)).toMatchObject({ code: 1, out: [], err: [expect.stringContaining('p/Bad.flux')] })
  })

  test.each([[], ['a', 'b'], ['a', '--to', 'b']])('refuses %j %j %j', async (...args) => {
    expect(await typesOf(...args)).toMatchObject({ code: 2, out: [] })
  })

  test('tells where it can not write', async () => {
    const given = await typesOf(join(built.folder, 'actors'), '--out', join(built.folder, 'no/such/folder.ts'))
    expect(given).toMatchObject({ code: 1, out: [], err: [expect.stringContaining('ENOENT')] })
  })
})

describe.each([
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
])('under $moduleResolution', (resolution) => {
  test.each([
    { lib: ['es2023', 'dom', 'dom.iterable'], types: [] },
    { lib: ['es2023'], types: ['node'], typeRoots: [resolve(import.meta.dirname, '../../node_modules/@types')] },
  ])('right uses compile, wrong ones do not, with $lib', async (platform) => {
    const config = join(built.folder, `tsconfig.${resolution.moduleResolution}.json`)
    const compilerOptions = {
      ...resolution,
      ...platform,
      target: 'es2023',
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noEmit: true,
      skipLibCheck: false,
    }
    await writeFile(config, JSON.stringify({ compilerOptions, files: ['use.ts', 'services.ts'] }))
    expect(await compile('-p', config)).toBe('')
  })
})

test('the error for a wrong event names the events', async () => {
  const config = join(built.folder, 'tsconfig.misspelt.json')
  const compilerOptions = { module: 'nodenext', target: 'es2023', strict: true, noEmit: true, skipLibCheck: true }
  await writeFile(config, JSON.stringify({ compilerOptions, files: ['misspelt.ts'] }))
  expect(await compile('-p', config)).toMatch(/'"payed"' is not assignable to .* '"cancel" \| "moved" \| "paid"'/)
})
