import { mkdtemp, mkdir, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stepRunner } from '../../src/steps/runner.ts'
import { userStack } from '../../src/steps/modules/user-stack.ts'
import type { JsonObject } from '../../src/model/json/value.ts'
import type { StepRunner } from '../../src/ports/steps.ts'
import { memoryLog } from '../http/support.ts'
import { effortOf } from '../support/effort.ts'
import { flux } from './flux.ts'

const FILES = {
  'lib/work.mjs': `export function inner() {
  const a = 1
  throw new TypeError('no order ' + a)
}
export async function later() {
  await null
  inner()
}`,
  'lib/typed.ts': `interface Args { readonly id: number; readonly deep: { readonly x: string } }
type Maker<T> = { [K in keyof T]: T[K] }

export class Shop<T extends Args> {
  constructor(private readonly args: T) {}
  sell(): never { const price: number = (this.args as Maker<T>).id satisfies number; throw new RangeError(\`too dear: \${price}\`) }
}
`,
  'Fn.ts': `import { inner, later } from './lib/work.mjs'
import { Shop } from './lib/typed.ts'
import dependency from './node_modules/dep/index.mjs'

export function js() { return inner() }
export const typed = (args: { readonly id: number }): unknown => new Shop({ id: args.id as number, deep: { x: 'x' } }).sell()
export const asynchronous = async (args: unknown, flux: unknown): Promise<void> => { await later() }
export const deep = (): void => dependency(() => inner())
export const none = (): void => { throw null }
export const text = (): void => { JSON.parse('{') }
export const long = (): void => { throw new Error('é'.repeat(100_000)) }
export const fake = (): void => { throw new Error('x\\n    at stolen (/etc/passwd:1:1)\\n    at shown (lib/none.mjs:1:1)') }
`,
  'node_modules/dep/index.mjs': 'export default (callback) => callback()\n',
}

let folder: string
let runner: StepRunner
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'actorflux stack-')))
  for (const [file, content] of Object.entries(FILES)) {
    await mkdir(join(folder, file, '..'), { recursive: true })
    await writeFile(join(folder, file), content)
  }
  runner = stepRunner({ log: memoryLog().log })
  runner.mount([{ name: 'p', root: folder }])
})
afterAll(async () => {
  runner.close()
  await rm(folder, { recursive: true, force: true })
})

async function stackOf(methodName: string, args: JsonObject = {}): Promise<string | null> {
  try {
    await runner.run({ package: 'p', className: 'Fn', methodName, args, flux })
  } catch (error) {
    return runner.stackOf(error, 'p')
  }
  throw new Error('nothing was thrown')
}

const columnOf = (file: keyof typeof FILES, text: string): string => {
  const lines = FILES[file].split('\n')
  const line = lines.findIndex((each) => each.includes(text))
  return `${file}:${line + 1}:${(lines[line]?.indexOf(text) ?? 0) + 1}`
}

describe('the stack of a function', () => {
  test("has the user's frames with file, line and column", async () => {
    expect((await stackOf('js'))?.split('\n').slice(0, 2)).toEqual([
      'TypeError: no order 1',
      '    at inner (lib/work.mjs:3:9)',
    ])
    expect(await stackOf('js')).toMatch(/\n {4}at js \(Fn\.ts:5:\d+\)$/)
    expect(await stackOf('asynchronous')).toMatch(
      / {4}at inner \(lib\/work\.mjs:3:9\)\n {4}at later \(lib\/work\.mjs:7:3\)\n {4}at async asynchronous \(Fn\.ts:7:\d+\)$/,
    )
  })

  test('has positions in the TypeScript source', async () => {
    const [, first, second] = (await stackOf('typed', { id: 5 }))?.split('\n') ?? []
    expect(first).toBe(`    at Shop.sell (${columnOf('lib/typed.ts', 'new RangeError')})`)
    expect(second).toMatch(/^ {4}at typed \(Fn\.ts:6:\d+\)$/)
  })

  test('leaves out dependencies, Node and the server', async () => {
    const stack = await stackOf('deep')
    expect(stack).toContain('at inner (lib/work.mjs:3:9)')
    expect(stack).not.toMatch(/node_modules|dep\b|node:|runner|vitest/)
    expect(await stackOf('text')).toMatch(/^SyntaxError: .*\n {4}at text \(Fn\.ts:10:\d+\)$/)
    expect(stack).not.toContain(folder)
  })

  test("is none where nothing of the user's is in it", async () => {
    expect(await stackOf('none')).toBeNull()
    expect(runner.stackOf(new Error('of the server'), 'p')).toBeNull()
    expect(
      runner.stackOf(
        Object.defineProperty(new Error('x'), 'stack', {
          get() {
            throw new Error('hostile')
          },
        }),
        'p',
      ),
    ).toBeNull()
  })

  test('has at most 4,096 bytes with its message, which is no frame', async () => {
    const long = await stackOf('long')
    expect(Buffer.byteLength(long ?? '')).toBeLessThanOrEqual(4096)
    expect(long).toMatch(/^Error: é+…\n {4}at long \(Fn\.ts:11:\d+\)$/)
    expect((await stackOf('fake'))?.split('\n').at(-1)).toMatch(/^ {4}at fake \(Fn\.ts:12:\d+\)$/)
    expect(await stackOf('fake')).not.toMatch(/at stolen.*\n.*at stolen/)
  })
})

const read = (stack: string) => userStack({ name: 'E', message: 'm', stack }, ['/srv/p/code'])

describe('the text of a stack', () => {
  test.each([
    ['    at f (file:///srv/p/code/a%20b.mjs?reload=2:3:4)', '    at f (a b.mjs:3:4)'],
    ['    at file:///srv/p/code/a.mjs:3:4', '    at a.mjs:3:4'],
    ['    at async /srv/p/code/a.mjs:3:4', '    at async a.mjs:3:4'],
    ['    at new Foo (/srv/p/code/x/a.ts:3:4)', '    at new Foo (x/a.ts:3:4)'],
    ['    at Object.<anonymous> (/srv/p/code/a.ts:3:4)', '    at a.ts:3:4'],
    ['    at a.b [as c] (/srv/p/code/(x)/a.ts:3:4)', '    at a.b [as c] ((x)/a.ts:3:4)'],
    ['    at script:1:2', '    at script:1:2'],
  ])('%s is shown as %s', (frame, shown) => expect(read(`E: m\n${frame}`)).toBe(`E: m\n${shown}`))

  test.each([
    'at f (node:internal/x:1:1)',
    'at f (/srv/p/codex/a.ts:1:1)',
    'at f (/srv/p/code/node_modules/x/a.js:1:1)',
    'at f (<anonymous>)',
    'at f (native)',
    'at eval (eval at f (/srv/p/code/a.ts:1:1), <anonymous>:1:1)',
    'at f (/srv/p/code/a.ts)',
    'at f (node_modules/x/a.js:1:1)',
    'at f (prelude:1:1)',
    'no frame (/srv/p/code/a.ts:1:1)',
    'at f (file:///srv/p/code/%:1:1)',
  ])('%s is not shown', (frame) => expect(read(`E: m\n    ${frame}`)).toBeNull())

  test('is read in time that grows with it', () => {
    for (const piece of ['    at ', ' (', '(((', ':1', 'a/', '?', '\n', 'at f (/srv/p/code/a.ts:1:1)\n', '%'])
      expect(effortOf(() => read(piece.repeat(300_000)))).toBeLessThan(1000)
  })
})

describe('the stack of a script', () => {
  test.each([
    ['throw new TypeError("x")', ['TypeError: x', '    at script:1:20']],
    [
      'const f = () => { throw new RangeError("deep") }\nfunction g() {\n  f()\n}\nawait null\n  g()',
      ['RangeError: deep', '    at f (script:1:39)', '    at g (script:3:4)', '    at script:6:4'],
    ],
    ['class Mine extends Error {}\nthrow new Mine("own")', ['Error: own', '    at script:2:15']],
    [
      '[1].map((x) => {\n  JSON.parse("{")\n})',
      ['SyntaxError: expecting property name', '    at script:2:13', '    at script:1:8'],
    ],
  ])('has lines and columns of the script: %s', async (script, lines) => {
    const error: unknown = await runner
      .runScript({ script, names: async () => '{}', signal: new AbortController().signal, timeout: 10_000 })
      .catch((thrown: unknown) => thrown)
    expect(runner.stackOf(error, 'p')?.split('\n')).toEqual(lines)
  })
})
