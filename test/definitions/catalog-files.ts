// Folders of packages as tests write them, and what loading them comes to.
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { stepRunner } from '../../src/steps/runner.ts'
import { openCatalog } from '../../src/definitions/catalog.ts'
import { readFolders } from '../../src/definitions/source/files.ts'
import { disagreement } from './editor/agreement.ts'
import { newFolder } from '../support/at-end.ts'
import { silent } from '../support/silent.ts'

/** Path below the folder to content; what isn't text or bytes becomes JSON. */
export type Files = { readonly [path: string]: unknown }

/** A new folder, gone when the test is over. */
export async function folderOf(files: Files): Promise<string> {
  const folder = await newFolder()
  await write(folder, files)
  return folder
}

export async function write(folder: string, files: Files): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(
      join(folder, path),
      typeof content === 'string' || content instanceof Uint8Array ? content : JSON.stringify(content),
    )
  }
}

/** Loads the services, and checks for each file that the JSON Schema for editors agrees with what loading says. */
export async function open(...folders: string[]): ReturnType<typeof openCatalog> {
  const opened = await openCatalog({ folders, runner: stepRunner({ log: silent }), log: silent })
  const { fluxes, models } = await readFolders(folders)
  for (const [kind, files] of [['flux', fluxes] as const, ['model', models] as const])
    for (const { file, source } of files) {
      const own = opened.report.filter((fault) => fault.file === file)
      if (source !== null) expect(disagreement(kind, source, own)).toBeNull()
    }
  return opened
}

/** A service that is right: one state, which is its end. */
export const END = { states: [{ name: 'end' }] }
