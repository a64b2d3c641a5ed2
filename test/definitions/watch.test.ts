import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { watchFolders } from '../../src/definitions/watch.ts'
import { END, folderOf, open, write } from './catalog-files.ts'

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

test('dot-folders and node_modules below the folder are nobody\'s business, above it they don\'t matter', async () => {
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
  await watching(folder, async () => { faults((await catalog.reload()).length) })
  const comment = () => catalog.find('p', 'A')?.source['comment']
  await write(folder, { 'p/A.flux': '{ "comment": "sec' })
  await vi.waitFor(() => expect(faults).toHaveBeenLastCalledWith(1), 5000)
  expect(comment()).toBe('first')
  await write(folder, { 'p/A.flux': { ...END, comment: 'second' } })
  await vi.waitFor(() => expect(comment()).toBe('second'), 5000)
})
