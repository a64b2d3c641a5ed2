// steps: extracts from the text of a stack the frames in users' sources, without frames of Node, of dependencies and of
// the server, and without paths of the server. It works on text, because only text is sent between processes.
import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { linesWithin, shortened } from '../../model/error-message.ts'

/** Maximum size of a stack, including its message. */
const MAX_BYTES = 4096
/** Maximum length of the message in it. */
const MAX_MESSAGE_CHARACTERS = 1000
/**
 * Number of characters at the end of a text that are searched for frames. The message before them may have any length.
 */
const MAX_STACK_CHARACTERS = 64 * 1024
const MAX_FRAMES = 30

export interface SourcePosition {
  /** Both from 1. */
  readonly line: number
  readonly column: number
}

/** Maps a position in a loaded module to its source. */
export type ToSource = (file: string, loaded: SourcePosition) => SourcePosition

/**
 * The stack as text: `Error: no such order`, then lines such as `    at inner (lib/work.mjs:3:9)`, with paths relative
 * to the first root.
 * @param error its stack is in the format of V8 or QuickJS
 * @param roots folders of users' sources; the package's own first
 * @returns null if no frame is in users' sources
 */
export function userStack(
  { name, message, stack = '' }: Error,
  roots: readonly string[],
  sourcePosition: ToSource = (_, loaded) => loaded,
): string | null {
  const head = `${name}: ${message}`
  // The message is removed first, because it may have lines that look like frames.
  const text = stack.startsWith(head) ? stack.slice(head.length) : stack
  const lines = text.slice(-MAX_STACK_CHARACTERS).split('\n')
  const frames = lines.flatMap((line) => frameOf(line.trim(), roots, sourcePosition) ?? []).slice(0, MAX_FRAMES)
  if (frames.length === 0) return null
  return linesWithin(MAX_BYTES, [shortened(head, MAX_MESSAGE_CHARACTERS), ...frames.map((frame) => `    ${frame}`)])
}

/**
 * The text of a frame: of `at called (place:line:column)`, or of the form without parentheses; null: the line is none, or
 * not in users' sources.
 */
function frameOf(text: string, roots: readonly string[], sourcePosition: ToSource) {
  if (!text.startsWith('at ')) return null
  const open = text.endsWith(')') ? text.indexOf(' (') : -1
  const called = open === -1 ? (text.startsWith('at async ') ? 'async' : '') : text.slice(3, open)
  const where = open === -1 ? text.slice(called === '' ? 3 : 9) : text.slice(open + 2, -1)
  const [end = '', row, at] = /:(\d{1,9}):(\d{1,9})$/.exec(where) ?? []
  const found = sourceOf(where.slice(0, where.length - end.length), roots)
  if (end === '' || found === null) return null
  const loaded = { line: Number(row), column: Number(at) }
  const { line, column } = found.file === null ? loaded : sourcePosition(found.file, loaded)
  const place = `${found.name}:${line}:${column}`
  // In a transpiled module, an imported function is called as a method of `Object`.
  const name = called.replace(/^(async )?Object\./, '$1')
  if (name === '' || name === '<anonymous>') return `at ${place}`
  return name === 'async' ? `at async ${place}` : `at ${name} (${place})`
}

/**
 * The source of a frame. `file`: the path by which the source maps know the module; null: it has no map, as a script.
 */
function sourceOf(place: string, roots: readonly string[]) {
  if (place === 'script') return { name: place, file: null }
  const isUrl = place.startsWith('file:')
  const path = isUrl ? pathOf(place) : place
  const root = path === null ? undefined : roots.find((folder) => path.startsWith(folder + sep))
  const [own] = roots
  if (path === null || root === undefined || own === undefined || isDependency(path.slice(root.length))) return null
  return { name: relative(own, path).replaceAll(sep, '/'), file: isUrl ? null : path }
}

const isDependency = (path: string) => path.split(/[/\\]/).includes('node_modules')

/** The path of a file URL, without the query that marks a reload; null: the URL is invalid. */
function pathOf(url: string) {
  try {
    return fileURLToPath(url.split('?', 1)[0] ?? '')
  } catch {
    return null
  }
}
