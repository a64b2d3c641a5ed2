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

export interface UserError {
  readonly name: string
  readonly message: string
  /** In the format of V8 or QuickJS. */
  readonly stack: string
}

/**
 * The stack as text: `Error: no such order`, then lines such as `    at inner (lib/work.mjs:3:9)`, with paths relative
 * to the first root.
 * @param roots folders of users' sources; the package's own first
 * @returns null if no frame is in users' sources
 */
export function userStack(
  { name, message, stack }: UserError,
  roots: readonly string[],
  sourcePosition: ToSource = (_, loaded) => loaded,
): string | null {
  const frames = framesOf(stack, `${name}: ${message}`).flatMap((frame) => shown(frame, roots, sourcePosition) ?? [])
  if (frames.length === 0) return null
  const lines = frames.slice(0, MAX_FRAMES).map((frame) => `    ${frame}`)
  return linesWithin(MAX_BYTES, [shortened(`${name}: ${message}`, MAX_MESSAGE_CHARACTERS), ...lines])
}

interface Frame {
  readonly called: string
  readonly place: string
  readonly position: SourcePosition
}

/** The frames of a stack. The message is removed first, because it may have lines that look like frames. */
function framesOf(stack: string, message: string): Frame[] {
  const text = stack.startsWith(message) ? stack.slice(message.length) : stack
  return text
    .slice(-MAX_STACK_CHARACTERS)
    .split('\n')
    .flatMap((line) => frameOf(line.trim()) ?? [])
}

/** Parses `at called (place:line:column)`, or the form without parentheses; null: the line is not a frame. */
function frameOf(line: string): Frame | null {
  if (!line.startsWith('at ')) return null
  const open = line.endsWith(')') ? line.indexOf(' (') : -1
  const called = open === -1 ? (line.startsWith('at async ') ? 'async' : '') : line.slice(3, open)
  const where = open === -1 ? line.slice(called === '' ? 3 : 9) : line.slice(open + 2, -1)
  const [, row, column] = /:(\d{1,9}):(\d{1,9})$/.exec(where) ?? []
  if (row === undefined || column === undefined) return null
  return {
    called,
    place: where.slice(0, -row.length - column.length - 2),
    position: { line: Number(row), column: Number(column) },
  }
}

/** The text of a frame; null: it is not in users' sources. */
function shown({ called, place, position }: Frame, roots: readonly string[], sourcePosition: ToSource): string | null {
  const found = sourceOf(place, roots)
  if (found === null) return null
  const { line, column } = found.file === null ? position : sourcePosition(found.file, position)
  const at = `${found.name}:${line}:${column}`
  // In a transpiled module, an imported function is called as a method of `Object`.
  const name = called.replace(/^(async )?Object\./, '$1')
  if (name === '' || name === '<anonymous>') return `at ${at}`
  return name === 'async' ? `at async ${at}` : `at ${name} (${at})`
}

/**
 * The source of a frame. A script, or a relative path from an earlier conversion, is not changed. `file`: the path by
 * which the source maps know the module; null: it has no map.
 */
function sourceOf(
  place: string,
  roots: readonly string[],
): { readonly name: string; readonly file: string | null } | null {
  if (place === 'script' || (RELATIVE.test(place) && !isDependency(place))) return { name: place, file: null }
  const isUrl = place.startsWith('file:')
  const path = isUrl ? pathOf(place) : place
  const root = path === null ? undefined : roots.find((folder) => path.startsWith(folder + sep))
  const [own] = roots
  if (path === null || root === undefined || own === undefined || isDependency(path.slice(root.length))) return null
  return { name: relative(own, path).replaceAll(sep, '/'), file: isUrl ? null : path }
}

const RELATIVE = /^(?!\/)[^<>:()\\]+\.[cm]?[jt]sx?$/

const isDependency = (path: string): boolean => path.split(/[/\\]/).includes('node_modules')

/** The path of a file URL, without the query that marks a reload; null: the URL is invalid. */
function pathOf(url: string): string | null {
  try {
    return fileURLToPath(url.split('?', 1)[0] ?? '')
  } catch {
    return null
  }
}
