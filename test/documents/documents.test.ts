// What the documents say about files, settings, problems, examples and commands is so.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CALL_LIST } from '../../src/api/calls.ts'
import { EXECUTES, MOVE_KINDS, SEND_EVENTS, STREAM_MOVES } from '../../src/api/streams.ts'
import { DELIVERY_OUTCOMES } from '../../src/api/webhooks.ts'
import { run } from '../../src/cli/run.ts'
import { WEBHOOK_SCHEME_NAMES } from '../../src/model/webhook-schemes/scheme.ts'
import { secretOf } from '../../src/settings/secrets.ts'
import { SETTINGS } from '../../src/settings.ts'
import { ACTORS, listExamples, PACKAGE, PROVIDERS } from '../examples/examples.ts'
import { filesIn, readDocuments, ROOT, type Document } from './documents.ts'
import { NO_TERMINAL } from '../cli/world.ts'

const documents = await readDocuments()
const links = documents.flatMap((document) => document.links)
const shell = documents
  .flatMap(({ blocks }) => blocks)
  .filter(({ language }) => language === 'sh' || language === 'console')

function documentAt(path: string): Document {
  const found = documents.find((document) => document.path === path)
  if (!found) throw new Error(`there is no ${path}`)
  return found
}

test('there are as many documents as subjects', () => {
  expect(documents.map(({ path }) => path)).toEqual([
    'README.md',
    'actors/README.md',
    'src/README.md',
    'src/cli/README.md',
    'src/http/README.md',
    'src/http/client.md',
    'src/http/events.md',
    'src/http/formats.md',
    'src/http/operations.md',
    'src/http/watching.md',
    'src/http/webhooks.md',
    'src/store/README.md',
    'test/README.md',
  ])
})

test('the first document is short', () => {
  expect(documentAt('README.md').text.split('\n').length).toBeLessThanOrEqual(250)
})

test('links lead to files that are there', () => {
  expect(links.length).toBeGreaterThan(50)
  expect(links.filter(({ path }) => !existsSync(join(ROOT, path)))).toEqual([])
})

test('links lead to headings that are there', () => {
  const named = links.filter(({ anchor }) => anchor !== null)
  expect(named.length).toBeGreaterThan(30)
  expect(named.filter(({ path, anchor }) => !documentAt(path).anchors.includes(anchor ?? ''))).toEqual([])
})

test('every document can be reached from the first', () => {
  const reached = new Set(documentAt('README.md').links.map(({ path }) => path))
  expect(documents.filter(({ path }) => path !== 'README.md' && !reached.has(path))).toEqual([])
})

test('every example is listed', async () => {
  const { text } = documentAt('actors/README.md')
  for (const folder of [ACTORS, ...PROVIDERS])
    for (const name of await listExamples(folder)) {
      const path = relative(ACTORS, join(folder, PACKAGE, `${name.replaceAll('.', '/')}.flux`))
      expect(text).toContain(`[${name}](${path})`)
    }
})

test('the settings that are listed have their defaults', () => {
  const defaults = new Map(SETTINGS.map(({ variable, default: standard }) => [variable, standard]))
  const rows = documentAt('src/store/README.md').rows.filter((line) => line.startsWith('| `ACTORFLUX_'))
  expect(rows.length).toBeGreaterThan(10)
  for (const row of rows) {
    const [variables = '', shown] = row.slice(2).split(' | ')
    const named = variables.match(/ACTORFLUX_\w+/g) ?? []
    const standards = named.map((variable) => defaults.get(variable) ?? '–')
    expect(shown, row).toBe([...new Set(standards)].map((each) => (each === '–' ? each : `\`${each}\``)).join(', '))
  }
})

test('no other setting is named', () => {
  const known = new Set(SETTINGS.map(({ variable }) => variable))
  const named = documents.flatMap(({ text }) => text.match(/ACTORFLUX_[A-Z_]*[A-Z]/g) ?? [])
  expect([...new Set(named)].filter((variable) => !known.has(variable) && secretOf(variable) === null)).toEqual([])
})

test('every problem is listed with its status, and no other', async () => {
  const source = await readFile(join(ROOT, 'src/http/formats/problem.ts'), 'utf8')
  const problems = [...source.matchAll(/\[(\d{3}), '([a-z-]+)', '/g)].map(
    ([, status, type]) => `| ${status} | \`${type}\` |`,
  )
  const listed = documentAt('src/http/formats.md').rows.flatMap((line) => /^\| \d{3} \|[^|]*\|/.exec(line)?.[0] ?? [])
  expect(problems.length).toBeGreaterThan(10)
  expect(listed.sort()).toEqual(problems.sort())
})

test('every call is listed, and no other', () => {
  const routes = [
    ...CALL_LIST.flatMap(({ call: { route, method, alias } }) =>
      [method, ...(alias ? [alias.method] : [])].map((each) => `${each} ${route}`),
    ),
    ...[SEND_EVENTS, EXECUTES].map(({ route }) => `POST ${route}`),
    `GET ${STREAM_MOVES.route}`,
  ].map((call) => call.replace(/:(\w+)/, '{$1}'))
  const rows = documentAt('src/http/README.md').rows.join('\n')
  const listed = [...rows.matchAll(/`((?:GET|POST|PUT|DELETE) \/[^`]+)`/g)].map(([, call]) => call)
  expect(listed.sort()).toEqual([...new Set(routes)].sort())
})

test('schemes and outcomes of webhooks, and kinds of moves, are listed', () => {
  const cells = documentAt('src/http/webhooks.md').rows.map((row) => row.split(' | ')[0] ?? '')
  for (const name of [...WEBHOOK_SCHEME_NAMES, ...DELIVERY_OUTCOMES])
    expect(cells.filter((cell) => cell.includes(`\`${name}\``)).length, name).toBeGreaterThan(0)
  const { text } = documentAt('src/http/watching.md')
  for (const kind of MOVE_KINDS) expect(text).toContain(`\`${kind}\``)
})

test('the files that the architecture names are there', async () => {
  const files = await filesIn('src')
  const { text } = documentAt('src/README.md')
  const named = [...text.matchAll(/`([\w/-]+\.(?:ts|lua|xsd))`/g)].map(([, file = '']) => file)
  expect(named.length).toBeGreaterThan(60)
  const isThere = (file: string) => files.some((path) => path.endsWith(`/${file}`)) || existsSync(join(ROOT, file))
  expect(named.filter((file) => !isThere(file))).toEqual([])
})

describe('commands', () => {
  const words = shell.flatMap(({ text }) => text.split('\n')).map((line) => line.replace(/\s+#.*$/, ''))

  test('of npm are scripts of the package', async () => {
    const { scripts }: { scripts: object } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    const named = words
      .flatMap((line) => [...line.matchAll(/\bnpm (?:run (\S+)|(test|start)\b)/g)])
      .map(([, long, short]) => long ?? short ?? '')
    expect(named.length).toBeGreaterThan(8)
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
  })

  test('of actorflux are there, and take the options', async () => {
    const named = words.flatMap((line) => [
      ...line.matchAll(
        /npx actorflux ((?:token|webhook|context|event|service|operation|server)\b|\S+)(?:(?<=token|webhook|context|event|service|operation|server) (\w+))?(.*)/g,
      ),
    ])
    expect(named.length).toBeGreaterThan(8)
    for (const [line, command = '', part, rest = ''] of named) {
      const { code, help } = await helpOn([command, ...(part === undefined ? [] : [part])])
      expect(code, line).toBe(0)
      for (const [option] of rest.matchAll(/--[a-z-]+/g)) expect(help, line).toContain(option)
    }
  })
})

async function helpOn(words: string[]): Promise<{ code: number; help: string }> {
  const lines: string[] = []
  const write = (line: string) => {
    lines.push(line)
  }
  const code = await run([...words, '--help'], { ...NO_TERMINAL, env: {}, out: write, err: write })
  return { code, help: lines.join('\n') }
}
