import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { stepRunner } from '../../src/steps/runner.ts'
import type { JsonObject } from '../../src/model/json/value.ts'
import type { StepRunner } from '../../src/ports/steps.ts'
import { flux } from './flux.ts'
import { newFolder } from '../support/at-end.ts'
import { silent } from '../support/silent.ts'

async function write(folder: string, files: { readonly [path: string]: string }): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
}

interface Package {
  readonly folder: string
  readonly runner: StepRunner
  remount(): void
  run(className: string, methodName: string, args?: JsonObject): Promise<unknown>
  missing(className: string, methodName: string): Promise<string | null>
}

/** A package `p` of these modules, mounted. */
async function packageOf(files: { readonly [path: string]: string }): Promise<Package> {
  const folder = await newFolder()
  await write(folder, files)
  const runner = stepRunner({ log: silent })
  const remount = () => runner.mount([{ name: 'p', root: folder }])
  remount()
  return {
    folder,
    runner,
    remount,
    run: (className, methodName, args = {}) => runner.run({ package: 'p', className, methodName, args, flux }),
    missing: (className, methodName) => runner.missing({ package: 'p', className, methodName }),
  }
}

const version = (n: number) => ({
  'a.ts': `import { q } from "./deep/q.ts"\nexport const f = () => [${n}, q]`,
  'deep/q.ts': `export const q = ${n}`,
  'b.mjs': `import { q } from "./deep/q.mjs"\nexport const f = () => [${n}, q]`,
  'deep/q.mjs': `export const q = ${n}`,
  'c.js': `export { f } from "./b.mjs"`,
  'd.js': `export const f = () => ${n}`,
})

const logged = () => {
  const lines: unknown[][] = []
  const at =
    (level: string) =>
    (...line: unknown[]) => {
      lines.push([level, ...line])
    }
  return {
    lines,
    log: { trace: at('trace'), debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
  }
}

describe('calling a function', () => {
  test('hands it the arguments and its context, and gives what it returns', async () => {
    const { run } = await packageOf({
      'lib/math.ts': `
        interface Args { readonly a: number; readonly b: number }
        export const add = async ({ a, b }: Args): Promise<number> => a + b
        export function key(_: unknown, flux: { stepKey: string }) { return flux.stepKey }`,
    })
    expect(await run('lib.math', 'add', { a: 1, b: 2 })).toBe(3)
    expect(await run('lib.math', 'key')).toBe('7-1')
  })

  test.each([
    ['.ts', 'export const f = (): string => "ts"', 'ts'],
    ['.mts', 'export const f = (): string => "mts"', 'mts'],
    ['.js', 'export const f = () => "js"', 'js'],
    ['.js', 'exports.f = () => "commonjs"', 'commonjs'],
    ['.mjs', 'export const f = () => "mjs"', 'mjs'],
  ])('from a %s file', async (extension, source, expected) => {
    const { run } = await packageOf({ [`m${extension}`]: source })
    expect(await run('m', 'f')).toBe(expected)
  })

  test('modules import one another, with and without endings, packages and types too', async () => {
    const { run } = await packageOf({
      'a.ts':
        'import type { T } from "./types.ts"\nimport { b } from "./deep/b.ts"\nimport { c } from "./deep/c"\nimport { d } from "d"\nimport { basename } from "node:path"\nexport const f = (): T => [b, c, d, basename("/x/y")]',
      'types.ts': 'export type T = string[]',
      'deep/b.ts': 'import { c } from "./c.ts"\nexport const b = "b" + c',
      'deep/c.ts': 'export const c = await Promise.resolve("c")',
      'package.json': '{ "type": "module" }',
      'node_modules/d/package.json': '{ "type": "module", "exports": "./i.js" }',
      'node_modules/d/i.js': 'export const d = "d"',
    })
    expect(await run('a', 'f')).toEqual(['bc', 'c', 'd', 'y'])
  })

  test('a module runs once, also when two that share it are asked for at once', async () => {
    const { run } = await packageOf({
      'shared.ts': 'await new Promise((go) => setTimeout(go, 20))\nlet count = 0\nexport const next = () => ++count',
      'a.ts': 'export { next } from "./shared.ts"',
      'b.ts': 'export { next } from "./shared.ts"',
    })
    expect((await Promise.all([run('a', 'next'), run('b', 'next'), run('a', 'next')])).sort()).toEqual([1, 2, 3])
  })

  test('what it throws comes through as it is, at once or later', async () => {
    const { run } = await packageOf({
      'm.ts':
        'export class Odd extends Error { name = "Odd" }\nexport function now() { throw new Odd("x") }\nexport async function later() { throw new Odd("y") }\nexport async function text() { throw "plain" }',
    })
    await expect(run('m', 'now')).rejects.toMatchObject({ name: 'Odd', message: 'x' })
    await expect(run('m', 'later')).rejects.toMatchObject({ name: 'Odd', message: 'y' })
    await expect(run('m', 'text')).rejects.toBe('plain')
  })

  test('a package in two folders has the modules of both', async () => {
    const [one, other] = [
      await packageOf({ 'a.ts': 'export const f = () => "a"' }),
      await packageOf({ 'b.ts': 'export const f = () => "b"' }),
    ]
    one.runner.mount([
      { name: 'p', root: one.folder },
      { name: 'p', root: other.folder },
    ])
    expect([await one.run('a', 'f'), await one.run('b', 'f')]).toEqual(['a', 'b'])
  })

  test("nothing is written beside the user's files", async () => {
    const { run, folder } = await packageOf({ 'm.ts': 'export const f = () => 1', 'node_modules/.keep': '' })
    await run('m', 'f')
    expect((await readdir(folder, { recursive: true })).sort()).toEqual(['m.ts', 'node_modules', 'node_modules/.keep'])
  })
})

describe('mounting again', () => {
  test('reads changed modules again, with those that they import', async () => {
    const { run, folder, remount } = await packageOf({ 'package.json': '{ "type": "module" }', ...version(1) })
    const all = () => Promise.all(['a', 'b', 'c', 'd'].map((name) => run(name, 'f')))
    expect(await all()).toEqual([[1, 1], [1, 1], [1, 1], 1])
    for (const n of [2, 3]) {
      await write(folder, version(n))
      remount()
      expect(await all()).toEqual([[n, n], [n, n], [n, n], n])
    }
  })

  test('a second runner in the process reads them again, too', async () => {
    const { run, folder } = await packageOf({ 'm.ts': 'export const f = () => 1', 'n.mjs': 'export const f = () => 1' })
    expect([await run('m', 'f'), await run('n', 'f')]).toEqual([1, 1])
    await write(folder, { 'm.ts': 'export const f = () => 2', 'n.mjs': 'export const f = () => 2' })
    const second = stepRunner({ log: silent })
    second.mount([{ name: 'p', root: folder }])
    const again = (className: string) => second.run({ package: 'p', className, methodName: 'f', args: {}, flux })
    expect([await again('m'), await again('n')]).toEqual([2, 2])
  })

  test('leaves installed packages alone', async () => {
    const { run, remount } = await packageOf({
      'm.ts': 'import { count } from "d"\nexport const f = count',
      'node_modules/d/package.json': '{ "type": "module", "exports": "./i.js" }',
      'node_modules/d/i.js': 'let n = 0\nexport const count = () => ++n',
    })
    expect(await run('m', 'f')).toBe(1)
    remount()
    expect(await run('m', 'f')).toBe(2)
  })

  test('a module that was mended is found without it, too', async () => {
    const { missing, folder } = await packageOf({ 'm.ts': 'throw new Error("first")' })
    expect(await missing('m', 'f')).toContain('first')
    await write(folder, { 'm.ts': 'export const f = () => 1' })
    expect(await missing('m', 'f')).toBeNull()
  })
})

describe("why a function can't be called", () => {
  const files = {
    'm.ts': 'export const value = 1\nexport default { hidden() {} }\nexport const f = () => 1',
    'broken.ts': 'export const f = (',
    'throws.ts': 'throw new Error("no key set")',
    'lost.ts': 'import "./nowhere.ts"\nexport const f = 1',
    'folder.ts/x': '',
    'sub/n.ts': 'export const f = () => 1',
    'cjs.js': 'module.exports = null',
  }
  test.each([
    ['none', 'f', 'there is no module "none" in package "p": looked for none with .ts, .mts, .js, .mjs'],
    ['sub', 'f', 'there is no module "sub"'],
    ['folder', 'f', 'there is no module "folder"'],
    ['m', 'g', 'module "m" doesn\'t export "g"'],
    ['m', 'value', '"value" of module "m" is not a function'],
    ['m', 'hidden', 'module "m" doesn\'t export "hidden"'],
    ['m', 'toString', 'module "m" doesn\'t export "toString"'],
    ['m', 'constructor', 'module "m" doesn\'t export "constructor"'],
    ['m', '__proto__', 'module "m" doesn\'t export "__proto__"'],
    ['m', '', 'module "m" doesn\'t export ""'],
    ['cjs', 'f', 'module "cjs" doesn\'t export "f"'],
    ['throws', 'f', 'module "throws" can\'t be loaded: no key set'],
    ['broken', 'f', 'module "broken" can\'t be loaded: '],
    ['lost', 'f', 'module "lost" can\'t be loaded: '],
    ['constructor', 'f', 'there is no module "constructor"'],
    ['__proto__', 'f', 'there is no module "__proto__"'],
    ['', 'f', 'is no dotted path'],
    ['.', 'f', 'is no dotted path'],
    ['..', 'f', 'is no dotted path'],
    ['sub..n', 'f', 'is no dotted path'],
    ['../p/m', 'f', 'is no dotted path'],
    ['sub/n', 'f', 'is no dotted path'],
    ['sub\\n', 'f', 'is no dotted path'],
    ['m\0', 'f', 'is no dotted path'],
    ['/etc/passwd', 'f', 'is no dotted path'],
    ['file:///etc/passwd', 'f', 'is no dotted path'],
    ['node:fs', 'readFileSync', 'there is no module "node:fs"'],
    ['x'.repeat(10_000), 'f', 'there is no module'],
  ])('%s, %s', async (className, methodName, reason) => {
    const { missing, run } = await packageOf(files)
    expect(await missing(className, methodName)).toContain(reason)
    await expect(run(className, methodName)).rejects.toThrow(reason)
  })

  test("another package's module", async () => {
    const { runner } = await packageOf(files)
    expect(await runner.missing({ package: 'q', className: 'm', methodName: 'f' })).toContain(
      'there is no module "m" in package "q"',
    )
  })

  test('nothing speaks against one that is there, through a link too', async () => {
    const { missing, folder } = await packageOf(files)
    await symlink(join(folder, 'sub'), join(folder, 'linked'))
    expect(await missing('sub.n', 'f')).toBeNull()
    expect(await missing('linked.n', 'f')).toBeNull()
  })
})

describe('built-in classes', () => {
  test.each(['Logger', 'io.toro.martini.LoggerMethods'])(
    '%s logs a message, or without one all it is given',
    async (className) => {
      const runner = stepRunner({ log: silent })
      const { lines, log } = logged()
      const run = (methodName: string, args: JsonObject) =>
        runner.run({ package: 'p', className, methodName, args, flux: { ...flux, log } })
      for (const level of ['trace', 'debug', 'info', 'warn', 'error']) await run(level, { message: 'hi' })
      await run('info', { loggerName: 'x', message: 'hi' })
      await run('info', { order: { id: 1 } })
      await run('info', { message: { id: 1 } })
      await run('info', { message: null })
      expect(lines).toEqual([
        ...['trace', 'debug', 'info', 'warn', 'error'].map((level) => [level, 'hi', {}]),
        ['info', 'hi', { args: { loggerName: 'x' } }],
        ['info', '{"order":{"id":1}}', {}],
        ['info', '{"id":1}', {}],
        ['info', '{}', {}],
      ])
    },
  )

  test.each(['Errors', 'io.toro.martini.GloopMethods'])('%s throws with a message and a type', async (className) => {
    const runner = stepRunner({ log: silent })
    const run = (args: JsonObject) => runner.run({ package: 'p', className, methodName: 'throwException', args, flux })
    await expect(run({ message: 'no stock', type: 'OutOfStock' })).rejects.toMatchObject({
      name: 'OutOfStock',
      message: 'no stock',
    })
    await expect(run({ message: { code: 1 } })).rejects.toMatchObject({ name: 'Exception', message: '{"code":1}' })
    await expect(run({})).rejects.toMatchObject({ name: 'Exception', message: 'an exception was thrown' })
  })

  test('hide a module of their name, and have the methods they have', async () => {
    const { missing, run } = await packageOf({
      'Logger.ts': 'export const info = () => "mine"\nexport const shout = () => 1',
    })
    expect(await run('Logger', 'info', { message: 'x' })).toBeNull()
    expect(await missing('Logger', 'shout')).toBe(
      'the built-in class "Logger" has no method "shout"; there are trace, debug, info, warn, error',
    )
    expect(await missing('Logger', 'constructor')).toContain('no method')
    expect(await missing('Errors', 'throwException')).toBeNull()
  })
})
