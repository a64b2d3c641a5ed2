// Checks the arrows between the modules: who may import whom, no cycles, every outside library in its module, no file
// that nobody needs; and the files themselves: their size, that of their functions, and their names.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'
import { describe, expect, test } from 'vitest'

const SRC = resolve(import.meta.dirname, '../src')

/** What each module may import, its own files aside. */
const MAY: { readonly [module: string]: readonly string[] } = {
  model: [],
  api: ['model'],
  // The argument of functions has the types of the calls.
  ports: ['model', 'api'],
  definitions: ['model', 'ports'],
  engine: ['model', 'ports', 'api', 'definitions'],
  steps: ['model', 'ports', 'api'],
  'store/lmdb': ['model', 'ports'],
  'store/redis': ['model', 'ports'],
  'store/memory': ['model', 'ports'],
  alarms: ['model', 'ports'],
  access: ['model'],
  http: ['model', 'ports', 'api', 'access'],
  inspector: ['model', 'ports', 'api', 'access'],
  observe: ['model', 'ports'],
  watchdog: ['model', 'ports', 'observe'],
  settings: ['model', 'ports'],
  // Of the calls it has the types alone: see below.
  client: ['model', 'api'],
  // The types of what was loaded are definitions'.
  // The descriptions of calls give its options; the diagrams are the inspector's.
  cli: [
    'model',
    'ports',
    'api',
    'client',
    'inspector',
    'definitions',
    'access',
    'observe',
    'settings',
    'main',
    'testing',
  ],
  // It connects the parts as main does, for tests of services; its calls are typed as those of the client.
  testing: [
    'model',
    'ports',
    'api',
    'client',
    'definitions',
    'engine',
    'steps',
    'store/memory',
    'alarms',
    'http',
    'settings',
    'main',
  ],
  // The machine of a definition, without a server.
  machine: ['model', 'definitions', 'engine'],
  main: [
    'model',
    'ports',
    'api',
    'definitions',
    'engine',
    'steps',
    'store/lmdb',
    'store/redis',
    'alarms',
    'access',
    'http',
    'inspector',
    'observe',
    'watchdog',
    'settings',
  ],
}

/** Where each outside library may be used. */
const LIBRARIES: { readonly [library: string]: readonly string[] } = {
  xstate: ['definitions', 'engine', 'machine'],
  acorn: ['definitions'],
  uuid: ['engine'],
  zod: ['api', 'definitions', 'access', 'http', 'settings', 'store/lmdb', 'cli', 'testing'],
  jiti: ['steps'],
  'quickjs-emscripten-core': ['steps'],
  '@jitl/quickjs-wasmfile-release-sync': ['steps'],
  ioredis: ['store/redis', 'alarms'],
  bullmq: ['alarms'],
  lmdb: ['store/lmdb'],
  'fs-native-extensions': ['store/lmdb'],
  hono: ['http', 'inspector'],
  elkjs: ['inspector'],
  'fast-xml-parser': ['http', 'cli'],
  '@hono/node-server': ['http'],
  '@opentelemetry/api': ['observe'],
  'prom-client': ['observe'],
  pino: ['observe'],
  'pino-pretty': ['observe'],
  '@modelcontextprotocol/server': ['cli'],
  'cli-progress': ['cli'],
  'string-width': ['cli'],
}

/** The modules in which no two folders may import each other. */
const LAYERED = new Set(['engine', 'http', 'model', 'ports', 'api', 'main'])

interface Import {
  readonly from: string
  readonly to: string
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts'))
  .map((file) => file.replaceAll('\\', '/'))
const imports: Import[] = files.flatMap((from) => {
  const source = readFileSync(join(SRC, from), 'utf8')
  return [
    ...source.matchAll(
      /(?:^|\n)\s*(?:import|export)\s[^'"]*?from\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)import\s+['"]([^'"]+)['"]/g,
    ),
  ].map(([, one, two, three]) => ({ from, to: one ?? two ?? three ?? '' }))
})
const inside = imports
  .filter(({ to }) => to.startsWith('.'))
  .map(({ from, to }) => ({ from, to: relative(SRC, resolve(SRC, dirname(from), to)).replaceAll('\\', '/') }))

function moduleOf(file: string): string {
  const parts = file.replace(/\.tsx?$/, '').split('/')
  return parts[0] === 'store' ? `store/${parts[1]}` : (parts[0] ?? '')
}

const libraryOf = (to: string) =>
  to
    .split('/')
    .slice(0, to.startsWith('@') ? 2 : 1)
    .join('/')

describe('the modules', () => {
  test('have files', () => {
    expect(files.length).toBeGreaterThan(40)
    expect(inside.length).toBeGreaterThan(100)
  })

  test('are all listed', () => {
    expect([...new Set(files.map(moduleOf))].filter((name) => !Object.hasOwn(MAY, name))).toEqual([])
  })

  test('import only along the arrows', () => {
    const wrong = inside.filter(
      ({ from, to }) => moduleOf(from) !== moduleOf(to) && !MAY[moduleOf(from)]?.includes(moduleOf(to)),
    )
    expect(wrong).toEqual([])
  })

  test('import only files that are there', () => {
    expect(inside.filter(({ to }) => !files.includes(to))).toEqual([])
  })

  test('keep each outside library in its module', () => {
    const outside = imports.filter(({ to }) => !to.startsWith('.') && !to.startsWith('node:'))
    expect(outside.filter(({ from, to }) => !LIBRARIES[libraryOf(to)]?.includes(moduleOf(from)))).toEqual([])
  })

  test('give the client types alone, since it runs in browsers', () => {
    // The build replaces the routes by what they are: see test/client/built.test.ts.
    const client = files.filter((file) => moduleOf(file) === 'client' && file !== 'client/routes.ts')
    expect(client.length).toBeGreaterThan(5)
    const values = client.flatMap((file) => {
      const { module } = parseSync(file, readFileSync(join(SRC, file), 'utf8'))
      const isInside = (source: string) => moduleOf(relative(SRC, resolve(SRC, dirname(file), source))) === 'client'
      const imported = module.staticImports.filter(({ entries }) => entries.some(({ isType }) => !isType))
      return imported.flatMap(({ moduleRequest: { value } }) => (isInside(value) ? [] : [{ file, value }]))
    })
    expect(values).toEqual([])
    expect(imports.filter(({ from, to }) => moduleOf(from) === 'client' && !to.startsWith('.'))).toEqual([])
  })

  test('have no cycles between files', () => {
    const targets = new Map(files.map((file) => [file, inside.filter(({ from }) => from === file)]))
    const state = new Map<string, 'open' | 'done'>()
    const cycles: string[] = []
    const visit = (file: string, path: readonly string[]) => {
      if (state.get(file) === 'open') cycles.push([...path.slice(path.indexOf(file)), file].join(' → '))
      if (state.has(file)) return
      state.set(file, 'open')
      for (const { to } of targets.get(file) ?? []) visit(to, [...path, file])
      state.set(file, 'done')
    }
    for (const file of files) visit(file, [])
    expect(cycles).toEqual([])
  })

  test('have folders that are layers: no two import each other, save those that are listed', () => {
    const arrows = new Set(
      inside
        .filter(({ from, to }) => [from, to].every((file) => LAYERED.has(moduleOf(file))))
        .map(({ from, to }) => `${dirname(from)} → ${dirname(to)}`),
    )
    const mutual = [...arrows].flatMap((arrow) => {
      const [from = '', to = ''] = arrow.split(' → ')
      return from < to && arrows.has(`${to} → ${from}`) ? [`${from} ↔ ${to}`] : []
    })
    expect(mutual).toEqual([])
  })

  test('have no file that nobody needs', () => {
    const needed = new Set(inside.map(({ to }) => to))
    const entries = new Set([
      'main.ts',
      'machine.ts',
      'testing/runtime.ts',
      'client/client.ts',
      'cli/actorflux.ts',
      // What a process of its own begins with.
      'steps/script/sandbox-process.ts',
    ])
    expect(files.filter((file) => !needed.has(file) && !entries.has(file))).toEqual([])
  })
})

const MAX_FILE_LINES = 400
const MAX_FUNCTION_LINES = 60

/** Numbers whose names say that they are times, sizes or lengths, and the units in which these may end. */
const MEASURE = /(?:^|_)(?:AGE|DELAY|INTERVAL|TIME|TIMEOUT|TIMER|WAIT|LENGTH|MEMORY|SIZE)(?:_|$)/
const UNIT = /_(?:MS|SECONDS|BYTES|CHARACTERS|AT)$/

interface Piece {
  readonly file: string
  readonly name: string
  readonly lines: number
}

const parsed = files.map((file) => {
  const text = readFileSync(join(SRC, file), 'utf8')
  return { file, lines: text.split('\n').length - 1, ...inspect(file, text) }
})

/** What a file declares: its functions, and its constants that are numbers. */
function inspect(file: string, text: string) {
  const { program, errors } = parseSync(file, text)
  expect(errors).toEqual([])
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
  const lineOf = (at: number) => starts.findLastIndex((start) => start <= at)
  const functions: Piece[] = []
  const measure = ({ start, end }: { start: number; end: number }) => {
    functions.push({ file, name: text.slice(start, start + 40), lines: lineOf(end) - lineOf(start) + 1 })
  }
  const numbers: string[] = []
  new Visitor({
    FunctionDeclaration: measure,
    FunctionExpression: measure,
    ArrowFunctionExpression: measure,
    VariableDeclarator({ id, init }) {
      const isNumber = init !== null && /^[\d_. *]+$/.test(text.slice(init.start, init.end))
      if (isNumber && id.type === 'Identifier' && /^[A-Z][A-Z\d_]*$/.test(id.name)) numbers.push(id.name)
    },
  }).visit(program)
  return { functions, numbers }
}

describe('a file', () => {
  test(`has at most ${MAX_FILE_LINES} lines`, () => {
    expect(parsed.filter(({ lines }) => lines > MAX_FILE_LINES).map(({ file, lines }) => ({ file, lines }))).toEqual([])
  })

  test(`has no function of more than ${MAX_FUNCTION_LINES} lines`, () => {
    const functions = parsed.flatMap((file) => file.functions)
    expect(functions.length).toBeGreaterThan(1000)
    expect(functions.filter(({ lines }) => lines > MAX_FUNCTION_LINES)).toEqual([])
  })

  test('names the units of its times, sizes and lengths', () => {
    const numbers = parsed.flatMap(({ file, numbers: names }) => names.map((name) => ({ file, name })))
    expect(numbers.some(({ name }) => MEASURE.test(name))).toBe(true)
    expect(numbers.filter(({ name }) => MEASURE.test(name) && !UNIT.test(name))).toEqual([])
  })
})
