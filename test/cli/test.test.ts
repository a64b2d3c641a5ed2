import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { describe, expect, test, vi } from 'vitest'
import { STEPS } from '../../src/testing/scenario/schema.ts'
import { folderOf, write, type Files } from '../definitions/catalog-files.ts'
import { commandLines } from './world.ts'

const DOOR = {
  states: [
    {
      name: 'Open',
      waiting: true,
      transitions: [
        { event: 'close', to: 'Closed' },
        { wait: 'duration:60', to: 'Late' },
      ],
    },
    { name: 'Closed' },
    { name: 'Late' },
  ],
}
const closed = {
  service: 'Door',
  name: 'it is <closed> & done',
  start: {},
  [STEPS]: [{ send: 'close' }, { expect: { state: 'Closed' } }],
}
const late = {
  service: 'Door',
  name: 'it is late',
  start: {},
  [STEPS]: [{ advance: '1m' }, { expect: { state: 'Late' } }],
}
const wrong = { ...late, name: 'it is wrong', [STEPS]: [{ expect: { state: 'Late' } }] }

const open = (files: Files = {}) => folderOf({ 'p/Door.flux': DOOR, 'p/a.scenario.json': closed, ...files })
const run = (args: string[], env: Record<string, string> = {}) => commandLines(['test', ...args], env)

describe('actorflux test', () => {
  test('runs what is there, and names what was never taken', async () => {
    const { code, out, err } = await run([await open()])
    expect({ code, err }).toEqual({ code: 0, err: [] })
    expect(out[0]).toMatch(/^ok {5}p\/Door it is <closed> & done \(\d+ ms\)$/)
    expect(out).toContain('SERVICE  STATES  TRANSITIONS')
    expect(out).toContain('p/Door   2 of 3  1 of 2')
    expect(out).toContain('  p/Door: Late')
    expect(out).toContain('  p/Door: Open → Late (wait)')
    expect(out.at(-1)).toMatch(/^1 scenario in \d+\.\d s: all as expected$/)
  })

  test('exits with 1 for a failure, and shows it', async () => {
    const folder = await open({ 'p/b.scenario.json': wrong })
    const { code, out } = await run([folder])
    expect(code).toBe(1)
    const text = out.join('\n')
    expect(text).toMatch(
      /failed p\/Door it is wrong \(\d+ ms\)\n {2}\S+b\.scenario\.json:1:\d+ #\/then\/0: context 1 is not as expected/,
    )
    expect(text).toContain('    /expect/state: expected "Late"\n                   seen     "Open"')
    expect(text).toContain('  the way that was taken:\n    p/Door: Open')
    expect(out.at(-1)).toMatch(/^2 scenarios in .* s: 1 failed$/)
  })

  test('exits with 1 for a faulty file, a faulty service, and where there is no scenario', async () => {
    expect(await run([await open({ 'p/b.scenario.json': { ...late, nmae: 1 } })])).toMatchObject({ code: 1 })
    const faulty = await run([await open({ 'p/Bad.flux': { states: [] } })])
    expect(faulty).toMatchObject({
      code: 1,
      out: [],
      err: [expect.stringMatching(/Bad\.flux:1:\d+ #\/states: there are no states/)],
    })
    expect(await run([await folderOf({ 'p/Door.flux': DOOR })])).toMatchObject({
      code: 1,
      err: [expect.stringContaining('no scenario was found')],
    })
  })

  test('exits with 1 where there is no service', async () => {
    const { code, out, err } = await run([join(await open(), 'p')])
    expect({ code, out }).toEqual({ code: 1, out: [] })
    expect(err.join()).toContain('no service was found')
  })

  test.each([
    [['nowhere'], 'there is no folder nowhere'],
    [['package.json'], 'there is no folder package.json'],
    [['--min', 'all'], '--min must be a number from 0 to 100'],
    [['--min', '101'], '--min must be a number from 0 to 100'],
    [['--fast'], 'there is no option --fast'],
  ])('exits with 2 for %j', async (args, message) => {
    const { code, err } = await run(args, { ACTORFLUX_ACTORS: await open() })
    expect(code).toBe(2)
    expect(err.join('\n')).toContain(message)
  })

  test('--min asks for a share of the transitions of each service', async () => {
    const folder = await open()
    expect(await run([folder, '--min', '50'])).toMatchObject({ code: 0 })
    expect(await run([folder, '--min', '51'])).toMatchObject({
      code: 1,
      err: ['p/Door: less than 51% of its transitions are taken'],
    })
    await write(folder, { 'p/b.scenario.json': late })
    expect(await run([folder, '--min', '100'])).toMatchObject({ code: 0 })
  })

  test('a folder within ACTORFLUX_ACTORS is a part of it', async () => {
    const folder = await open({ 'q/Other.flux': DOOR, 'q/b.scenario.json': { ...wrong, service: 'p/Door' } })
    const env = { ACTORFLUX_ACTORS: folder }
    expect(await run([], env)).toMatchObject({ code: 1 })
    const { code, out } = await run([join(folder, 'p')], env)
    expect(code).toBe(0)
    expect(out.join('\n')).not.toContain('q/Other')
  })

  test('so is one that has scenarios alone', async () => {
    const folder = await open({ 'p/more/b.scenario.json': late })
    const { code, out } = await run([join(folder, 'p/more')], { ACTORFLUX_ACTORS: folder })
    expect({ code, out: out.join() }).toEqual({ code: 0, out: expect.stringMatching(/^ok .* it is late/) })
    expect(await run([join(folder, 'p')], { ACTORFLUX_ACTORS: `${folder}/nowhere` })).toMatchObject({ code: 1 })
  })

  test('what functions print is on stderr', async () => {
    const action = { type: 'invokeCode', className: 'fns', methodName: 'f' }
    const folder = await open({
      'p/fns.mjs': "process.stdout.write('loaded\\n')\nexport const f = () => void process.stdout.write('called\\n')",
      'p/Say.flux': { states: [{ name: 'a', action }] },
      'p/b.scenario.json': { service: 'Say', name: 'it speaks', start: {}, [STEPS]: [] },
    })
    const [out, err] = [vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write')]
    try {
      await run([folder, '--json'])
      expect([out, err].map(({ mock }) => mock.calls.map(([text]) => text))).toEqual([[], ['loaded\n', 'called\n']])
    } finally {
      out.mockRestore()
      err.mockRestore()
    }
  })

  test('--filter chooses', async () => {
    const folder = await open({ 'p/b.scenario.json': wrong })
    expect(await run([folder, '--filter', 'closed'])).toMatchObject({ code: 0 })
  })

  test('--json writes a line for each scenario', async () => {
    const { code, out } = await run([await open({ 'p/b.scenario.json': wrong }), '--json'])
    expect(code).toBe(1)
    expect(out.map((line) => JSON.parse(line))).toEqual([
      {
        scenario: closed.name,
        file: expect.stringMatching(/a\.scenario\.json$/),
        service: 'p/Door',
        ok: true,
        milliseconds: expect.any(Number),
        failure: null,
      },
      expect.objectContaining({ ok: false, failure: expect.objectContaining({ pointer: '/then/0', line: 1 }) }),
    ])
  })

  test('--coverage draws diagrams in which what was never taken is marked', async () => {
    const { out } = await run([await open(), '--coverage'])
    const text = out.join('\n')
    expect(text).toContain('%% p/Door\nstateDiagram-v2\n')
    expect(text).toContain('  s0 --> s1: close\n  s0 --> s2: after 1 min, never taken\n')
    expect(text).toContain('  class s2 never')
  })

  test('--junit writes well-formed XML', async () => {
    const folder = await open({
      'p/b.scenario.json': wrong,
      'p/c.scenario.json': '{',
      'p/d.scenario.json': { ...closed, name: 'true' },
      'p/e.scenario.json': { ...closed, name: 'a\uFFFEb\uFFFF' },
    })
    const file = join(folder, 'report.xml')
    expect(await run([folder, '--junit', file])).toMatchObject({ code: 1 })
    const text = await readFile(file, 'utf8')
    expect(XMLValidator.validate(text)).toBe(true)
    const { testsuites } = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: '' }).parse(text)
    expect(testsuites.testsuite).toMatchObject({ tests: '5', failures: '2' })
    expect(testsuites.testsuite.testcase.map(({ name }: { name: string }) => name)).toEqual([
      closed.name,
      wrong.name,
      'p/c.scenario.json',
      'true',
      'a\\ufffeb\\uffff',
    ])
    expect(testsuites.testsuite.testcase[1].failure['#text']).toContain('expected "Late"')
  })

  test('--schema prints the schema of files on one line', async () => {
    const { code, out } = await run(['--schema'])
    expect(code).toBe(0)
    expect(out).toHaveLength(1)
    expect(JSON.parse(out[0] ?? '')).toMatchObject({ type: 'object', required: ['service', 'name', 'then'] })
  })

  test('--watch runs them again when a file changes', async () => {
    const action = { type: 'invokeCode', className: 'fns', methodName: 'f', outputs: [{ from: ['by'], to: ['by'] }] }
    const asked = { service: 'Ask', name: 'it asks', start: {}, [STEPS]: [{ expect: { output: { by: 'Ada' } } }] }
    const folder = await open({
      'p/fns.mjs': "export const f = () => ({ by: 'Ada' })",
      'p/Ask.flux': { output: [{ name: 'by' }], states: [{ name: 'a', action }] },
      'p/b.scenario.json': asked,
    })
    const stop = new AbortController()
    const lines: string[] = []
    const summaries = () => lines.filter((line) => line.includes('scenarios in'))
    const running = commandLines(
      ['test', folder, '--watch'],
      {},
      { interrupted: () => stop.signal, out: (line) => void lines.push(line) },
    )
    await expect.poll(() => summaries().length, { timeout: 10_000 }).toBe(1)
    await write(folder, { 'p/a.scenario.json': { ...wrong, [STEPS]: [{ expect: { state: 'Late' } }] } })
    await expect.poll(() => summaries().length, { timeout: 10_000 }).toBe(2)
    expect(summaries()[1]).toContain('1 failed')
    await write(folder, { 'p/fns.mjs': "export const f = () => ({ by: 'Bob' })" })
    await expect.poll(() => summaries().length, { timeout: 10_000 }).toBe(3)
    expect(summaries()[2]).toContain('2 failed')
    stop.abort()
    expect((await running).code).toBe(1)
  })

  test('--watch ends with Ctrl-C also at its first look', async () => {
    const folder = await open()
    const { code } = await commandLines(
      ['test', folder, '--watch'],
      {},
      {
        interrupted() {
          const stop = new AbortController()
          setImmediate(() => stop.abort())
          return stop.signal
        },
      },
    )
    expect(code).toBe(0)
  })
})
