// The package as a user gets it: packed, unpacked into an empty folder, and used there: a first service is written,
// checked, compiled, served and driven by the command line.
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { definitionSchema } from '../../src/definitions/editor/document.ts'
import { scenarioSchema } from '../../src/testing/scenario/schema.ts'

const run = promisify(execFile)
const ROOT = resolve(import.meta.dirname, '../..')
vi.setConfig({ testTimeout: 120_000, hookTimeout: 180_000 })

let folder: string
/** Where the user works: a folder with nothing but `node_modules`. */
let project: string
let files: string[]
let served: ChildProcess | null = null

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'actorflux-'))
  project = join(folder, 'project')
  const source = join(folder, 'source')
  await mkdir(source)
  for (const name of ['package.json', 'README.md']) await cp(join(ROOT, name), join(source, name))
  await run(process.execPath, [
    join(ROOT, 'node_modules/typescript/bin/tsc'),
    '-p',
    join(ROOT, 'tsconfig.json'),
    '--outDir',
    join(source, 'dist'),
    '--incremental',
    'false',
  ])
  for (const name of ['store/redis/lua', 'inspector/assets'])
    await cp(join(ROOT, 'src', name), join(source, 'dist', name), { recursive: true })
  await writeFile(join(source, 'dist/schema.json'), JSON.stringify(definitionSchema()))
  await writeFile(join(source, 'dist/scenario.schema.json'), JSON.stringify(scenarioSchema()))
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts'], { cwd: source })
  const [packed] = JSON.parse(stdout)
  files = packed.files.map(({ path }: { path: string }) => path)
  await unpack(join(source, packed.filename))
})
afterAll(async () => {
  served?.kill('SIGKILL')
  await rm(folder, { recursive: true })
})

/** The packages that it depends on are those of this checkout: a test needs no registry. */
async function unpack(file: string): Promise<void> {
  const modules = join(project, 'node_modules')
  await mkdir(join(modules, 'actorflux'), { recursive: true })
  await run('tar', ['-xzf', file, '--strip-components=1', '-C', join(modules, 'actorflux')])
  const { dependencies }: { dependencies: object } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  for (const name of Object.keys(dependencies)) {
    await mkdir(resolve(modules, name, '..'), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), join(modules, name))
  }
  await mkdir(join(modules, '@types'))
  await symlink(join(ROOT, 'node_modules/@types/node'), join(modules, '@types/node'))
}

const cli = () => join(project, 'node_modules/actorflux/dist/cli/actorflux.js')
const env = { ...process.env, ACTORFLUX_PORT: '0', ACTORFLUX_LOG_LEVEL: 'warn' }

async function actorflux(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  try {
    const { stdout, stderr } = await run(process.execPath, [cli(), ...args], { cwd: project, env })
    return { code: 0, out: stdout, err: stderr }
  } catch (error) {
    const { code, stdout, stderr } = Object(error)
    return { code, out: stdout, err: stderr }
  }
}

test('it has what runs, and nothing else', () => {
  expect(files).toContain('dist/cli/actorflux.js')
  expect(files).toContain('dist/client/client.d.ts')
  const others = files.filter((path) => !/^dist\/.*(?:\.js|\.d\.ts|\.lua|\.css)$/.test(path))
  expect(others.sort()).toEqual(['README.md', 'dist/scenario.schema.json', 'dist/schema.json', 'package.json'])
})

describe('in an empty folder', () => {
  test('dev says how to begin, where nobody can be asked', async () => {
    const { code, out, err } = await actorflux('dev')
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain('actorflux init writes a first service')
    expect(await readdir(project)).toEqual(['node_modules'])
  })

  test('init writes a service, which passes the check and the compiler', async () => {
    const { code, out, err } = await actorflux('init')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain('wrote actors/hello/Approval.flux')
    expect((await readdir(project, { recursive: true })).filter((name) => !name.startsWith('node_modules'))).toEqual(
      expect.arrayContaining(['.vscode/settings.json', 'actors/hello/greetings.ts', 'package.json', 'tsconfig.json']),
    )
    const { dependencies } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8'))
    // Who installed it left no notes.
    expect(dependencies).toEqual({ actorflux: `file:${join(project, 'node_modules/actorflux')}` })
    expect(await actorflux('validate')).toMatchObject({ code: 0 })
    expect(await actorflux('test')).toMatchObject({ code: 0, err: '' })
    await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', '.'], { cwd: project })
  })

  test.each([
    ['a registry', 'https://registry.example/actorflux/-/actorflux-0.3.0.tgz', () => `^${manifest.version}`],
    ['a registry whose address is left out', undefined, () => `^${manifest.version}`],
    ['a repository', 'git+ssh://git@git.example/ada/actorflux.git#1a2b3c', (given: string) => given],
    ['a page', 'https://files.example/actorflux.tgz', (given: string) => given],
    ['a tarball', 'file:actorflux.tgz', () => `file:${join(project, 'actorflux.tgz')}`],
    ['a tarball that is gone', 'file:gone.tgz', () => `file:${join(project, 'node_modules/actorflux')}`],
  ])('init names as a dependency where it came from: %s', async (from, resolved, expected) => {
    await writeFile(join(project, 'actorflux.tgz'), '')
    const notes = { packages: { 'node_modules/actorflux': { version: manifest.version, resolved } } }
    const file = join(project, 'node_modules/.package-lock.json')
    await writeFile(file, JSON.stringify(notes))
    const { code, err } = await actorflux('init', from)
    await rm(file)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const { dependencies } = JSON.parse(await readFile(join(project, from, 'package.json'), 'utf8'))
    expect(dependencies).toEqual({ actorflux: expected(resolved ?? '') })
  })

  test('init never overwrites', async () => {
    const { code, out, err } = await actorflux('init')
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain('Approval.flux is there already: nothing was written')
  })

  test('dev serves it, and the commands that init tells drive it', async () => {
    served = spawn(process.execPath, [cli(), 'dev'], { cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [served.stdout, served.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    const url = await vi.waitFor(
      () => /listening\s+(http:\S+)/.exec(output)?.[1] ?? Promise.reject(new Error(output)),
      {
        timeout: 60_000,
      },
    )
    const { out } = await actorflux('execute', 'hello/Approval', '--input', '{"name":"Ada"}', '--url', url)
    const id = out.trim()
    expect(await actorflux('event', 'send', 'approve', '--context-id', id, '--url', url)).toMatchObject({ code: 0 })
    const waited = await actorflux('context', 'wait', id, '--status', 'COMPLETED', '--url', url)
    expect(waited.out).toContain('text: "Hello Ada"')
    const page = await fetch(`${url}/inspector`)
    expect(page.status).toBe(200)
    const ended = once(served, 'exit')
    served.kill('SIGTERM')
    expect((await ended)[0]).toBe(0)
    served = null
  })

  test('the client and the machine are there for programs', async () => {
    const program = `
      import { createClient, Problem } from 'actorflux/client'
      import { machineOf } from 'actorflux/machine'
      import { createRuntime } from 'actorflux'
      console.log([createClient, Problem, machineOf, createRuntime].map((each) => typeof each).join())`
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: project })
    expect(stdout.trim()).toBe('function,function,function,function')
  })
})
