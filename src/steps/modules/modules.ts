// steps: loads users' modules, in TypeScript or JavaScript, without a build step, and only from folders below their
// package's root.
import { readdir, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { createJiti, type Jiti } from 'jiti'
import { getOwn } from '../../model/json/value.ts'
import { alternatives } from '../../model/nearest.ts'
import type { FunctionName, PackageFolder } from '../../ports/steps.ts'
import type { BuiltinMethod } from '../builtin/builtin.ts'
import { importFreshly } from './fresh-imports.ts'
import { SourceMaps } from './source-maps.ts'
import { userStack, type UserError } from './user-stack.ts'
import { messageOf } from '../../model/error-message.ts'

/** Time limit for loading a module. */
const LOAD_TIME_MS = 10_000
const EXTENSIONS = ['.ts', '.mts', '.js', '.mjs']

// Transpiled code is kept in memory, not on disk. The default export is not merged into the named exports.
const OPTIONS = { fsCache: false, interopDefault: false }
const createLoader = (maps: SourceMaps) =>
  createJiti(import.meta.url, { ...OPTIONS, transform: (options) => ({ code: maps.transpile(options) }) })

/** There is no module of that name. `names` lists the existing ones. */
export class NoModule extends Error {}

/** Maximum number of modules that are searched for a similar name. */
const MAX_NAMES = 1000

export class Modules {
  #packages: readonly PackageFolder[] = []
  readonly #maps = new SourceMaps()
  #loader: Jiti = createLoader(this.#maps)
  #loaded = new Map<string, Promise<unknown>>()
  /** The last loaded version of each function, by name. */
  readonly #good = new Map<string, BuiltinMethod>()
  /** The last import. Imports run one at a time: two concurrent ones that share a module would both run it. */
  #last: Promise<unknown> = Promise.resolve()

  /** Sets the packages, and discards all loaded modules and what they imported, except installed packages. */
  mount(packages: readonly PackageFolder[]): void {
    const roots = [...this.#packages, ...packages].map(({ root }) => root + sep)
    this.#packages = packages
    this.#loader = createLoader(this.#maps)
    this.#loaded = new Map()
    const { cache } = this.#loader // shared by the whole process
    for (const file of Object.keys(cache)) {
      if (roots.some((root) => file.startsWith(root) && !file.slice(root.length).split(sep).includes('node_modules')))
        Reflect.deleteProperty(cache, file)
    }
    importFreshly(roots)
  }

  /**
   * The function; if its module cannot be loaded, the version that was loaded last. @throws Error with the reason why
   * there is none
   */
  async lastGood(name: FunctionName): Promise<BuiltinMethod> {
    try {
      return await this.method(name)
    } catch (error) {
      const method = this.#good.get(keyOf(name))
      if (method === undefined) throw error
      return method
    }
  }

  /** The function from the current source. @throws Error with the reason why it cannot be loaded */
  async method(name: FunctionName): Promise<BuiltinMethod> {
    const { package: owner, className, methodName } = name
    const file = await this.#find(owner, className)
    const exports = await this.#load(file, className)
    const method = isNamespace(exports) ? getOwn(exports, methodName) : undefined
    if (isMethod(method)) {
      this.#good.set(keyOf(name), method)
      return method
    }
    if (method !== undefined) throw new Error(`"${methodName}" of module "${className}" is not a function`)
    throw new Error(
      `module "${className}" doesn't export "${methodName}"${alternatives(methodName, functionsIn(exports))}`,
    )
  }

  /** The dotted paths of the modules in a package. */
  async names(owner: string): Promise<string[]> {
    const found = await Promise.all(
      this.#packages
        .filter(({ name }) => name === owner)
        .map(async ({ root }) => {
          const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])
          const files = entries
            .filter((entry) => entry.isFile())
            .map((entry) => relative(root, join(entry.parentPath, entry.name)))
          return files.flatMap((file) => {
            const extension = EXTENSIONS.find((known) => file.endsWith(known))
            const segments = extension === undefined ? [] : file.slice(0, -extension.length).split(sep)
            return segments.length === 0 ||
              segments.some((segment) => segment.startsWith('.') || segment === 'node_modules')
              ? []
              : [segments.join('.')]
          })
        }),
    )
    return found.flat().slice(0, MAX_NAMES)
  }

  /** The part of an error's stack in the sources of packages, for a function of that package; null: there is none. */
  stackOf(thrown: UserError, owner: string): string | null {
    const own = this.#packages.flatMap(({ name, root }) => (name === owner ? [root] : []))
    return userStack(thrown, [...own, ...this.#packages.map(({ root }) => root)], (file, loaded) =>
      this.#maps.sourcePosition(file, loaded),
    )
  }

  async #find(owner: string, className: string): Promise<string> {
    const segments = className.split('.')
    if (segments.some((segment) => segment === '' || /[/\\\0]/.test(segment)))
      throw new Error(`"${className}" is no dotted path of a module`)
    for (const { name, root } of this.#packages) {
      if (name !== owner) continue
      for (const extension of EXTENSIONS) {
        const file = join(root, ...segments) + extension
        if (
          await stat(file).then(
            (found) => found.isFile(),
            () => false,
          )
        )
          return file
      }
    }
    throw new NoModule(
      `there is no module "${className}" in package "${owner}": looked for ${segments.join('/')} with ${EXTENSIONS.join(', ')}`,
    )
  }

  async #load(file: string, className: string): Promise<unknown> {
    const loaded = this.#loaded
    const known = loaded.get(file)
    if (known !== undefined) return known
    const loader = this.#loader
    const loading = this.#last
      .then(() => inTime(loader.import(file)))
      .catch((error: unknown) => {
        loaded.delete(file) // The next try may succeed.
        throw new Error(`module "${className}" can't be loaded: ${messageOf(error)}`, { cause: error })
      })
    loaded.set(file, loading)
    this.#last = loading.catch(() => {})
    return loading
  }
}

/** Limits the time of an import, which may use top-level await, because all other imports wait for it. */
async function inTime<T>(loading: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not load within ${LOAD_TIME_MS / 1000} s`)), LOAD_TIME_MS)
  })
  try {
    return await Promise.race([loading, late])
  } finally {
    clearTimeout(timer)
  }
}

const keyOf = ({ package: owner, className, methodName }: FunctionName) =>
  JSON.stringify([owner, className, methodName])

const isNamespace = (value: unknown): value is { readonly [name: string]: unknown } =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'

/** Names of the functions that a module exports. */
const functionsIn = (exports: unknown): string[] =>
  isNamespace(exports) ? Object.keys(exports).filter((name) => isMethod(getOwn(exports, name))) : []

const isMethod = (value: unknown): value is BuiltinMethod => typeof value === 'function'
