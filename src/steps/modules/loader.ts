// steps: loads modules with jiti, which transpiles TypeScript; loads them again after a change; and maps positions in
// transpiled modules to their sources. In these, lines are the same; columns differ where types were removed.
import { register, SourceMap } from 'node:module'
import { sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createJiti, type TransformOptions } from 'jiti'
import type { SourcePosition } from './user-stack.ts'

// Transpiled code is kept in memory, not on disk. The default export is not merged into the named exports.
const OPTIONS = { fsCache: false, interopDefault: false }
const MARK = '\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,'

export class Loader {
  readonly #transpiler = createJiti(import.meta.url, OPTIONS)
  /** By file: base64 of JSON, parsed on first use. */
  readonly #maps = new Map<string, string | SourceMap>()
  #jiti = this.#create()

  #create() {
    return createJiti(import.meta.url, {
      ...OPTIONS,
      transform: (options) => ({ code: this.#transpile(options) }),
    })
  }

  import(file: string) {
    return this.#jiti.import(file)
  }

  /** Forgets what was loaded from below the roots (paths that end with a separator), except installed packages. */
  forget(roots: readonly string[]) {
    this.#jiti = this.#create()
    const { cache } = this.#jiti // shared by the whole process
    for (const file of Object.keys(cache)) {
      if (roots.some((root) => file.startsWith(root) && !file.slice(root.length).split(sep).includes('node_modules')))
        Reflect.deleteProperty(cache, file)
    }
    importFreshly(roots)
  }

  /** The position in the source. Unchanged for a file that was not transpiled. */
  sourcePosition(file: string, loaded: SourcePosition) {
    let map = this.#maps.get(file)
    if (typeof map === 'string') {
      map = new SourceMap(JSON.parse(Buffer.from(map, 'base64').toString()))
      this.#maps.set(file, map)
    }
    const entry = map?.findEntry(loaded.line - 1, loaded.column - 1)
    // A position between two entries of a line maps to the first of them. An entry of another line is not used.
    const isThere = entry !== undefined && 'originalLine' in entry && entry.originalLine === loaded.line - 1
    return isThere ? { line: loaded.line, column: entry.originalColumn + 1 } : loaded
  }

  /** Transpiles a module, and stores its source map. */
  #transpile(options: TransformOptions) {
    const { filename, babel } = options
    // These options replace those with which the transpiler was created.
    const code = this.#transpiler.transform({
      ...options,
      babel: { ...babel, sourceMaps: 'inline', sourceFileName: filename },
    })
    const mark = code.lastIndexOf(MARK)
    if (mark === -1) return code
    if (filename !== undefined) this.#maps.set(filename, code.slice(mark + MARK.length).trimEnd())
    return code.slice(0, mark)
  }
}

/** A module customization hook (node:module, `register`). Registering it again updates its data. */
const HOOK = `data:text/javascript,${encodeURIComponent(`
  let fresh = { roots: [], mark: '' }
  export function initialize(data) { fresh = data }
  export async function resolve(specifier, context, next) {
    const found = await next(specifier, context)
    const isBelow = (root) => found.url.startsWith(root) && !found.url.slice(root.length).includes('node_modules/')
    return !found.url.includes('?') && fresh.roots.some(isBelow) ? { ...found, url: found.url + fresh.mark } : found
  }
`)}`

let times = 0
const known = new Set<string>()

/**
 * Makes later imports of files below the roots read the files again. Node caches each ES module permanently by URL, so
 * they get another URL. The hook is registered only when a root is passed a second time, so a server that never reloads
 * has no hook.
 */
function importFreshly(roots: readonly string[]) {
  const isAgain = roots.some((root) => known.has(root))
  for (const root of roots) known.add(root)
  if (!isAgain) return
  times += 1
  register(HOOK, { data: { roots: [...known].map((root) => pathToFileURL(root).href), mark: `?reload=${times}` } })
}
