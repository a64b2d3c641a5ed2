// The calls that the documents show are made in order, to a real server that is killed and started where they say so;
// the answers are those that they show.
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, expect, inject, test, vi } from 'vitest'
import { run } from '../../src/cli/run.ts'
import { ACTORS, PACKAGE, PROVIDERS } from '../examples/examples.ts'
import { cleanUp, placeFor, startServer, type Place, type Server } from '../support/server.ts'
import { isFile, readDocuments, withBlock, type Block } from './documents.ts'
import { NO_TERMINAL } from '../cli/world.ts'

const documents = await readDocuments()

/** Of the providers whose webhooks the documents try. */
const SECRETS = { ACTORFLUX_SECRET_GITHUB_WEBHOOK: 'of GitHub', ACTORFLUX_SECRET_STRIPE_SIGNING: 'whsec_of_Stripe' }

/** Milliseconds that a context may take to get where a document says that it is. */
const PATIENCE_MS = 15_000

interface Command {
  readonly line: string
  /** What the document shows below it; `…` stands for any text. */
  readonly shown: string
}

interface Request {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly body: string | null
}

afterAll(cleanUp)

const TOURS: readonly (readonly [path: string, calls: number])[] = [
  ['README.md', 5],
  ['actors/README.md', 11],
  ['src/http/README.md', 16],
  ['src/http/events.md', 4],
  ['src/http/formats.md', 1],
  ['src/http/operations.md', 3],
  ['src/http/watching.md', 4],
  ['src/http/webhooks.md', 1],
]

test.concurrent.each(TOURS)(
  '%s',
  async (path, least) => {
    const blocks = documents.find((one) => one.path === path)?.blocks ?? []
    const place = await placeOf([])
    const options = { program: inject('program'), ...place, actors: [...place.actors, ...PROVIDERS], env: SECRETS }
    let files: Readonly<Record<string, string>> = {}
    let server: Server | null = null
    let calls = 0
    for (const block of blocks) {
      if (isFile(block)) {
        files = withBlock(files, block)
        await writeFiles(place, files)
        // Its reader has it loaded again.
        await server?.kill('SIGTERM')
        server = null
      }
      for (const { line, shown } of block.language === 'console' ? commandsOf(block.text) : []) {
        server ??= await startServer(options)
        if (line.startsWith('kill -9 ')) await server.kill('SIGKILL')
        else if (line === 'npm start') server = await startServer(options)
        else if (line.startsWith(WEBHOOK_TEST)) expect(await deliver(server.url, line)).toMatch(patternOf(shown))
        else if (line.startsWith('curl')) {
          await expectAnswer(server.url, readCurl(line), shown)
          calls += 1
        }
      }
    }
    expect(calls).toBeGreaterThanOrEqual(least)
  },
  120_000,
)

test.concurrent(
  'src/store/README.md shows what a server tells at its start',
  async () => {
    const document = documents.find(({ path }) => path === 'src/store/README.md')
    const commands = document?.blocks.flatMap(({ text }) => commandsOf(text)) ?? []
    const command = commands.find(({ line }) => line.endsWith('npm start'))
    const lines = command?.shown.split('\n').filter((line) => /^(packages|triggers|webhooks) /.test(line)) ?? []
    const server = await startServer({ program: inject('program'), ...(await placeOf(document?.blocks ?? [])) })
    expect(lines.length).toBe(3)
    for (const line of lines) expect(server.output()).toContain(`${line}\n`)
  },
  120_000,
)

const WEBHOOK_TEST = 'npx actorflux webhook test '

/** What a terminal shows of the command, for a server at the usual port. */
async function deliver(url: string, line: string): Promise<string> {
  const lines: string[] = []
  const write = (text: string) => {
    lines.push(text.replace(url, 'http://127.0.0.1:8080'))
  }
  const env = { ...SECRETS, ACTORFLUX_URL: url, ACTORFLUX_ACTORS: [ACTORS, ...PROVIDERS].join(delimiter) }
  await run(['webhook', 'test', ...wordsOf(line.slice(WEBHOOK_TEST.length))], {
    ...NO_TERMINAL,
    env,
    out: write,
    err: write,
  })
  return lines.join('\n')
}

/** The examples, and the services that the blocks show. */
async function placeOf(blocks: readonly Block[]) {
  const place = await placeFor({ 'README.md': '', ...blocks.filter(isFile).reduce(withBlock, {}) })
  await symlink(join(ACTORS, PACKAGE), join(place.folder, 'actors', PACKAGE))
  return place
}

async function writeFiles({ folder }: Place, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, 'actors', path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content)
  }
}

async function expectAnswer(server: string, { method, path, headers, body }: Request, shown: string): Promise<void> {
  const ask = async () => {
    const response = await fetch(`${server}${path}`, { method, headers, body })
    expect((await response.text()).trim(), `${method} ${path}`).toMatch(patternOf(shown))
  }
  // What is only read may take its time to get there.
  if (method === 'GET') await vi.waitFor(ask, { timeout: PATIENCE_MS, interval: 50 })
  else await ask()
}

/** Times, which are numbers of ten digits at least, are other ones each time. */
function patternOf(shown: string): RegExp {
  const literal = shown.trim().replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return new RegExp(`^${literal.replaceAll('…', '[^]*').replaceAll(/\d{10,}/g, '\\d{10,}')}$`)
}

/** A command goes on over lines while a quote is open. */
function commandsOf(text: string): Command[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const line = /^(?:[^'\n]|'[^']*')*/.exec(part)?.[0] ?? ''
      return { line, shown: part.slice(line.length) }
    })
}

const wordsOf = (line: string): string[] =>
  Array.from(line.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '')

/** The options that the documents use. */
function readCurl(line: string): Request {
  const words = wordsOf(line).slice(1)
  const request = { method: 'GET', path: '', body: null as string | null }
  const headers: { [name: string]: string } = {}
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? ''
    if (!word.startsWith('-')) {
      request.path = word.replace(/^localhost:8080/, '')
      continue
    }
    const value = words[(index += 1)] ?? ''
    if (word === '-X') request.method = value
    else if (word === '-H') headers[value.slice(0, value.indexOf(':'))] = value.slice(value.indexOf(':') + 1).trim()
    else if (word === '--json' || word === '-d') Object.assign(request, { method: 'POST', body: value })
    else throw new Error(`an option that this test doesn't know: ${word}`)
    if (word === '--json') headers['content-type'] = 'application/json'
  }
  return { ...request, headers }
}
