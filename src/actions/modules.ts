// actions: the user's modules, TypeScript and JavaScript alike, loaded without a build step and only from below their package's root.
import { stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { createJiti, type Jiti } from 'jiti'
import { getOwn } from '../model/json.ts'
import type { PackageFolder } from '../ports/step-runner.ts'
import type { Method } from './builtin.ts'
import { importFreshly } from './fresh-imports.ts'

const EXTENSIONS = ['.ts', '.mts', '.js', '.mjs']

// Nothing is written to disk: what is transpiled stays in memory. A module's exports are what it exports, its default isn't mixed in.
const createLoader = () => createJiti(import.meta.url, { fsCache: false, interopDefault: false })

export class Modules {
  #packages: readonly PackageFolder[] = []
  #loader: Jiti = createLoader()
  #loaded = new Map<string, Promise<unknown>>()
  /** One import at a time: two that share a module would else both run it. */
  #last: Promise<unknown> = Promise.resolve()

  /** Sets the packages and forgets all modules, also those that modules imported, save for installed packages. */
  mount(packages: readonly PackageFolder[]): void {
    const roots = [...this.#packages, ...packages].map(({ root }) => root + sep)
    this.#packages = packages
    this.#loader = createLoader()
    this.#loaded = new Map()
    const { cache } = this.#loader   // that of the whole process
    for (const file of Object.keys(cache)) {
      if (roots.some((root) => file.startsWith(root) && !file.slice(root.length).split(sep).includes('node_modules'))) Reflect.deleteProperty(cache, file)
    }
    importFreshly(roots)
  }

  /** @throws Error that says why there is no such function */
  async method(owner: string, className: string, methodName: string): Promise<Method> {
    const file = await this.#find(owner, className)
    const exports = await this.#load(file, className)
    const method = isNamespace(exports) ? getOwn(exports, methodName) : undefined
    if (isMethod(method)) return method
    throw new Error(method === undefined ? `module "${className}" doesn't export "${methodName}"` : `"${methodName}" of module "${className}" is not a function`)
  }

  async #find(owner: string, className: string): Promise<string> {
    const segments = className.split('.')
    if (segments.some((segment) => segment === '' || /[/\\\0]/.test(segment))) throw new Error(`"${className}" is no dotted path of a module`)
    for (const { name, root } of this.#packages) {
      if (name !== owner) continue
      for (const extension of EXTENSIONS) {
        const file = join(root, ...segments) + extension
        if (await stat(file).then((found) => found.isFile(), () => false)) return file
      }
    }
    throw new Error(`there is no module "${className}" in package "${owner}": looked for ${segments.join('/')} with ${EXTENSIONS.join(', ')}`)
  }

  async #load(file: string, className: string): Promise<unknown> {
    const loaded = this.#loaded
    const known = loaded.get(file)
    if (known !== undefined) return known
    const loader = this.#loader
    const loading = this.#last.then(() => loader.import(file)).catch((error: unknown) => {
      loaded.delete(file)   // What it lacked may be there the next time.
      throw new Error(`module "${className}" can't be loaded: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    })
    loaded.set(file, loading)
    this.#last = loading.catch(() => {})
    return loading
  }
}

const isNamespace = (value: unknown): value is { readonly [name: string]: unknown } => (typeof value === 'object' && value !== null) || typeof value === 'function'

const isMethod = (value: unknown): value is Method => typeof value === 'function'
