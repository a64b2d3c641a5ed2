import { execFileSync } from 'node:child_process'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readFolders } from '../../src/definitions/source/files.ts'
import { folderOf } from './catalog-files.ts'

const namesOf = (files: readonly { package: string; name: string }[]) =>
  files.map((file) => `${file.package}/${file.name}`)

const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'))

describe('packages', () => {
  test('a service is named by its sub-folders and its file, joined by periods', async () => {
    const folder = await folderOf({
      'shop/Order.flux': {},
      'shop/flux/deep/Polling.flux': {},
      'shop/flux/a.b.flux': {},
      'shop/data/Item.model': {},
    })
    const { packages, fluxes, models, faults } = await readFolders([folder])
    expect(packages).toEqual([{ name: 'shop', root: join(folder, 'shop') }])
    expect(namesOf(fluxes)).toEqual(['shop/Order', 'shop/flux.a.b', 'shop/flux.deep.Polling'])
    expect(namesOf(models)).toEqual(['shop/data.Item'])
    expect(faults).toEqual([])
  })

  test('a folder "code" in a package is the root for names instead', async () => {
    const folder = await folderOf({ 'shop/code/flux/Order.flux': {}, 'shop/Outside.flux': {} })
    const { packages, fluxes } = await readFolders([folder])
    expect(packages).toEqual([{ name: 'shop', root: join(folder, 'shop/code') }])
    expect(namesOf(fluxes)).toEqual(['shop/flux.Order'])
  })

  test('a folder whose name is no package name, and a service in no package, are skipped with a warning', async () => {
    const folder = await folderOf({ 'my shop/A.flux': {}, 'ok-1_A/A.flux': {}, 'Stray.flux': {} })
    const { fluxes, faults } = await readFolders([folder])
    expect(namesOf(fluxes)).toEqual(['ok-1_A/A'])
    expect(faults).toMatchObject([
      { severity: 'warning', file: join(folder, 'Stray.flux'), reason: expect.stringContaining('no package') },
      { severity: 'warning', file: join(folder, 'my shop'), reason: expect.stringContaining('letters, digits') },
    ])
  })

  test('nothing is sought in dot-folders and node_modules', async () => {
    const folder = await folderOf({
      '.git/A.flux': {},
      'node_modules/A.flux': {},
      'p/.cache/A.flux': {},
      'p/node_modules/x/A.flux': {},
      'p/.flux': {},
      'p/B.flux': {},
    })
    expect(await readFolders([folder])).toMatchObject({
      packages: [{ name: 'p' }],
      fluxes: [{ name: 'B' }],
      faults: [],
    })
  })

  test('links are followed, but not round in circles', async () => {
    const folder = await folderOf({ 'p/A.flux': {}, 'elsewhere/x/B.flux': {} })
    await symlink(join(folder, 'elsewhere/x'), join(folder, 'p/linked'))
    await symlink(join(folder, 'p'), join(folder, 'p/again'))
    await symlink(join(folder, 'nowhere'), join(folder, 'p/broken'))
    const { fluxes, faults } = await readFolders([folder])
    expect(namesOf(fluxes)).toEqual(['elsewhere/x.B', 'p/A', 'p/linked.B'])
    expect(faults).toMatchObject([{ severity: 'warning', file: join(folder, 'p/again') }])
  })

  test('one package in two folders is one package', async () => {
    const [first, second] = [await folderOf({ 'p/A.flux': {} }), await folderOf({ 'p/B.flux': {} })]
    const { packages, fluxes, faults } = await readFolders([first, second, first])
    expect(packages.map(({ root }) => root)).toEqual([join(first, 'p'), join(second, 'p')])
    expect(namesOf(fluxes)).toEqual(['p/A', 'p/B'])
    expect(faults).toEqual([])
  })

  test('two files that give one name in a package are a fault that names the other', async () => {
    const [first, second] = [
      await folderOf({ 'p/a.b.flux': {}, 'p/a/b.flux': {} }),
      await folderOf({ 'p/code/a/b.flux': {} }),
    ]
    const { faults } = await readFolders([first, second])
    const reason = `${join(first, 'p/a/b.flux')} has the same name, "a.b" in package "p"`
    expect(faults).toEqual([
      { severity: 'fault', file: join(first, 'p/a.b.flux'), pointer: '', reason },
      { severity: 'fault', file: join(second, 'p/code/a/b.flux'), pointer: '', reason },
    ])
  })
})

describe('folders', () => {
  test('one that is not there is a fault, an empty one a warning', async () => {
    const folder = await folderOf({ 'plain.txt': '' })
    await mkdir(join(folder, 'empty'))
    const { faults } = await readFolders([join(folder, 'none'), join(folder, 'empty'), join(folder, 'plain.txt')])
    expect(faults).toEqual([
      { severity: 'fault', file: join(folder, 'none'), pointer: '', reason: 'there is no such folder' },
      { severity: 'warning', file: join(folder, 'empty'), pointer: '', reason: 'there is no package in this folder' },
      { severity: 'fault', file: join(folder, 'plain.txt'), pointer: '', reason: 'this is not a folder' },
    ])
  })
})

describe('files', () => {
  test.each<[string, string | Uint8Array, string]>([
    ['an unquoted word', '{\n  "states": [\n    oops\n  ]\n}', 'not valid JSON: unexpected "o" at line 3, column 5'],
    ['a trailing comma', '{"a": 1,\r\n}', 'not valid JSON: unexpected "}" at line 2, column 1'],
    ['a trailing comma in a list', '[1, ]', 'not valid JSON: unexpected "]" at line 1, column 5'],
    ['an end too early', '{"a": [1, 2', 'not valid JSON: unexpected the end of the file at line 1, column 12'],
    ['an empty file', '', 'not valid JSON: unexpected the end of the file at line 1, column 1'],
    ['a missing colon', '{"a" 1}', 'not valid JSON: unexpected "1" at line 1, column 6'],
    ['text after the end', '{}\n{}', 'not valid JSON: unexpected "{" at line 2, column 1'],
    ['a comment', '{ // no\n}', 'not valid JSON: unexpected "/" at line 1, column 3'],
    ['a number that is none', '{"a": 01}', 'not valid JSON: unexpected "1" at line 1, column 8'],
    ['a raw line break in a text', '{"a": "b\nc"}', 'not valid JSON: unexpected "\\n" at line 1, column 9'],
    ['a list', '[]', 'the file must hold a JSON object'],
    ['null', 'null', 'the file must hold a JSON object'],
    ['bytes that are no text', bytes('{"a": "\xff"}'), 'not text in UTF-8'],
    ['endless nesting', '['.repeat(100_000) + ']'.repeat(100_000), 'nested deeper than 100'],
  ])('%s is a fault that says where', async (_, content, reason) => {
    const folder = await folderOf({ 'p/A.flux': content })
    const { fluxes, faults } = await readFolders([folder])
    const [, line, column] = /line (\d+), column (\d+)$/.exec(reason) ?? []
    expect(faults).toEqual([
      {
        severity: 'fault',
        file: join(folder, 'p/A.flux'),
        pointer: '',
        reason,
        ...(line !== undefined && { line: Number(line), column: Number(column) }),
      },
    ])
    expect(fluxes).toMatchObject([{ name: 'A', source: null }])
  })

  test('a key that is there twice is a warning that says where, and the last one counts', async () => {
    const folder = await folderOf({
      'p/A.flux':
        '{"secured": true, "states": [{}, {"a/b": {"x": 1, "y": {}, "\\u0078": 2, "x": 3}}], "a": {"a": [{"a": 1}, {"a": 1}]}, "secured": false}',
    })
    const {
      fluxes: [flux],
      faults,
    } = await readFolders([folder])
    const told = {
      severity: 'warning',
      file: join(folder, 'p/A.flux'),
      reason: 'this key is there more than once: the last one counts',
      part: 'key',
    }
    expect(faults).toEqual([
      { ...told, pointer: '/states/1/a~1b/x', line: 1, column: 73 },
      { ...told, pointer: '/secured', line: 1, column: 118 },
    ])
    expect(flux?.source).toMatchObject({ secured: false, states: [{}, { 'a/b': { x: 3 } }] })
  })

  test('a pipe is skipped with a warning, whether it is a link to one or not; a link to a file is read', async () => {
    const folder = await folderOf({ 'p/A.flux': {}, 'elsewhere.json': {} })
    execFileSync('sh', ['-c', 'mkfifo "$0"', join(folder, 'p/B.flux')])
    await symlink(join(folder, 'p/B.flux'), join(folder, 'p/C.model'))
    await symlink(join(folder, 'elsewhere.json'), join(folder, 'p/D.flux'))
    await symlink(join(folder, 'none'), join(folder, 'p/E.flux'))
    const { fluxes, models, faults } = await readFolders([folder])
    expect([namesOf(fluxes), models]).toEqual([['p/A', 'p/D', 'p/E'], []])
    expect(faults).toEqual([
      { severity: 'warning', file: join(folder, 'p/B.flux'), pointer: '', reason: 'skipped: it is no regular file' },
      { severity: 'warning', file: join(folder, 'p/C.model'), pointer: '', reason: 'skipped: it is no regular file' },
      { severity: 'fault', file: join(folder, 'p/E.flux'), pointer: '', reason: expect.stringContaining('ENOENT') },
    ])
  })

  test('a byte order mark, any Unicode name and any key are taken', async () => {
    const folder = await folderOf({ 'p/Überweisung 支払.flux': '\ufeff{"__proto__": {"a": 1}, "constructor": 2}' })
    const {
      fluxes: [flux],
      faults,
    } = await readFolders([folder])
    expect(faults).toEqual([])
    expect(flux?.name).toBe('Überweisung 支払')
    expect(JSON.stringify(flux?.source)).toBe('{"__proto__":{"a":1},"constructor":2}')
  })
})
