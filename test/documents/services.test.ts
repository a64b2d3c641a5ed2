// The services, lines and functions that the documents show are valid: they load without a fault or a warning, and run.
import { execFile } from 'node:child_process'
import { symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, expect, inject, test } from 'vitest'
import { checkServices } from '../../src/main.ts'
import { readSettings } from '../../src/settings.ts'
import { ACTORS } from '../examples/examples.ts'
import { openSuite, type ScenarioResult } from '../../src/testing/scenario/suite.ts'
import { cleanUp, placeFor, startServer } from '../support/server.ts'
import { isFile, readDocuments, withBlock, type Block } from './documents.ts'
import { silent } from '../support/silent.ts'

const blocks = (await readDocuments()).flatMap((document) => document.blocks)
const inLanguage = (language: string) => blocks.filter((block) => block.language === language)

afterEach(cleanUp)

test('services load, alone and with their functions', async () => {
  let files = {}
  let loads = 0
  for (const block of blocks.filter(isFile)) {
    files = withBlock(files, block)
    // The function of a service is shown before the service calls it.
    if (block.language !== 'json') continue
    expect((await load(files)).report).toEqual([])
    loads += 1
  }
  expect(loads).toBe(8)
  const { services } = await load(files)
  const {
    actors: [folder = ''],
  } = await placeFor(files)
  const suite = await openSuite({ folders: [folder], within: null, filter: '' })
  const results: ScenarioResult[] = []
  for await (const result of suite.run()) results.push(result)
  suite.close()
  expect(results).toMatchObject([{ service: 'shop/Refund', ok: true, failure: null }])
  expect(services.map(({ fluxName }) => fluxName).sort()).toEqual(['Approval', 'Hello', 'Refund'])
})

test('all other JSON is lines, keys of an action, or a service', async () => {
  const others = inLanguage('json').filter(({ file }) => file === null)
  const files = others.map((block, index) => [`others/Service${index}.flux`, wrapped(block)] as const)
  const { services, report } = await load({ ...Object.fromEntries(files), ...CALLED })
  expect(report.filter(({ reason }) => !reason.startsWith('there is no secret '))).toEqual([])
  expect(services.length).toBe(12)
})

/** Programs that use the server, and not the runtime. */
const isClient = ({ text }: Block): boolean => text.includes("'actorflux/client'")
const programs = inLanguage('ts').filter(({ file }) => file === null)

test('programs that use actorflux in process run', async () => {
  const inProcess = programs.filter((block) => !isClient(block))
  expect(inProcess.length).toBe(2)
  for (const { text } of inProcess) {
    const { folder } = await placeFor({})
    await symlink(ACTORS, join(folder, 'actors'))
    expect(await outputOf(text, folder)).toContain('at its end')
  }
}, 60_000)

test('programs that use the client run', async () => {
  const clients = programs.filter(isClient)
  expect(clients.length).toBe(2)
  const place = await placeFor({})
  const { url } = await startServer({ program: inject('program'), ...place, actors: [ACTORS] })
  const [first = '', second = ''] = clients.map(({ text }) => text.replaceAll('http://localhost:8080', url))
  expect(await outputOf(first, place.folder)).toContain('invalid input: /input/by is required\n1 COMPLETED\nat its end')
  const shown = await outputOf(second, place.folder)
  expect(shown).toContain('{ done: true, lines: 3, ok: 3, failed: 0 }')
  expect(shown).toContain('at its end')
}, 60_000)

const built = (path: string) => pathToFileURL(join(dirname(inject('plainProgram')), '..', path)).href

/** What the program prints. */
async function outputOf(text: string, folder: string): Promise<string> {
  const program = text
    .replaceAll("'actorflux/client'", `'${built('client/client.js')}'`)
    .replaceAll("'actorflux/test'", `'${built('testing/runtime.js')}'`)
    .replaceAll("'actorflux'", `'${built('main.js')}'`)
  const words = ['--input-type=module', '--eval', `${program}\nconsole.log('at its end')`]
  const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: folder })
  return stdout
}

async function load(files: { readonly [path: string]: unknown }) {
  const {
    actors: [folder = ''],
  } = await placeFor(files)
  return checkServices(readSettings({ ACTORFLUX_ACTORS: folder }), { log: silent, env: SECRETS })
}

/** What the parts of services call. */
const CALLED = {
  'others/functions.ts': 'export const run = () => 1',
  'others/mail.ts': 'export const remind = () => 1',
  'others/Child.flux': {
    input: [{ name: 'order', type: 'any' }],
    output: [{ name: 'answer' }],
    states: [{ name: 'end' }],
  },
}

/** The secrets that examples name. */
const SECRETS = {
  ACTORFLUX_SECRET_SHOP_API: 'x',
  ACTORFLUX_SECRET_STRIPE_SIGNING: 'x',
  ACTORFLUX_SECRET_SHIPPING: 'x',
}

/** A service around what is only a part of one. */
function wrapped({ text }: Block): object {
  if (text.includes('"states"')) return Object(JSON.parse(text))
  const part: unknown = JSON.parse(text.startsWith('"') ? `{${text}}` : text)
  const call = { type: 'invokeCode', className: 'functions', methodName: 'run' }
  if (text.includes('"urlPath"')) return { webhooks: [part], states: [{ name: 'first' }] }
  const list = text.includes('$secrets') ? { ...call, inputs: part } : { lines: part }
  const whole = text.includes('"type": "invokeFlux"') ? {} : call
  const action = Array.isArray(part) ? list : { ...whole, ...Object(part) }
  return {
    input: [{ name: 'order', type: 'any' }, { name: 'name' }],
    output: ['first', 'note', 'total', 'answer'].map((name) => ({ name, type: 'any' })),
    states: [{ name: 'first', action }],
  }
}
