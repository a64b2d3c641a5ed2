// steps: finds functions: those of built-in classes, and those of users' modules, in TypeScript or JavaScript, which are
// loaded without a build step, and only from folders below their package's root. A built-in class shadows a module of
// the same name.
import { readdir, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../model/error-message.ts'
import { getOwn } from '../../model/json/value.ts'
import { alternatives, suggestion } from '../../model/nearest.ts'
import type { FunctionName, PackageFolder } from '../../ports/steps.ts'
import { builtInClasses, type BuiltinMethod } from '../builtin/builtin.ts'
import { Loader } from './loader.ts'
import { userStack } from './user-stack.ts'

/** Time limit for loading a module. */
const LOAD_TIME_MS = 10_000
const EXTENSIONS = ['.ts', '.mts', '.js', '.mjs']

export class Functions {
  readonly #classes: ReturnType<typeof builtInClasses>
  #packages: readonly PackageFolder[] = []
  readonly #loader = new Loader()
  #loaded = new Map<string, Promise<unknown>>()
  /** The last loaded version of each function, by name. */
  readonly #good = new Map<string, BuiltinMethod>()
  /** The last import. Imports run one at a time: two concurrent ones that share a module would both run it. */
  #last: Promise<unknown> = Promise.resolve()

  /** `allowPrivate`: whether HTTP requests may connect to addresses that are not public. */
  constructor(options: { readonly allowPrivate: boolean }) {
    this.#classes = builtInClasses(options)
  }

  /** Sets the packages, and discards all loaded modules and what they imported, except installed packages. */
  mount(packages: readonly PackageFolder[]) {
    this.#loader.forget([...this.#packages, ...packages].map(({ root }) => root + sep))
    this.#packages = packages
    this.#loaded = new Map()
  }

  /**
   * The function; if its module cannot be loaded, the version that was loaded last. @throws Error with the reason why
   * there is none
   */
  async lastGood(name: FunctionName) {
    try {
      return await this.newest(name)
    } catch (error) {
      const method = this.#good.get(keyOf(name))
      if (method === undefined) throw error
      return method
    }
  }

  /** The function from the current source. @throws Error with the reason why it cannot be loaded */
  async newest(name: FunctionName) {
    const { package: owner, className, methodName } = name
    const builtIn = getOwn(this.#classes, className)
    const exports: { readonly [name: string]: unknown } =
      builtIn ?? Object(await this.#load(await this.#find(owner, className), className))
    const method = getOwn(exports, methodName)
    if (isMethod(method)) {
      this.#good.set(keyOf(name), method)
      return method
    }
    if (method !== undefined) throw new Error(`"${methodName}" of module "${className}" is not a function`)
    const names = Object.keys(exports).filter((exported) => isMethod(getOwn(exports, exported)))
    const what = builtIn ? `the built-in class "${className}" has no method` : `module "${className}" doesn't export`
    throw new Error(`${what} "${methodName}"${alternatives(methodName, names)}`)
  }

  /** The part of an error's stack in the sources of packages, for a function of that package; null: there is none. */
  stackOf(thrown: Error, owner: string) {
    return userStack(thrown, [...this.#rootsOf(owner), ...this.#packages.map(({ root }) => root)], (file, loaded) =>
      this.#loader.sourcePosition(file, loaded),
    )
  }

  #rootsOf(owner: string) {
    return this.#packages.flatMap(({ name, root }) => (name === owner ? [root] : []))
  }

  async #find(owner: string, className: string) {
    const segments = className.split('.')
    if (segments.some((segment) => segment === '' || /[/\\\0]/.test(segment)))
      throw new Error(`"${className}" is no dotted path of a module`)
    const roots = this.#rootsOf(owner)
    for (const root of roots)
      for (const extension of EXTENSIONS) {
        const file = join(root, ...segments) + extension
        const found = await stat(file).catch(() => null)
        if (found?.isFile() === true) return file
      }
    const names = (await Promise.all(roots.map(modulesIn))).flat()
    const meant = suggestion(className, [...Object.keys(this.#classes), ...names])
    throw new Error(
      `there is no module "${className}" in package "${owner}": looked for ${segments.join('/')} with ${EXTENSIONS.join(', ')}${meant}`,
    )
  }

  async #load(file: string, className: string): Promise<unknown> {
    const loaded = this.#loaded
    const known = loaded.get(file)
    if (known !== undefined) return known
    const loading = this.#last
      .then(() => Promise.race([this.#loader.import(file), tooLate()]))
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
async function tooLate(): Promise<never> {
  await sleep(LOAD_TIME_MS, undefined, { ref: false })
  throw new Error(`it did not load within ${LOAD_TIME_MS / 1000} s`)
}

/** The dotted paths of the modules below a folder. */
async function modulesIn(root: string) {
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.flatMap((entry) => {
    const file = relative(root, join(entry.parentPath, entry.name))
    const extension = EXTENSIONS.find((known) => file.endsWith(known))
    if (extension === undefined || !entry.isFile()) return []
    const segments = file.slice(0, -extension.length).split(sep)
    return segments.some((segment) => segment.startsWith('.') || segment === 'node_modules') ? [] : [segments.join('.')]
  })
}

const keyOf = ({ package: owner, className, methodName }: FunctionName) =>
  JSON.stringify([owner, className, methodName])

const isMethod = (value: unknown): value is BuiltinMethod => typeof value === 'function'
