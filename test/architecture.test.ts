// Holds the arrows between the rooms: who may import whom, no cycles, every outside library in its room, no file that
// nobody needs.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const SRC = resolve(import.meta.dirname, '../src')

/** What each room may import, its own files aside. */
const MAY: { readonly [room: string]: readonly string[] } = {
  model: [],
  api: ['model'],
  // What functions are handed has the calls.
  ports: ['model', 'api'],
  definitions: ['model', 'ports'],
  engine: ['model', 'ports', 'api', 'definitions'],
  steps: ['model', 'ports', 'api'],
  'store/lmdb': ['model', 'ports'],
  'store/redis': ['model', 'ports'],
  alarms: ['model', 'ports'],
  access: ['model'],
  http: ['model', 'ports', 'api', 'access'],
  observe: ['model', 'ports'],
  watchdog: ['model', 'ports', 'observe'],
  settings: ['model', 'ports'],
  // The types of what was loaded are definitions'.
  cli: ['model', 'ports', 'definitions', 'access', 'observe', 'settings', 'main'],
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
    'observe',
    'watchdog',
    'settings',
  ],
}

/** Where each outside library may be used. */
const LIBRARIES: { readonly [library: string]: readonly string[] } = {
  xstate: ['definitions', 'engine'],
  acorn: ['definitions'],
  uuid: ['engine'],
  chokidar: ['definitions'],
  zod: ['api', 'definitions', 'access', 'http', 'settings', 'store/lmdb'],
  jiti: ['steps'],
  'quickjs-emscripten-core': ['steps'],
  '@jitl/quickjs-wasmfile-release-sync': ['steps'],
  ioredis: ['store/redis', 'alarms'],
  bullmq: ['alarms'],
  lmdb: ['store/lmdb'],
  'fs-native-extensions': ['store/lmdb'],
  hono: ['http'],
  'fast-xml-parser': ['http'],
  '@hono/node-server': ['http'],
  '@fastify/busboy': ['http'],
  pino: ['observe'],
  'pino-pretty': ['observe'],
}

interface Import {
  readonly from: string
  readonly to: string
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
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

function roomOf(file: string): string {
  const parts = file.replace(/\.ts$/, '').split('/')
  return parts[0] === 'store' ? `store/${parts[1]}` : (parts[0] ?? '')
}

const libraryOf = (to: string) =>
  to
    .split('/')
    .slice(0, to.startsWith('@') ? 2 : 1)
    .join('/')

describe('the house', () => {
  test('has files to look at', () => {
    expect(files.length).toBeGreaterThan(40)
    expect(inside.length).toBeGreaterThan(100)
  })

  test('has only rooms that are listed', () => {
    expect([...new Set(files.map(roomOf))].filter((room) => !Object.hasOwn(MAY, room))).toEqual([])
  })

  test('imports only along the arrows', () => {
    const wrong = inside.filter(
      ({ from, to }) => roomOf(from) !== roomOf(to) && !MAY[roomOf(from)]?.includes(roomOf(to)),
    )
    expect(wrong).toEqual([])
  })

  test('imports only files that are there', () => {
    expect(inside.filter(({ to }) => !files.includes(to))).toEqual([])
  })

  test('keeps each outside library in its room', () => {
    const outside = imports.filter(({ to }) => !to.startsWith('.') && !to.startsWith('node:'))
    expect(outside.filter(({ from, to }) => !LIBRARIES[libraryOf(to)]?.includes(roomOf(from)))).toEqual([])
  })

  test('has no cycles between files', () => {
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

  test('has no file that nobody needs', () => {
    const needed = new Set(inside.map(({ to }) => to))
    expect(files.filter((file) => !needed.has(file) && file !== 'main.ts' && file !== 'cli/actorflux.ts')).toEqual([])
  })
})
