import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { openCatalog } from '../../src/definitions/catalog.ts'
import { hashOf } from '../../src/definitions/pinned/text.ts'
import { stepRunner } from '../../src/steps/runner.ts'
import { silent } from '../support/silent.ts'
import { END, folderOf, open, write } from './catalog-files.ts'

const names = (fluxes: readonly { package: string; fluxName: string }[]) =>
  fluxes.map((flux) => `${flux.package}/${flux.fluxName}`)

const model = (field: string) => ({ type: 'model', gloopProperties: [{ name: field }] })
const refers = (reference: string) => ({ input: [{ name: 'x', type: 'model', reference }], ...END })
const commented = (comment: string) => ({ comment, ...END })

describe('finding services', () => {
  test('by package and name, in every package, and from inside one', async () => {
    const { catalog } = await open(
      await folderOf({ 'a/S.flux': END, 'b/S.flux': END, 'b/sub/Only.flux': END, 'c/constructor.flux': END }),
    )
    expect(catalog.packages()).toEqual(['a', 'b', 'c'])
    expect(names(catalog.all())).toEqual(['a/S', 'b/S', 'b/sub.Only', 'c/constructor'])
    expect(catalog.find('b', 'S')?.package).toBe('b')
    expect(catalog.find('c', 'S')).toBeUndefined()
    expect(names(catalog.findAnywhere('S'))).toEqual(['a/S', 'b/S'])
    expect(catalog.findAnywhere('toString')).toEqual([])
    expect(catalog.resolve('b', 'S')).toMatchObject({ package: 'b' })
    expect(catalog.resolve('a', 'sub.Only')).toMatchObject({ package: 'b' })
    expect(catalog.resolve('c', 'S')).toBe('ambiguous')
    expect(catalog.resolve('c', 'None')).toBeUndefined()
  })

  test('by the event that triggers them, in a stable order', async () => {
    const triggered = { ...END, triggers: ['go', 'go', 'other'] }
    const { catalog } = await open(
      await folderOf({
        'b/A.flux': triggered,
        'a/B.flux': triggered,
        'a/A.flux': { ...END, triggers: ['go'] },
        'a/C.flux': END,
      }),
    )
    expect(names(catalog.triggeredBy('go'))).toEqual(['a/A', 'a/B', 'b/A'])
    expect(names(catalog.triggeredBy('other'))).toEqual(['a/B', 'b/A'])
    expect(catalog.triggeredBy('__proto__')).toEqual([])
  })

  test('a model is sought in the own package first, then in the only other that has it', async () => {
    const { catalog, report } = await open(
      await folderOf({
        'a/M.model': model('ofA'),
        'b/M.model': model('ofB'),
        'b/lib/N.model': model('ofN'),
        'a/Own.flux': refers('M'),
        'a/Far.flux': refers('lib.N'),
        'c/Ambiguous.flux': refers('M'),
      }),
    )
    const fields = (fluxName: string) => [
      ...(catalog.find('a', fluxName)?.input.properties.get('x')?.fields()?.properties.keys() ?? []),
    ]
    expect(fields('Own')).toEqual(['ofA'])
    expect(fields('Far')).toEqual(['ofN'])
    expect(report).toMatchObject([
      { severity: 'fault', pointer: '/input/0/reference', file: expect.stringContaining('c/Ambiguous.flux') },
    ])
  })
})

const hook = (urlPath: string) => ({ ...END, webhooks: [{ urlPath, httpMethods: ['GET'] }] })

describe('reading again', () => {
  test('takes webhooks along', async () => {
    const folder = await folderOf({ 'p/A.flux': hook('/old'), 'p/B.flux': hook('/b/{id}') })
    const { catalog } = await open(folder)
    const found = (...segments: string[]) => catalog.endpoints().find('GET', segments)
    expect(found('old')).toMatchObject({ endpoint: { fluxName: 'A' } })
    await write(folder, { 'p/A.flux': hook('/new'), 'p/C.flux': hook('/b/{name}') })
    expect((await catalog.reload()).map(({ reason }) => reason)).toEqual([
      expect.stringContaining('webhook clash'),
      expect.stringContaining('webhook clash'),
    ])
    expect(found('old')).toBeNull()
    expect(found('new')).toMatchObject({ endpoint: { fluxName: 'A' } })
    expect(found('b', '7')).toMatchObject({ endpoint: { fluxName: 'B' }, parameters: new Map([['id', '7']]) })
  })

  test('takes changes over, and a service with a fault stays as it was', async () => {
    const folder = await folderOf({
      'p/A.flux': commented('old'),
      'p/B.flux': commented('old'),
      'p/C.flux': commented('old'),
      'p/Gone.flux': END,
    })
    const { catalog } = await open(folder)
    await write(folder, {
      'p/A.flux': commented('new'),
      'p/B.flux': '{ not yet',
      'p/C.flux': { comment: 'new', states: [] },
      'p/D.flux': '{',
      'q/E.flux': END,
    })
    await rm(join(folder, 'p/Gone.flux'))
    const faults = await catalog.reload()
    expect(faults.map(({ file }) => file.slice(folder.length + 1)).sort()).toEqual(['p/B.flux', 'p/C.flux', 'p/D.flux'])
    expect(catalog.all().map((flux) => [flux.fluxName, flux.source['comment']])).toEqual([
      ['A', 'new'],
      ['B', 'old'],
      ['C', 'old'],
      ['E', undefined],
    ])
    await write(folder, { 'p/B.flux': commented('mended') })
    await Promise.all([catalog.reload(), catalog.reload()])
    expect(catalog.find('p', 'B')?.source['comment']).toBe('mended')
  })

  test('a folder that is not there hides no fault of another, and leaves what is loaded as it was', async () => {
    const [folder, other] = [await folderOf({ 'p/A.flux': { states: [] } }), await folderOf({ 'q/B.flux': END })]
    await rm(other, { recursive: true })
    const { report, complete } = await open(folder, other)
    expect(report.map(({ file }) => file)).toEqual(expect.arrayContaining([join(folder, 'p/A.flux'), other]))
    expect(complete).toBe(false)
    await write(other, { 'q/B.flux': END })
    const runner = stepRunner({ log: silent })
    const mount = vi.spyOn(runner, 'mount')
    const { catalog } = await openCatalog({ folders: [other], runner, log: silent })
    await rm(other, { recursive: true })
    expect(await catalog.reload()).toHaveLength(1)
    // The functions that are loaded stay, too.
    expect(mount).toHaveBeenCalledTimes(1)
    expect(catalog.find('q', 'B')).toBeDefined()
  })

  test('a model that breaks leaves its services as they were', async () => {
    const folder = await folderOf({
      'p/M.model': { type: 'model', gloopProperties: [] },
      'p/A.flux': { input: [{ name: 'x', type: 'model', reference: 'M' }], ...END },
    })
    const { catalog } = await open(folder)
    const before = catalog.find('p', 'A')
    await write(folder, { 'p/M.model': '{' })
    expect((await catalog.reload()).some(({ severity }) => severity === 'fault')).toBe(true)
    expect(catalog.find('p', 'A')).toBe(before)
  })

  test('a function that is missing now is a fault', async () => {
    const folder = await folderOf({
      'p/m.ts': 'export const f = () => 1',
      'p/A.flux': { states: [{ name: 'a', action: { type: 'invokeCode', className: 'm', methodName: 'f' } }] },
    })
    const { catalog, report } = await open(folder)
    expect(report).toEqual([])
    await write(folder, { 'p/m.ts': 'export const g = () => 1' })
    expect(await catalog.reload()).toMatchObject([
      { pointer: '/states/0/action', reason: 'module "m" doesn\'t export "f"; there is g' },
    ])
  })
})

describe('pinned definitions', () => {
  test('those that are there now need no store', async () => {
    const { catalog } = await open(await folderOf({ 'p/A.flux': END }))
    const flux = catalog.find('p', 'A')
    if (flux === undefined) throw new Error('not loaded')
    expect(await catalog.compiled(flux.hash, () => Promise.reject(new Error('asked')))).toBe(flux)
  })

  test('older ones come from the store, once for all who ask', async () => {
    const folder = await folderOf({ 'p/A.flux': { comment: 'old', ...END } })
    const { catalog } = await open(folder)
    const old = catalog.find('p', 'A')
    if (old === undefined) throw new Error('not loaded')
    await write(folder, { 'p/A.flux': { comment: 'new', ...END } })
    await catalog.reload()
    let loads = 0
    const load = async () => {
      loads += 1
      return old.text
    }
    const [one, other] = await Promise.all([catalog.compiled(old.hash, load), catalog.compiled(old.hash, load)])
    expect(one.source['comment']).toBe('old')
    expect([other === one, (await catalog.compiled(old.hash, load)) === one, loads]).toEqual([true, true, 1])
    expect(catalog.find('p', 'A')?.source['comment']).toBe('new')
  })

  test('one that is missing, damaged or broken fails alone, and is asked for again', async () => {
    const { catalog } = await open(await folderOf({ 'p/A.flux': END }))
    const text = catalog.find('p', 'A')?.text ?? ''
    await expect(catalog.compiled('00', async () => null)).rejects.toThrow('not stored')
    await expect(catalog.compiled('00', async () => text)).rejects.toThrow('another one')
    const [stateless, damaged] = [text.replace('"states"', '"stages"'), text.slice(1)]
    await expect(catalog.compiled(hashOf(stateless), async () => stateless)).rejects.toThrow('no longer compiles')
    await expect(catalog.compiled(hashOf(damaged), async () => damaged)).rejects.toThrow('no definition')
    await expect(catalog.compiled('00', () => Promise.reject(new Error('out of reach')))).rejects.toThrow(
      'out of reach',
    )
  })

  test('only so many are kept', async () => {
    const { catalog } = await open(await folderOf({ 'p/A.flux': END }))
    const { compileFlux } = await import('../../src/definitions/service.ts')
    const { Report } = await import('../../src/definitions/report.ts')
    let loads = 0
    const ask = (fluxName: string) => {
      const flux = compileFlux({ package: 'p', fluxName, source: END, models: new Map() }, new Report(fluxName))
      return flux === null
        ? null
        : catalog.compiled(flux.hash, async () => {
            loads += 1
            return flux.text
          })
    }
    await ask('first')
    await ask('second')
    for (let i = 0; i < 255; i++) {
      await ask('first')
      await ask(`n${i}`)
    }
    await ask('first')
    expect(loads).toBe(257)
    await ask('second')
    expect(loads).toBe(258)
  })
})
