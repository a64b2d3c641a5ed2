import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { stepRunner } from '../../src/steps/runner.ts'
import { openCatalog } from '../../src/definitions/catalog.ts'
import { watchFolders } from '../../src/definitions/watcher.ts'
import { END, folderOf, open, write } from './catalog-files.ts'
import { silent } from '../support/silent.ts'

const settle = () => pause(400)

async function watching(folder: string, onChange: () => void | Promise<void>) {
  const watcher = await watchFolders([folder], onChange)
  onTestFinished(() => watcher.close())
  return watcher
}

test('a burst of changes is told once, and what was there before not at all', async () => {
  const folder = await folderOf({ 'p/A.flux': END })
  const onChange = vi.fn()
  await watching(folder, onChange)
  await settle()
  expect(onChange).toHaveBeenCalledTimes(0)
  await write(folder, { 'p/A.flux': { ...END, comment: '1' }, 'p/B.flux': END, 'q/m.ts': '' })
  await vi.waitFor(() => expect(onChange).toHaveBeenCalledTimes(1), 5000)
  await settle()
  expect(onChange).toHaveBeenCalledTimes(1)
  await rm(join(folder, 'p/B.flux'))
  await vi.waitFor(() => expect(onChange).toHaveBeenCalledTimes(2), 5000)
})

test("dot-folders and node_modules below the folder are nobody's business, above it they don't matter", async () => {
  const folder = join(await folderOf({ '.hidden/node_modules/actors/p/A.flux': END }), '.hidden/node_modules/actors')
  const onChange = vi.fn()
  await watching(folder, onChange)
  await write(folder, { 'p/.cache/x': '1', 'p/node_modules/y/z.js': '1' })
  await settle()
  expect(onChange).toHaveBeenCalledTimes(0)
  await write(folder, { 'p/A.flux': {} })
  await vi.waitFor(() => expect(onChange).toHaveBeenCalledTimes(1), 5000)
})

test('changes during a reload are told after it, and a reload that fails ends nothing', async () => {
  const folder = await folderOf({ 'p/A.flux': END })
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  let running = 0
  let most = 0
  let times = 0
  await watching(folder, async () => {
    most = Math.max(most, ++running)
    await pause(300)
    running -= 1
    times += 1
    throw new Error('no luck')
  })
  await write(folder, { 'p/A.flux': {} })
  await vi.waitFor(() => expect(running).toBe(1), 5000)
  await write(folder, { 'p/A.flux': { a: 1 } })
  await vi.waitFor(() => expect(times).toBe(2), 5000)
  expect(most).toBe(1)
  expect(warned).toHaveBeenCalledTimes(2)
})

test('a folder that is moved away is followed again when it comes back, and so is another in its place', async () => {
  const folder = join(await folderOf({ 'actors/p/A.flux': END }), 'actors')
  const onChange = vi.fn()
  await watching(folder, onChange)
  const told = async (change: () => Promise<unknown>) => {
    await pause(1500)
    onChange.mockClear()
    await change()
    await vi.waitFor(() => expect(onChange).toHaveBeenCalled(), 5000)
  }
  await told(() => rename(folder, `${folder}.old`))
  await told(() => rename(`${folder}.old`, folder))
  await told(() => write(folder, { 'p/A.flux': {} }))
  await told(async () => {
    await rename(folder, `${folder}.old`)
    await mkdir(folder)
  })
  await told(() => write(folder, { 'p/A.flux': END }))
  // The new folder may get the number of the old one.
  await told(async () => {
    await rm(folder, { recursive: true })
    await mkdir(folder)
  })
  await told(() => write(folder, { 'p/A.flux': END }))
}, 30_000)

test('services run on as they were while their folder is away', async () => {
  const [one, other] = [await folderOf({ 'actors/p/A.flux': END }), await folderOf({ 'q/B.flux': END })]
  const runner = stepRunner({ log: silent })
  const { catalog } = await openCatalog({ folders: [join(one, 'actors'), other], runner, log: silent })
  const mount = vi.spyOn(runner, 'mount')
  await rename(join(one, 'actors'), join(one, 'away'))
  expect(await catalog.reload()).toEqual([
    { severity: 'fault', file: join(one, 'actors'), pointer: '', reason: 'there is no such folder' },
  ])
  expect(catalog.all().map(({ fluxName }) => fluxName)).toEqual(['A', 'B'])
  // So do their functions.
  expect(mount).not.toHaveBeenCalled()
  await rename(join(one, 'away'), join(one, 'actors'))
  await write(one, { 'actors/p/C.flux': END })
  expect(await catalog.reload()).toEqual([])
  expect(catalog.all().map(({ fluxName }) => fluxName)).toEqual(['A', 'C', 'B'])
})

test('nothing is told after it is closed', async () => {
  const folder = await folderOf({ 'p/A.flux': END })
  const onChange = vi.fn()
  const watcher = await watchFolders([folder], onChange)
  await watcher.close()
  await write(folder, { 'p/A.flux': {} })
  await settle()
  expect(onChange).toHaveBeenCalledTimes(0)
})

test('a service that is saved half-written keeps its last good version until it is whole', async () => {
  const folder = await folderOf({ 'p/A.flux': { ...END, comment: 'first' } })
  const { catalog } = await open(folder)
  const faults = vi.fn()
  await watching(folder, async () => {
    faults((await catalog.reload()).length)
  })
  const comment = () => catalog.find('p', 'A')?.source['comment']
  await write(folder, { 'p/A.flux': '{ "comment": "sec' })
  await vi.waitFor(() => expect(faults).toHaveBeenLastCalledWith(1), 5000)
  expect(comment()).toBe('first')
  await write(folder, { 'p/A.flux': { ...END, comment: 'second' } })
  await vi.waitFor(() => expect(comment()).toBe('second'), 5000)
})
