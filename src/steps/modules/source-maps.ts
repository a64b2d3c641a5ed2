// steps: maps positions in transpiled modules to their sources. Lines are the same; columns differ where types were
// removed.
import { SourceMap } from 'node:module'
import { createJiti, type TransformOptions } from 'jiti'
import type { SourcePosition } from './user-stack.ts'

const MARK = '\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,'

export class SourceMaps {
  readonly #transpiler = createJiti(import.meta.url, { fsCache: false, interopDefault: false })
  /** By file: base64 of JSON, parsed on first use. */
  readonly #maps = new Map<string, string | SourceMap>()

  /** Transpiles a module, and stores its source map. */
  transpile(options: TransformOptions): string {
    const { babel: own = {}, ...others } = options
    // These options replace those with which the transpiler was created.
    const code = this.#transpiler.transform({
      ...others,
      babel: { ...own, sourceMaps: 'inline', sourceFileName: options.filename },
    })
    const mark = code.lastIndexOf(MARK)
    if (mark === -1) return code
    if (options.filename !== undefined) this.#maps.set(options.filename, code.slice(mark + MARK.length).trimEnd())
    return code.slice(0, mark)
  }

  /** The position in the source. Unchanged for a file that was not transpiled. */
  sourcePosition(file: string, loaded: SourcePosition): SourcePosition {
    const entry = this.#mapOf(file)?.findEntry(loaded.line - 1, loaded.column - 1)
    // A position between two entries of a line maps to the first of them. An entry of another line is not used.
    const isThere = entry !== undefined && 'originalLine' in entry && entry.originalLine === loaded.line - 1
    return isThere ? { line: loaded.line, column: entry.originalColumn + 1 } : loaded
  }

  #mapOf(file: string): SourceMap | null {
    const known = this.#maps.get(file)
    if (typeof known !== 'string') return known ?? null
    const map = parsed(known)
    if (map === null) this.#maps.delete(file)
    else this.#maps.set(file, map)
    return map
  }
}

function parsed(base64: string): SourceMap | null {
  try {
    return new SourceMap(JSON.parse(Buffer.from(base64, 'base64').toString()))
  } catch {
    return null
  }
}
