// definitions: reads the files of packages. It reports only what can't be read; it does not check the content.
import type { Dirent } from 'node:fs'
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isObject, type JsonObject } from '../../model/json/value.ts'
import type { TextPosition } from '../../model/json/scan.ts'
import type { PackageFolder } from '../../ports/steps.ts'
import { decodeFile, JsonFault, readJson } from './json.ts'
import type { Fault } from '../report.ts'
import { messageOf } from '../../model/error-message.ts'

/** A `.flux` or `.model` file. */
export interface DefinitionFile {
  readonly package: string
  /** Sub-folders and file name, joined by periods: the fluxName, or the name of a model in a `reference`. */
  readonly name: string
  /** Path of the file, for reports. */
  readonly file: string
  /** Content of the file; null if it can't be read, which a fault explains. */
  readonly source: JsonObject | null
  /** Text of the file; empty if it can't be decoded. */
  readonly text: string
}

export interface SourceFolders {
  /** A package that is in several folders has an entry for each. */
  readonly packages: readonly PackageFolder[]
  readonly fluxes: readonly DefinitionFile[]
  readonly models: readonly DefinitionFile[]
  readonly faults: readonly Fault[]
  /** False if a folder can't be read. Its files may be unchanged. */
  readonly complete: boolean
}

const PACKAGE_NAME = /^[A-Za-z\d_-]+$/

const isIgnored = (name: string) => name.startsWith('.') || name === 'node_modules'

/** Reads all packages below the folders, in a stable order. */
export async function readFolders(folders: readonly string[]): Promise<SourceFolders> {
  const reader = new Reader()
  const seen = new Set<string>()
  for (const folder of folders) {
    const real = await realpath(folder).catch(() => resolve(folder))
    if (seen.has(real)) continue
    seen.add(real)
    await reader.folder(folder)
  }
  return reader
}

class Reader implements SourceFolders {
  readonly packages: PackageFolder[] = []
  readonly fluxes: DefinitionFile[] = []
  readonly models: DefinitionFile[] = []
  readonly faults: Fault[] = []
  complete = true

  async folder(folder: string): Promise<void> {
    const entries = await this.#entries(folder)
    if (entries === null) return
    const before = this.packages.length
    for (const entry of entries) {
      if (isIgnored(entry.name)) continue
      const path = join(folder, entry.name)
      if (await isFolder(entry, path)) await this.#package(entry.name, path)
      else if (isDefinition(entry.name)) this.#warn(path, 'skipped: it lies in no package')
    }
    if (this.packages.length === before) this.#warn(folder, 'there is no package in this folder')
  }

  async #package(name: string, path: string): Promise<void> {
    if (!PACKAGE_NAME.test(name)) return this.#warn(path, 'skipped: a package name is made of letters, digits, - and _')
    const code = join(path, 'code')
    const root = (await stat(code).then(
      (found) => found.isDirectory(),
      () => false,
    ))
      ? code
      : path
    this.packages.push({ name, root: resolve(root) })
    await this.#walk(name, root, [], new Set())
  }

  async #walk(owner: string, folder: string, above: readonly string[], ancestors: ReadonlySet<string>): Promise<void> {
    const real = await realpath(folder).catch(() => resolve(folder))
    if (ancestors.has(real)) return this.#warn(folder, 'skipped: a link that leads back to a folder above')
    const entries = await this.#entries(folder)
    for (const entry of entries ?? []) {
      if (isIgnored(entry.name)) continue
      const path = join(folder, entry.name)
      if (await isFolder(entry, path))
        await this.#walk(owner, path, [...above, entry.name], new Set([...ancestors, real]))
      else if (entry.name.endsWith('.flux'))
        await this.#file(this.fluxes, owner, path, [...above, entry.name.slice(0, -'.flux'.length)])
      else if (entry.name.endsWith('.model'))
        await this.#file(this.models, owner, path, [...above, entry.name.slice(0, -'.model'.length)])
      else this.#warnOfForeign(entry.name, path)
    }
  }

  /** Warns of files of the product's service types that this server does not support. */
  #warnOfForeign(name: string, path: string): void {
    const gloop =
      'a .gloop service does not run here; write it as a function of a module, for invokeCode, or as a .flux service, for invokeFlux'
    if (name.endsWith('.gloop')) this.#warn(path, `skipped: ${gloop}`)
    if (name.endsWith('.workflow'))
      this.#warn(path, 'skipped: a .workflow does not run here; write it as a .flux service')
  }

  async #file(list: DefinitionFile[], owner: string, file: string, segments: readonly string[]): Promise<void> {
    // Reading a pipe or a device might never end. A missing file, such as the target of a broken link, is reported when
    // it is read.
    if (
      await stat(file).then(
        (found) => !found.isFile(),
        () => false,
      )
    )
      return this.#warn(file, 'skipped: it is no regular file')
    const name = segments.join('.')
    const other = list.find((known) => known.package === owner && known.name === name)
    if (other !== undefined)
      return this.#fault(file, `${other.file} has the same name, "${name}" in package "${owner}"`)
    list.push({ package: owner, name, file, ...(await this.#content(file)) })
  }

  async #content(file: string): Promise<Pick<DefinitionFile, 'source' | 'text'>> {
    let text = ''
    try {
      text = decodeFile(await readFile(file))
      const { value, repeated } = readJson(text)
      for (const pointer of repeated)
        this.faults.push({
          severity: 'warning',
          file,
          pointer,
          reason: 'this key is there more than once: the last one counts',
          part: 'key',
        })
      if (isObject(value)) return { source: value, text }
      this.#fault(file, 'the file must hold a JSON object')
    } catch (error) {
      this.#fault(file, messageOf(error), error instanceof JsonFault ? error.position : null)
    }
    return { source: null, text }
  }

  async #entries(folder: string): Promise<Dirent[] | null> {
    try {
      const entries = await readdir(folder, { withFileTypes: true })
      return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
    } catch (error) {
      this.complete = false
      const code = error instanceof Error && 'code' in error ? error.code : null
      if (code === 'ENOENT') this.#fault(folder, 'there is no such folder')
      else
        this.#fault(folder, code === 'ENOTDIR' ? 'this is not a folder' : `the folder can't be read: ${String(error)}`)
      return null
    }
  }

  #fault(file: string, reason: string, position: TextPosition | null = null): void {
    this.faults.push({ severity: 'fault', file, pointer: '', reason, ...position })
  }

  #warn(file: string, reason: string): void {
    this.faults.push({ severity: 'warning', file, pointer: '', reason })
  }
}

const isDefinition = (name: string) => name.endsWith('.flux') || name.endsWith('.model')

/** Whether an entry is a folder. Links are followed; a broken link counts as a file. */
const isFolder = async (entry: Dirent, path: string): Promise<boolean> =>
  entry.isSymbolicLink()
    ? stat(path).then(
        (found) => found.isDirectory(),
        () => false,
      )
    : entry.isDirectory()
