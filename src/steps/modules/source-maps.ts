// steps: where a position in a transpiled module lies in its source. Lines are the same, columns aren't where types
// were taken out.
import { SourceMap } from 'node:module'
import { createJiti, type TransformOptions } from 'jiti'
import type { SourcePosition } from './user-stack.ts'

const MARK = '\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,'

export class SourceMaps {
  readonly #transpiler = createJiti(import.meta.url, { fsCache: false, interopDefault: false })
  /** By file, as base64 of JSON until somebody asks. */
  readonly #maps = new Map<string, string | SourceMap>()

  /** The code of a module, whose map is remembered. */
  transpile(options: TransformOptions): string {
    const { babel: own = {}, ...others } = options
    // Options for the transpiler replace what it was made with.
    const code = this.#transpiler.transform({
      ...others,
      babel: { ...own, sourceMaps: 'inline', sourceFileName: options.filename },
    })
    const mark = code.lastIndexOf(MARK)
    if (mark === -1) return code
    if (options.filename !== undefined) this.#maps.set(options.filename, code.slice(mark + MARK.length).trimEnd())
    return code.slice(0, mark)
  }

  /** The same position for what wasn't transpiled. */
  sourcePosition(file: string, loaded: SourcePosition): SourcePosition {
    const entry = this.#mapOf(file)?.findEntry(loaded.line - 1, loaded.column - 1)
    // What lies between two entries of a line is told by the first; a line never moves.
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
