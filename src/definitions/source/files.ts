// definitions: reads the files of packages. It reports only what can't be read; it does not check the content.
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { messageOf } from '../../model/error-message.ts'
import { isObject, type JsonObject } from '../../model/json/value.ts'
import type { PackageFolder } from '../../ports/steps.ts'
import type { Fault } from '../report.ts'
import { JsonFault, readJson } from './json.ts'

/** A `.flux` or `.model` file. */
export interface DefinitionFile {
  readonly package: string
  /** Sub-folders and file name, joined by periods: the fluxName, or the name of a model in a `reference`. */
  readonly name: string
  /** Path of the file, for reports. */
  readonly file: string
  /** Content of the file; null if it can't be read, which a fault explains. */
  readonly source: JsonObject | null
  /** Where the parts of the file are; null if it can't be read. */
  readonly placeOf: ReturnType<typeof readJson>['placeOf'] | null
}

const PACKAGE_NAME = /^[A-Za-z\d_-]+$/

/** Whether the name of a file or folder says that there is nothing of a package in it. */
export const isIgnored = (name: string): boolean => name.startsWith('.') || name === 'node_modules'

/** Reads all packages below the folders, in a stable order. */
export async function readFolders(folders: readonly string[]) {
  const reader = new FolderReader()
  const seen = new Set<string>()
  for (const folder of folders) {
    const real = await realPathOf(folder)
    if (!seen.has(real)) await reader.folder(folder)
    seen.add(real)
  }
  return reader
}

class FolderReader {
  /** A package that is in several folders has an entry for each. */
  readonly packages: PackageFolder[] = []
  readonly fluxes: DefinitionFile[] = []
  readonly models: DefinitionFile[] = []
  readonly faults: Fault[] = []
  /** False if a folder can't be read. Its files may be unchanged. */
  complete = true

  async folder(folder: string) {
    const before = this.packages.length
    const entries = await this.#entries(folder)
    for (const { name, path, found } of entries ?? [])
      if (found?.isDirectory()) await this.#package(name, path)
      else if (/\.(?:flux|model)$/.test(name)) this.#warn(path, 'skipped: it lies in no package')
    if (entries && this.packages.length === before) this.#warn(folder, 'there is no package in this folder')
  }

  async #package(name: string, path: string) {
    if (!PACKAGE_NAME.test(name)) return this.#warn(path, 'skipped: a package name is made of letters, digits, - and _')
    const code = join(path, 'code')
    const root = (await statOf(code))?.isDirectory() ? code : path
    this.packages.push({ name, root: resolve(root) })
    await this.#walk(name, root, [], [])
  }

  async #walk(owner: string, folder: string, above: readonly string[], ancestors: readonly string[]) {
    const real = await realPathOf(folder)
    if (ancestors.includes(real)) return this.#warn(folder, 'skipped: a link that leads back to a folder above')
    for (const { name, path, found } of (await this.#entries(folder)) ?? []) {
      const [, stem = '', kind] = /^(.*)\.(flux|model|gloop|workflow)$/s.exec(name) ?? []
      if (found?.isDirectory()) await this.#walk(owner, path, [...above, name], [...ancestors, real])
      else if (kind === 'flux' || kind === 'model') {
        // Reading a pipe or a device might never end. A missing file, such as the target of a broken link, is reported
        // when it is read.
        if (found?.isFile() === false) this.#warn(path, 'skipped: it is no regular file')
        else await this.#file(kind === 'flux' ? this.fluxes : this.models, owner, path, [...above, stem].join('.'))
      } else if (kind !== undefined)
        this.#warn(
          path,
          `skipped: a .${kind} does not run here; write it as a .flux service, for invokeFlux, or as a function of a module, for invokeCode`,
        )
    }
  }

  async #file(list: DefinitionFile[], owner: string, file: string, name: string) {
    const other = list.find((known) => known.package === owner && known.name === name)
    if (other) return this.#fault(file, `${other.file} has the same name, "${name}" in package "${owner}"`)
    list.push({ package: owner, name, file, ...(await this.#content(file)) })
  }

  async #content(file: string) {
    try {
      const { value, repeated, placeOf } = readJson(await readFile(file))
      const reason = 'this key is there more than once: the last one counts'
      for (const pointer of repeated) this.#warn(file, reason, { pointer, part: 'key', ...placeOf(pointer, 'key') })
      if (isObject(value)) return { source: value, placeOf }
      this.#fault(file, 'the file must hold a JSON object')
    } catch (error) {
      this.#fault(file, messageOf(error), { ...(error instanceof JsonFault && error.position) })
    }
    return { source: null, placeOf: null }
  }

  async #entries(folder: string) {
    try {
      const names = (await readdir(folder)).filter((name) => !isIgnored(name)).sort()
      const paths = names.map((name) => ({ name, path: join(folder, name) }))
      return await Promise.all(paths.map(async (entry) => ({ ...entry, found: await statOf(entry.path) })))
    } catch (error) {
      this.complete = false
      const code = error instanceof Error && 'code' in error ? error.code : null
      if (code === 'ENOENT') this.#fault(folder, 'there is no such folder')
      else if (code === 'ENOTDIR') this.#fault(folder, 'this is not a folder')
      else this.#fault(folder, `the folder can't be read: ${String(error)}`)
      return null
    }
  }

  #fault(file: string, reason: string, place?: Partial<Fault>) {
    this.faults.push({ severity: 'fault', file, pointer: '', reason, ...place })
  }

  #warn(file: string, reason: string, place?: Partial<Fault>) {
    this.faults.push({ severity: 'warning', file, pointer: '', reason, ...place })
  }
}

/** What is at the path, or where a link there leads to; null if it is missing. */
const statOf = (path: string) => stat(path).catch(() => null)

const realPathOf = (path: string) => realpath(path).catch(() => resolve(path))
